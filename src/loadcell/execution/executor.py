"""Execution of a load in a worker process: its order, and the executor, which tests substitute.

The order names client groups and window; the engine reads its specification.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from loadcell.linux.process import LineReader, Session, end_session, plain_environment
from loadcell.model import jvm_samples
from loadcell.model.json import JsonObject
from loadcell.model.load_result import (
    Failed,
    Finished,
    LaidOut,
    LoadedData,
    LoadEvent,
    LoadResult,
    read_event,
)
from loadcell.model.message import MessageCode, MessageError
from loadcell.plan import rate, secrets
from loadcell.plan.model import BOUNDS, Group, Load, Resolved
from loadcell.plan.units import Duration
from loadcell.workloads.composite import CompositeWorkload

WORKER_ENDED = MessageCode("worker.ended", status=str)
WORKER_KILLED = MessageCode("worker.killed", signal=str)
WORKER_KILLED_FOR_GOOD = MessageCode("worker.killed-for-good", signal=str)

#: With the target on the same machine, the client takes one core in four and leaves the rest to the target.
LOCAL_SHARE = 4
#: From a dedicated machine it takes half: the kernel's network work needs the other half.
REMOTE_SHARE = 2
#: Time limit of transactions in progress at the end of a load.
_DRAIN_NS = 5_000_000_000
#: Time without any connection after which a load is aborted.
_LOST_NS = 10_000_000_000


@dataclass(frozen=True, slots=True)
class GroupOrder:
    """A client group: the engine's sections `workload` and `load` of it. The only one has no name."""

    name: str
    workload: JsonObject
    load: JsonObject


@dataclass(frozen=True, slots=True)
class LoadOrder:
    """A load, or the loading of a data set. Holds secrets: never to be written anywhere.

    `window` is what the groups' sections `load` have in common. `made_by` names the module that makes the
    load in the worker; None: the engine. `pin` are the worker's processors and memory policy;
    `prefix` is a profiler's command that the worker runs under.
    """

    target: JsonObject
    groups: tuple[GroupOrder, ...]
    window: JsonObject
    seed: int
    made_by: str | None = None
    pin: tuple[str, str] | None = None
    prefix: tuple[str, ...] = ()

    @property
    def protocol(self) -> str:
        """Protocol that is spoken with the target."""
        return str(self.target.get("protocol", ""))

    def with_workloads(self, change: Callable[[JsonObject], JsonObject]) -> LoadOrder:
        """The same load with changed sections of its workloads."""
        groups = (replace(group, workload=change(group.workload)) for group in self.groups)
        return replace(self, groups=tuple(groups))

    def specification(self) -> JsonObject:
        """The order as the engine reads it, which knows a single group without a name as such."""
        common: JsonObject = {"version": 1, "seed": self.seed, "target": self.target}
        match self.groups:
            case (GroupOrder(name="") as group,):
                return {**common, "workload": group.workload, "load": {**self.window, **group.load}}
        groups = [
            {"name": group.name, "workload": group.workload, "load": group.load} for group in self.groups
        ]
        return {**common, "load": self.window, "groups": groups}


#: A timeline grows with the length of a load; without faults there is none of longer loads.
LONGEST_WITH_PAUSES_S = 3_660.0


def load_order(
    endpoint: JsonObject,
    composite: CompositeWorkload,
    settings: Resolved,
    threads: int,
    seed: int,
    *,
    reveal: Callable[[str], str] = str,
    pin: tuple[str, str] | None = None,
) -> LoadOrder:
    """The load of a trial by `threads` threads; `reveal` replaces references to secrets."""
    lost_ns = _LOST_NS if not settings.faults else settings.load.warmup.ns + settings.load.duration.ns
    groups = tuple(
        GroupOrder(
            group.name,
            secrets.revealed(workload.engine(), reveal),
            group_load(group.load, group.load.clients or 0, group_threads(group, settings, threads), lost_ns),
        )
        for group, workload in composite.members
    )
    length_s = float(settings.load.warmup) + float(settings.load.duration)
    # pauses of a JVM are compared with the requests
    has_pauses = jvm_samples.TABLE in settings.monitors and length_s <= LONGEST_WITH_PAUSES_S
    timeline = bool(settings.faults) or has_pauses
    common = window(settings.load, timeline=timeline)
    return LoadOrder(endpoint, groups, common, seed, composite.made_by, pin)


def data_order(
    endpoint: JsonObject,
    workload: JsonObject,
    settings: Resolved,
    threads: int,
    seed: int,
    *,
    made_by: str | None = None,
    pin: tuple[str, str] | None = None,
) -> LoadOrder:
    """The loading of a data set, described by the engine's section `workload`."""
    group = GroupOrder("", workload, group_load(settings.load, settings.clients, threads))
    return LoadOrder(endpoint, (group,), window(settings.load), seed, made_by, pin)


def window(load: Load, *, timeline: bool = False) -> JsonObject:
    """The part of the section `load` that all groups have in common, on request with a timeline."""
    return {
        **({"timeline": True} if timeline else {}),
        "warmup_ns": load.warmup.ns,
        "duration_ns": load.duration.ns,
        "interval_ns": load.interval.ns,
    }


def group_load(load: Load, clients: int, threads: int, lost_ns: int = _LOST_NS) -> JsonObject:
    """The engine's section `load` of one group, without the window."""
    return {
        "clients": clients,
        "threads": threads,
        **{key: value for key in BOUNDS if (value := getattr(load, key)) is not None},
        "timeout_ns": None if load.timeout is None else load.timeout.ns,
        "drain_ns": _DRAIN_NS,
        "lost_ns": lost_ns,
        "max_retries": load.max_retries,
        "schedule": schedule(load),
    }


def schedule(load: Load) -> JsonObject | None:
    """When requests are due, in the engine's form; None for a closed loop."""
    if load.rate is None:
        return None
    return {
        "arrivals": load.arrivals,
        "rate": [
            {
                "from_per_s": stretch.from_per_s,
                "to_per_s": stretch.to_per_s,
                "for_ns": Duration(stretch.seconds).ns,
            }
            for stretch in rate.stretches(load.rate, load.duration)
        ],
        "most_overdue_ns": load.max_backlog.ns,
    }


def trial_seed(run_seed: int, repeat: int) -> int:
    """Seed of a trial, equal for all treatments of one repeat: what is compared draws the same numbers."""
    digest = hashlib.sha256(f"loadcell:{run_seed}:{repeat}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def load_threads(settings: Resolved, cores: int, *, local: bool) -> int:
    """Number of threads of all groups: the plan's, or a share of the cores; never more than clients."""
    if isinstance(settings.load.threads, int):
        return settings.load.threads
    share = max(1, cores // (LOCAL_SHARE if local else REMOTE_SHARE))
    return min(share, settings.clients or settings.load.clients or 1)


def group_threads(group: Group, settings: Resolved, total: int) -> int:
    """Number of threads a group's connections are spread over: its own setting, or its part of all threads;
    at least one.
    """
    threads = group.load.threads
    if group.share is None and isinstance(threads, int):
        return threads
    clients = group.load.clients or 1
    return max(1, min(clients, round(total * clients / max(1, settings.clients))))


#: Under a profiler of memory, Python asks malloc for every block, so that each has its own stack.
_PROFILED = {"PYTHONMALLOC": "malloc"}
#: How often a waiting executor looks round: at the clock, and whether an end was asked for.
TICK_S = 0.1
_STANDARD_ERROR = 2
#: How long a worker may take to end in order once asked, before it is killed: drain, merge, write.
STOP_PATIENCE_S = 15.0

OnEvent = Callable[[LoadEvent], None]


class LoadError(MessageError):
    """The load could not be made, or broke."""


class LoadTimeoutError(Exception):
    """The load had not ended by its time limit, and was killed."""

    def __init__(self, limit_s: float) -> None:
        super().__init__(f"not ended after {limit_s:g} s")
        self.limit_s = limit_s


class LoadStoppedError(Exception):
    """The load was ended early because an end was asked for, before anything was measured."""


def _ignore(_: object) -> None:
    """Do nothing with an event, a line or a process id."""


@dataclass(frozen=True)
class LoadHooks:
    """Companions of a load: its time limit, and functions that are called while it is made.

    `laid_out_limit_s` is the limit from the event `LaidOut` on, of a load that makes its data itself.
    `on_tick` is called some ten times a second, `on_start` once, with the id of the process that will make
    the load and has not begun to. `on_output` takes each line of its standard error.
    """

    limit_s: float
    laid_out_limit_s: float | None = None
    on_event: OnEvent = _ignore
    on_output: Callable[[str], None] = _ignore
    on_tick: Callable[[], None] = lambda: None
    on_start: Callable[[int], None] = _ignore
    stop_asked: Callable[[], bool] = lambda: False


class Executor(Protocol):
    """Executes loads (contract of the engine, docs/explanation/engine.md).

    Both methods raise LoadError, LoadTimeoutError, and LoadStoppedError.
    """

    def run(self, order: LoadOrder, hooks: LoadHooks) -> LoadResult:
        """Make a load."""
        ...

    def prepare(self, order: LoadOrder, hooks: LoadHooks) -> LoadedData:
        """Load a data set."""
        ...

    def kill(self) -> None:
        """End whatever is under way at once; may be called from a signal handler."""
        ...


class WorkerExecutor:
    """Starts a worker process for each load. Must be used from the main thread.

    (The kernel's parent-death signal is tied to the thread that started the child, so it must be one that
    lives.)
    """

    def __init__(
        self, command: tuple[str, ...] = (sys.executable, "-P", "-m", "loadcell.execution.worker")
    ) -> None:
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None

    def start_at(self, mono_ns: int) -> None:
        """Give the start instant to the armed load that has reported `ready` (CLOCK_MONOTONIC of its
        machine).

        To be called once, from `on_event`. The instant should lie at least half a second ahead.
        """
        if self._process is None or self._process.stdin is None or self._process.stdin.closed:
            raise ValueError("no armed load is waiting")
        with contextlib.suppress(BrokenPipeError):  # the worker has ended, and reports why
            self._process.stdin.write(json.dumps({"start_at_mono_ns": mono_ns}).encode() + b"\n")
            self._process.stdin.close()

    def kill(self) -> None:
        process = self._process
        if process is not None and process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)

    def run(self, order: LoadOrder, hooks: LoadHooks) -> LoadResult:
        result = self._execute("run", order, hooks)
        assert isinstance(result, LoadResult)
        return result

    def prepare(self, order: LoadOrder, hooks: LoadHooks) -> LoadedData:
        result = self._execute("prepare", order, hooks)
        assert isinstance(result, LoadedData)
        return result

    def _execute(
        self, mode: Literal["run", "prepare"], order: LoadOrder, hooks: LoadHooks
    ) -> LoadResult | LoadedData:
        limit_s = hooks.limit_s
        deadline = time.monotonic() + limit_s
        process = self._process = subprocess.Popen(
            (*order.prefix, *self._command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**plain_environment(), **(_PROFILED if order.prefix else {})},
            start_new_session=True,
        )
        session = Session.of(process.pid)
        lines: list[tuple[int, str]] = []
        try:
            output = LineReader(process, lambda stream, line: lines.append((stream, line)))
            hooks.on_start(process.pid)  # it waits for its order
            with contextlib.suppress(BrokenPipeError):  # it died at once; its standard error tells why
                assert process.stdin is not None
                process.stdin.write(_order_line(mode, order))
                process.stdin.flush()
                if mode == "prepare" or order.window.get("armed_ns") is None:
                    process.stdin.close()
            last: Finished | Failed | None = None
            asked_at: float | None = None
            while output.open:
                output.read(TICK_S)
                for stream, line in lines:
                    if stream == _STANDARD_ERROR:
                        hooks.on_output(line)
                        continue
                    event = read_event(line)
                    if isinstance(event, Finished | Failed):
                        last = event
                    else:
                        hooks.on_event(event)
                    if isinstance(event, LaidOut) and hooks.laid_out_limit_s is not None:
                        limit_s = hooks.laid_out_limit_s
                        deadline = min(deadline, time.monotonic() + limit_s)
                lines.clear()
                hooks.on_tick()
                now = time.monotonic()
                if now > deadline:
                    raise LoadTimeoutError(limit_s)
                if asked_at is None and hooks.stop_asked():
                    asked_at = now
                    process.terminate()
                if asked_at is not None and now > asked_at + STOP_PATIENCE_S:
                    raise LoadStoppedError
            code = process.wait(timeout=5)
        finally:
            self._end(process, session)
        if asked_at is not None and not _measured(last):
            raise LoadStoppedError
        match last:
            case Finished(result=result):
                return result
            case Failed(error=reason):
                raise LoadError(reason.message)
        raise _died(code)

    def _end(self, process: subprocess.Popen[bytes], session: Session) -> None:
        """Leave no worker behind, whatever happened."""
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait()
        if process.returncode < 0:
            end_session(session)  # programs that a killed worker had started
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        self._process = None


def _order_line(mode: str, order: LoadOrder) -> bytes:
    """The order as the worker reads it (`loadcell.execution.worker`)."""
    document = {
        "mode": mode,
        "parent": os.getpid(),
        "made_by": order.made_by,
        "pin": order.pin,
        "spec": order.specification(),
    }
    return json.dumps(document).encode() + b"\n"


def _measured(last: Finished | Failed | None) -> bool:
    """True if the worker's last line is the result of a load that was measured for a while."""
    return isinstance(last, Finished) and isinstance(last.result, LoadResult) and last.result.seconds > 0


def _died(code: int) -> LoadError:
    if code >= 0:
        return LoadError(WORKER_ENDED(status=str(code)))
    name = signal.Signals(-code).name if -code in set(signal.Signals) else str(-code)
    if -code == signal.SIGKILL:
        return LoadError(WORKER_KILLED_FOR_GOOD(signal=name))
    return LoadError(WORKER_KILLED(signal=name))
