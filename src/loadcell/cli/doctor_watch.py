"""`loadcell doctor --watch CONDITION`: evidence of this host when a condition happens."""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
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
from loadcell.incidents.watch_evidence import Event, gather_event, look
from loadcell.incidents.watch_jvms import WatchedJvms
from loadcell.linux import procfs
from loadcell.linux.java_traces import JavaTraces
from loadcell.model import numbers
from loadcell.model.message import ForeignText, Message, MessageCode
from loadcell.monitors.base import Row

HAPPENED = MessageCode("watch.happened", "info", utc=str, metric=str, value=str, path=str)
HAPPENED_WITH = MessageCode(
    "watch.happened-with", "info", utc=str, metric=str, value=str, path=str, incidents=list
)
JVM_ENDED = MessageCode("watch.jvm-ended", "info", utc=str, pids=list, path=str)
JVM_ENDED_WITH = MessageCode("watch.jvm-ended-with", "info", utc=str, pids=list, path=str, incidents=list)
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
    """Watch until the time, the number of events or Ctrl-C; the number of events, with JVMs that failed.

    Raises WatchError, NamedProcessError.
    """
    condition = parse(options.condition, has_pid=options.pid is not None)
    if options.pid is not None:
        named_process.check(options.pid, needs_jvm=condition.monitor == "jvm", in_tree=True)
    home = options.out or Path(f"loadcell-watch-{_stamp()}")
    _must_be_writable(home)
    watcher = _Watcher(options, home, Watch(condition), look())
    monitor = monitor_of(condition, options.pid)
    deadline = None if options.for_s is None else time.monotonic() + options.for_s
    try:
        with _stopping() as stop, WatchedJvms(options.pid) as jvms:
            if not display.is_quiet():
                text = messages.DOCTOR_WATCHING(condition=condition.text, path=str(home))
                streams.echo(language.written(text), err=True)
            last = time.monotonic()
            monitor.sample(0)
            while watcher.events < options.most and (deadline is None or time.monotonic() < deadline):
                if ended := jvms.ended():
                    watcher.take_ended(ended)
                if options.pid is not None and not _runs(options.pid):
                    streams.echo(
                        language.written(messages.DOCTOR_WATCH_ENDED(pid=str(options.pid))), err=True
                    )
                    break
                if stop.wait(max(0.0, last + _INTERVAL_S - time.monotonic())):
                    break
                now = time.monotonic()
                watcher.take(now, sampled(monitor, condition, now - last))
                last = now
    finally:
        monitor.close()
    return watcher.events + watcher.failures


def _must_be_writable(home: Path) -> None:
    """Raises WatchError where no directory of an event can be made: hours later nobody would read it."""
    nearest = next(path for path in (home, *home.absolute().parents) if path.exists())
    if not nearest.is_dir():
        number = errno.ENOTDIR
    elif not os.access(nearest, os.W_OK | os.X_OK):
        number = errno.EACCES
    else:
        return
    raise WatchError(DIRECTORY(path=str(home), error=os.strerror(number)))


def _runs(pid: int) -> bool:
    stat = procfs.process_stat(procfs.ROOT, pid)
    return stat is not None and not stat.has_ended


@dataclass
class _Watcher:
    """Events so far, and JVMs that ended with signs of a failure; messages before `earlier` are of none."""

    options: WatchOptions
    home: Path
    state: Watch
    earlier: Look
    events: int = 0
    failures: int = 0

    def take(self, instant: float, rows: list[Row]) -> None:
        """Take the rows of a sample, and gather the evidence of its event."""
        value = self.state.take(instant, rows)
        if value is None:
            return
        self.events += 1
        utc, directory = numbers.utc_second(), self.home / f"event-{self.events}-{_stamp()}"
        event = self._gathered(directory)
        self.state.restart()
        if self.options.as_json:
            document = {
                "utc": utc,
                "condition": self.state.condition.text,
                "value": value,
                "directory": str(directory),
                "incidents": _names(event.examined),
            }
            streams.echo(json.dumps(document))
            return
        about = {
            "utc": utc,
            "metric": self.state.condition.metric,
            "value": numbers.short(value),
            "path": str(directory),
        }
        titles = _titles(event.examined)
        message = HAPPENED_WITH(**about, incidents=titles) if titles else HAPPENED(**about)
        streams.echo(language.written(message))
        sys.stdout.flush()

    def take_ended(self, jvms: Sequence[JavaTraces]) -> None:
        """Gather the evidence of JVMs that have ended."""
        utc, pids = numbers.utc_second(), [str(jvm.pid) for jvm in jvms]
        directory = self.home / f"ended-{pids[0]}-{_stamp()}"
        try:
            event = self._gathered(directory, jvms)
        finally:
            for jvm in jvms:
                jvm.close()
        self.failures += event.has_failed
        if self.options.as_json:
            document = {
                "utc": utc,
                "ended": [jvm.pid for jvm in jvms],
                "directory": str(directory),
                "crash_reports": [name for jvm in event.ended for name, _ in jvm.crashes],
                "heap_dumps": [dump.path for jvm in event.ended for dump in jvm.dumps],
                "incidents": _names(event.examined),
            }
            streams.echo(json.dumps(document))
            return
        titles = _titles(event.examined)
        code = JVM_ENDED_WITH if titles else JVM_ENDED
        streams.echo(
            language.written(code.pick(utc=utc, pids=pids, path=str(directory), incidents=titles))
        )  # fmt: skip
        sys.stdout.flush()

    def _gathered(self, directory: Path, ended: Sequence[JavaTraces] = ()) -> Event:
        """The evidence of this moment. Raises WatchError."""
        options, state = self.options, self.state
        try:
            event = gather_event(
                directory, options.pid, state.condition.text, state.rows, self.earlier, ended
            )  # fmt: skip
        except OSError as error:
            reason = error.strerror or str(error)
            raise WatchError(DIRECTORY(path=str(directory), error=reason)) from None
        self.earlier = look()
        return event


def _titles(examined: Examination) -> list[str]:
    return [language.written(Message(registered()[name].texts("title"))) for name in _names(examined)]


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
