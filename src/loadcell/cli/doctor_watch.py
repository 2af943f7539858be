"""`loadcell doctor --watch CONDITION`: evidence of this host when a condition happens."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from loadcell.cli import display, language, messages, streams
from loadcell.incidents.base import registered
from loadcell.incidents.examination import Examination
from loadcell.incidents.live import named_process
from loadcell.incidents.live.base import Look
from loadcell.incidents.watch import Watch, WatchError, monitor_of, parse, sampled
from loadcell.incidents.watch_evidence import gather_event, look
from loadcell.linux import procfs
from loadcell.model import numbers
from loadcell.model.message import ForeignText, Message, MessageCode

HAPPENED = MessageCode("watch.happened", "info", utc=str, metric=str, value=str, path=str)
HAPPENED_WITH = MessageCode(
    "watch.happened-with", "info", utc=str, metric=str, value=str, path=str, incidents=list
)
DIRECTORY = MessageCode("watch.directory", path=str, error=ForeignText)

_INTERVAL_S: Final = 1.0


@dataclass(frozen=True)
class WatchOptions:
    """Condition, process, limits and place of events."""

    condition: str
    pid: int | None
    most: int
    for_s: float | None
    out: Path | None
    as_json: bool


def watch(options: WatchOptions) -> int:
    """Watch until the time, the number of events or Ctrl-C; the number of events. Raises WatchError,
    NamedProcessError.
    """
    condition = parse(options.condition, has_pid=options.pid is not None)
    if options.pid is not None:
        named_process.check(options.pid, needs_jvm=condition.monitor == "jvm", in_tree=True)
    home = options.out or Path(f"loadcell-watch-{_stamp()}")
    state = Watch(condition)
    monitor = monitor_of(condition, options.pid)
    count = 0
    deadline = None if options.for_s is None else time.monotonic() + options.for_s
    try:
        with _stopping() as stop:
            if not display.is_quiet():
                streams.echo(language.written(messages.DOCTOR_WATCHING(condition=condition.text)), err=True)
            earlier = look()
            last = time.monotonic()
            monitor.sample(0)
            while count < options.most and (deadline is None or time.monotonic() < deadline):
                if options.pid is not None and not _runs(options.pid):
                    streams.echo(
                        language.written(messages.DOCTOR_WATCH_ENDED(pid=str(options.pid))), err=True
                    )
                    break
                if stop.wait(max(0.0, last + _INTERVAL_S - time.monotonic())):
                    break
                now = time.monotonic()
                value = state.take(now, sampled(monitor, condition, now - last))
                last = now
                if value is not None:
                    count += 1
                    _event(options, state, home / f"event-{count}-{_stamp()}", value, earlier)
                    earlier = look()
                    state.restart()
    finally:
        monitor.close()
    return count


def _runs(pid: int) -> bool:
    stat = procfs.process_stat(procfs.ROOT, pid)
    return stat is not None and not stat.has_ended


def _event(options: WatchOptions, state: Watch, directory: Path, value: float, earlier: Look) -> None:
    utc = numbers.utc_second()
    try:
        examined = gather_event(directory, options.pid, state.condition.text, state.rows, earlier)
    except OSError as error:
        reason = error.strerror or str(error)
        raise WatchError(DIRECTORY(path=str(directory), error=reason)) from None
    if options.as_json:
        document = {
            "utc": utc,
            "condition": state.condition.text,
            "value": value,
            "directory": str(directory),
            "incidents": _names(examined),
        }
        streams.echo(json.dumps(document))
        return
    about = {
        "utc": utc,
        "metric": state.condition.metric,
        "value": numbers.short(value),
        "path": str(directory),
    }
    titles = [language.written(Message(registered()[name].texts("title"))) for name in _names(examined)]
    message = HAPPENED_WITH(**about, incidents=titles) if titles else HAPPENED(**about)
    streams.echo(language.written(message))
    sys.stdout.flush()


def _names(examined: Examination) -> list[str]:
    """Incidents that are more than a note, each once."""
    diagnoses = (item for _, item in examined.diagnoses if item.level != "note")
    return list(dict.fromkeys(item.incident for item in diagnoses))


def _stamp() -> str:
    return time.strftime("%Y%m%d-%H%M%S", time.gmtime())


@contextmanager
def _stopping() -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set."""
    stop = threading.Event()

    def end(number: int, frame: Any) -> None:  # noqa: ARG001
        stop.set()

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
