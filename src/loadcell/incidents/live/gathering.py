"""All gatherers at the same time, each in a process with a time limit.

A process in uninterruptible sleep cannot be ended by any signal. It is not waited for, and while it exists
its topic is not looked at again.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import io
import os
import pickle
import pkgutil
import selectors
import signal
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Final

from loadcell.incidents import live
from loadcell.incidents.evidence.base import Evidence, Missing
from loadcell.incidents.live.base import Gatherer, Host
from loadcell.linux import procfs
from loadcell.linux.time_limits import UnavailableError
from loadcell.model.message import ForeignText, Message, MessageCode, Seconds

SLOW = MessageCode("doctor.live.slow", "info", limit_s=Seconds)
STALLED = MessageCode("doctor.live.stalled", "info", pid=str)
FAILED = MessageCode("doctor.live.failed", "info", error=ForeignText)
NOTHING = MessageCode("doctor.live.nothing", "info")

#: Names of the processes, by which one that an earlier call left behind is recognised.
PROCESS: Final = "lc-"
_PART_BYTES: Final = 1 << 16
#: Answers such as the log of the kernel fit into such a pipe, and need no reader until they are complete.
_PIPE_BYTES: Final = 1 << 20
#: Least time for reading answers: on a busy host the limits may have passed before it begins.
_READ_S: Final = 1.0
#: Time in which a killed process normally ends.
_REAP_S: Final = 0.2


@dataclass(frozen=True)
class Gathered:
    """Evidence of a host, and the types that could not be gathered."""

    evidence: tuple[Evidence, ...]
    missing: tuple[Missing, ...]


@dataclass
class _Work:
    """A running gatherer: its process, the pipe with its answers, and the instant of its end."""

    gatherer: type[Gatherer]
    pid: int
    pipe: int
    deadline: float
    data: bytearray = field(default_factory=bytearray)


@cache
def gatherers() -> tuple[type[Gatherer], ...]:
    """All gatherers of this package."""
    names = (item.name for item in pkgutil.iter_modules(live.__path__, f"{live.__name__}."))
    parts = (getattr(import_module(name), "PART", None) for name in names)
    return tuple(part for part in parts if part is not None)


def gather(
    host: Host,
    chosen: Sequence[type[Gatherer]] | None = None,
    on_wait: Callable[[list[str]], None] = lambda _: None,
    meanwhile: Callable[[], object] = lambda: None,
) -> Gathered:
    """Evidence of a host. `on_wait` gets the names of the gatherers that still run, again and again;
    `meanwhile` is called once while they run.
    """
    earlier = stalled(host)
    items: list[Evidence | Missing] = []
    running: list[_Work] = []
    try:
        for gatherer in gatherers() if chosen is None else chosen:
            if gatherer.name in earlier:
                reason = STALLED(pid=str(earlier[gatherer.name]))
                items += [Missing(needs, reason) for needs in gatherer.gathers]
                continue
            try:
                running.append(_start(gatherer, host))
            except OSError as error:  # no more processes
                reason = FAILED(error=error.strerror or str(error))
                items += [Missing(needs, reason) for needs in gatherer.gathers]
        meanwhile()
        for work in running:
            work.deadline = max(work.deadline, time.monotonic() + _READ_S)
        items += _answers(running, on_wait)
    finally:
        _end(running)
    return Gathered(
        tuple(item for item in items if isinstance(item, Evidence)),
        tuple(item for item in items if isinstance(item, Missing)),
    )


def stalled(host: Host) -> dict[str, int]:
    """Gatherers of earlier calls in uninterruptible sleep: their processes by name."""
    if host.root != procfs.ROOT:
        return {}
    return {stat.name.removeprefix(PROCESS): stat.pid for stat in procfs.trusted_stats(PROCESS, "D")}


def _start(gatherer: type[Gatherer], host: Host) -> _Work:
    reader, writer = os.pipe()
    with contextlib.suppress(OSError):  # a user may have too many large ones
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    try:
        with warnings.catch_warnings():
            # threads of libraries do nothing that the new process needs
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
    except OSError:
        os.close(reader)
        os.close(writer)
        raise
    if pid == 0:
        _work(gatherer, host, writer)
    os.close(writer)
    os.set_blocking(reader, False)
    with contextlib.suppress(OSError):  # it may have done so already
        os.setpgid(pid, pid)
    return _Work(gatherer, pid, reader, time.monotonic() + gatherer.limit_s)


def _work(gatherer: type[Gatherer], host: Host, writer: int) -> None:
    """Gather in the new process, and end it: nothing of the caller may run in it."""
    try:
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(int(gatherer.limit_s) + 2)  # the caller may be killed
        gc.disable()  # a collection copies the pages of all objects
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        name_process(f"{PROCESS}{gatherer.name}")
        with open(writer, "wb") as pipe:
            for item in _gathered(gatherer, host):
                pickle.dump(item, pipe)
                pipe.flush()
            pickle.dump(None, pipe)
    finally:
        os._exit(0)


def name_process(name: str) -> None:
    """Set the name of this process, of at most 15 characters."""
    with contextlib.suppress(OSError), open("/proc/self/comm", "w") as file:  # noqa: PTH123 - of /proc
        file.write(name)


def _gathered(gatherer: type[Gatherer], host: Host) -> Iterable[Evidence | Missing]:
    seen: set[type[Evidence]] = set()
    reason: Message | None = None if gatherer.is_optional else NOTHING()
    try:
        for item in gatherer().gather(host):
            seen.add(item.needs if isinstance(item, Missing) else type(item))
            yield item
    except UnavailableError as error:
        reason = error.message
    except Exception as error:  # a host has contents that nobody expects
        reason = FAILED(error=f"{type(error).__name__}: {error}")
    if reason is not None:
        yield from (Missing(needs, reason) for needs in gatherer.gathers if needs not in seen)


def _answers(running: list[_Work], on_wait: Callable[[list[str]], None]) -> list[Evidence | Missing]:
    open_pipes = {work.pipe: work for work in running}
    with selectors.DefaultSelector() as selector:
        for work in running:
            selector.register(work.pipe, selectors.EVENT_READ)
        while open_pipes:
            nearest = min(work.deadline for work in open_pipes.values())
            ready = selector.select(max(0.0, min(nearest - time.monotonic(), _WAIT_S)))
            for key, _ in ready:
                if not _has_more(open_pipes[key.fd]):
                    selector.unregister(key.fd)
                    del open_pipes[key.fd]
            now = time.monotonic()
            for pipe in [pipe for pipe, work in open_pipes.items() if work.deadline <= now]:
                selector.unregister(pipe)
                del open_pipes[pipe]
            on_wait([work.gatherer.name for work in open_pipes.values()])
    return [item for work in running for item in _items(work)]


_WAIT_S: Final = 0.25


def _has_more(work: _Work) -> bool:
    """Read all that is there; False at the end of the answers."""
    while True:
        try:
            part = os.read(work.pipe, _PART_BYTES)
        except BlockingIOError:
            return True
        if not part:
            return False
        work.data += part


def _items(work: _Work) -> list[Evidence | Missing]:
    """Complete answers, and types of evidence without any."""
    items: list[Evidence | Missing] = []
    has_ended = False
    buffer = io.BytesIO(work.data)
    with contextlib.suppress(EOFError, pickle.UnpicklingError):
        while not has_ended:
            item = pickle.load(buffer)  # noqa: S301 - written by a process of this program
            has_ended = item is None
            items += [] if has_ended else [item]
    if has_ended:
        return items
    seen = {item.needs if isinstance(item, Missing) else type(item) for item in items}
    reason = SLOW(limit_s=work.gatherer.limit_s)
    return [*items, *(Missing(needs, reason) for needs in work.gatherer.gathers if needs not in seen)]


def _end(running: list[_Work]) -> None:
    """Kill all processes with their children; those that do not end at once are left behind."""
    for work in running:
        os.close(work.pipe)
        with contextlib.suppress(OSError):
            os.killpg(work.pid, signal.SIGKILL)
    deadline = time.monotonic() + _REAP_S
    pids = {work.pid for work in running}
    while pids:
        pids = {pid for pid in pids if not _has_ended(pid)}
        if time.monotonic() > deadline:
            return
        if pids:
            time.sleep(0.005)


def _has_ended(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True
