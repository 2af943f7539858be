"""`loadcell doctor --watch CONDITION`: evidence of this host when a condition happens."""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from loadcell.cli import display, language, messages, streams
from loadcell.incidents.base import registered
from loadcell.incidents.live import named_process
from loadcell.incidents.live.base import Look
from loadcell.incidents.watch import Condition, Watch, WatchError, monitor_of, parse, sampled
from loadcell.incidents.watch_evidence import Event, gather_event, look
from loadcell.incidents.watch_jvms import WatchedJvms
from loadcell.linux.java_traces import JavaTraces
from loadcell.model import numbers
from loadcell.model.json import JsonObject
from loadcell.model.message import Count, ForeignText, Message, MessageCode, Seconds
from loadcell.monitors.base import Row

HAPPENED = MessageCode("watch.happened", "info", utc=str, metric=str, value=str, path=str)
HAPPENED_WITH = MessageCode(
    "watch.happened-with", "info", utc=str, metric=str, value=str, path=str, incidents=list
)
JVM_ENDED = MessageCode("watch.jvm-ended", "info", utc=str, pids=list, path=str)
JVM_ENDED_WITH = MessageCode("watch.jvm-ended-with", "info", utc=str, pids=list, path=str, incidents=list)
OF_HOST = MessageCode("watch.of-host", "info", incidents=list)
FURTHER_ENDED = MessageCode("watch.further-ended", "info", count=Count, limit=Count)
HIDDEN = MessageCode("watch.hidden", "caution", pids=list)
ONLY_JVMS = MessageCode("watch.only-jvms", "info", limit=Count, pids=list)
END_OF_EVENTS = MessageCode("watch.end-of-events", "info", limit=Count)
END_OF_TIME = MessageCode("watch.end-of-time", "info", limit_s=Seconds)
STOPPED = MessageCode("watch.stopped", "info", count=Count)
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
        with _stopping() as stop, WatchedJvms(options.pid) as jvms, watcher:
            if not display.is_quiet():
                text = messages.DOCTOR_WATCHING(condition=condition.text, path=str(home))
                streams.echo(language.written(text), err=True)
            is_stated = False
            last = time.monotonic()
            monitor.sample(0)
            while True:
                if ended := jvms.ended():
                    watcher.take_ended(ended)
                if jvms.hidden and not is_stated:
                    is_stated = True
                    _state(HIDDEN(pids=[str(pid) for pid in jvms.hidden]))
                if (reason := _end(watcher, jvms, deadline)) is not None:
                    # a JVM may have ended since the last look
                    if ended := jvms.ended():
                        watcher.take_ended(ended)
                    _state(reason)
                    break
                if stop.wait(max(0.0, last + _INTERVAL_S - time.monotonic())):
                    _state(STOPPED(count=watcher.events))
                    break
                now = time.monotonic()
                is_last = watcher.take(now, sampled(monitor, condition, now - last))
                if is_last and jvms.pids:
                    _state(ONLY_JVMS(limit=options.most, pids=[str(pid) for pid in jvms.pids]))
                last = now
                watcher.proceed()
            watcher.finish()
    finally:
        monitor.close()
    return watcher.events + watcher.failures


def _end(watcher: _Watcher, jvms: WatchedJvms, deadline: float | None) -> Message | None:
    """Why the watch ends; None while it continues. After the last event only ends of JVMs are evidence."""
    options = watcher.options
    if options.pid is not None and not jvms.is_running:
        return messages.DOCTOR_WATCH_ENDED(pid=str(options.pid))
    if deadline is not None and time.monotonic() >= deadline:
        return END_OF_TIME(limit_s=options.for_s or 0.0)
    if watcher.events >= options.most and not jvms.pids:
        return END_OF_EVENTS(limit=options.most)
    return None


def _state(text: Message) -> None:
    """Write why a watch ends, or what of it continues."""
    if not display.is_quiet():
        streams.echo(language.written(text), err=True)


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


@dataclass(frozen=True)
class _Job:
    """Evidence to gather: of an event with its value, or of JVMs that have `ended`."""

    utc: str
    directory: Path
    rows: tuple[tuple[float, Row], ...]
    value: float | None = None
    ended: tuple[JavaTraces, ...] = ()


@dataclass
class _Watcher:
    """Events so far, and JVMs that ended with signs of a failure; messages before `earlier` are of none.

    Evidence is gathered in a thread: sampling continues meanwhile, so that no window has a gap.
    """

    options: WatchOptions
    home: Path
    state: Watch
    earlier: Look
    events: int = 0
    failures: int = 0
    #: directories of JVMs that have ended, and JVMs that ended later
    ended: int = 0
    further_ended: int = 0
    _jobs: deque[_Job] = field(default_factory=deque)
    _current: tuple[_Job, Future[Event]] | None = None
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown()
        for job in [*self._jobs, *([] if self._current is None else [self._current[0]])]:
            for jvm in job.ended:
                jvm.close()

    def take(self, instant: float, rows: list[Row]) -> bool:
        """Take the rows of a sample, and begin to gather evidence at an event. True at the last event."""
        value = self.state.take(instant, rows)
        if value is None or self.events >= self.options.most:
            return False
        self.events += 1
        directory = self.home / f"event-{self.events}-{_stamp()}"
        self._add(_Job(numbers.utc_second(), directory, tuple(self.state.rows), value=value))
        return self.events == self.options.most

    def take_ended(self, jvms: Sequence[JavaTraces]) -> None:
        """Begin to gather the evidence of JVMs that have ended; of later ones than `--most` only count."""
        if self.ended >= self.options.most:
            self.further_ended += len(jvms)
            for jvm in jvms:
                jvm.close()
            return
        self.ended += 1
        directory = self.home / f"ended-{jvms[0].pid}-{_stamp()}"
        self._add(_Job(numbers.utc_second(), directory, tuple(self.state.rows), ended=tuple(jvms)))

    def finish(self) -> None:
        """Wait for all evidence, and report JVMs without. Raises WatchError."""
        while self._current is not None:
            wait([self._current[1]])
            self.proceed()
        if self.further_ended:
            if self.options.as_json:
                streams.echo(json.dumps({"utc": numbers.utc_second(), "further_ended": self.further_ended}))
            else:
                text = FURTHER_ENDED(count=self.further_ended, limit=self.options.most)
                streams.echo(language.written(text))

    def proceed(self) -> None:
        """Report evidence that is complete, and begin to gather the next. Raises WatchError."""
        if self._current is not None:
            job, future = self._current
            if not future.done():
                return
            try:
                event = future.result()
            except OSError as error:
                reason = error.strerror or str(error)
                raise WatchError(DIRECTORY(path=str(job.directory), error=reason)) from None
            self._current = None
            for jvm in job.ended:
                jvm.close()
            self._report(job, event)
        if self._jobs:
            job = self._jobs.popleft()
            self._current = job, self._thread.submit(self._gathered, job)

    def _add(self, job: _Job) -> None:
        self._jobs.append(job)
        if self._current is None:
            self.proceed()

    def _gathered(self, job: _Job) -> Event:
        """The evidence of this moment. Raises OSError."""
        text = self.state.condition.text
        event = gather_event(job.directory, self.options.pid, text, job.rows, self.earlier, job.ended)
        self.earlier = look()
        return event

    def _report(self, job: _Job, event: Event) -> None:
        self.failures += bool(job.ended) and event.has_failed
        if self.options.as_json:
            document = self._of_ended(job, event) if job.ended else self._of_event(job, event)
            streams.echo(json.dumps(document))
        else:
            for text in _texts(job, event, self.state.condition):
                streams.echo(language.written(text))
        sys.stdout.flush()

    def _of_event(self, job: _Job, event: Event) -> JsonObject:
        return {
            "utc": job.utc,
            "condition": self.state.condition.text,
            "value": job.value,
            "directory": str(job.directory),
            "incidents": event.incidents,
        }

    def _of_ended(self, job: _Job, event: Event) -> JsonObject:
        return {
            "utc": job.utc,
            "ended": [jvm.pid for jvm in job.ended],
            "directory": str(job.directory),
            "crash_reports": [name for jvm in event.ended for name, _ in jvm.crashes],
            "heap_dumps": [dump.path for jvm in event.ended for dump in jvm.certain_dumps],
            "uncertain_heap_dumps": [dump.path for jvm in event.ended for dump in jvm.dumps if dump.others],
            "incidents": event.ended_incidents,
            "host_incidents": event.incidents,
        }


def _texts(job: _Job, event: Event, condition: Condition) -> Iterator[Message]:
    """The lines of an event: incidents of other processes and of the host are apart from those of a JVM that
    has ended.
    """
    path, of_host = str(job.directory), _titles(event.incidents)
    if job.value is not None:
        code = HAPPENED_WITH if of_host else HAPPENED
        metric, value = condition.metric, condition.written(job.value)
        yield code.pick(utc=job.utc, metric=metric, value=value, path=path, incidents=of_host)
        return
    pids, titles = [str(jvm.pid) for jvm in job.ended], _titles(event.ended_incidents)
    code = JVM_ENDED_WITH if titles else JVM_ENDED
    yield code.pick(utc=job.utc, pids=pids, path=path, incidents=titles)
    if of_host:
        yield OF_HOST(incidents=of_host)


def _titles(names: Sequence[str]) -> list[str]:
    return [language.written(Message(registered()[name].texts("title"))) for name in names]


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
