"""Context of a run's trials, and their phases: each timed, bounded, and ended in one of the ways to end.

The context is access to the outside, which tests can replace, and facts of the host.
"""

from __future__ import annotations

import contextlib
import os
import queue
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from loadcell.execution import machine_watch as neighbours
from loadcell.execution.executor import Executor, LoadStoppedError, LoadTimeoutError
from loadcell.execution.interrupts import Interrupted, Interrupts, LimitReached
from loadcell.execution.progress import Progress
from loadcell.faults.guardian import Guardian
from loadcell.linux import inventory
from loadcell.linux.time_limits import LIMIT_S
from loadcell.model.json import JsonObject
from loadcell.model.message import ForeignText, Message, MessageCode, MessageError, Seconds
from loadcell.model.numbers import utc_text
from loadcell.model.trial_record import PhaseRecord, Status
from loadcell.plan.parts import Parts
from loadcell.store.layout import SCHEMA, StoreError

TIMED_OUT = MessageCode("timed-out", limit=str, phase=Message)
TIMED_OUT_WITHIN = MessageCode("timed-out.within", limit=str, limit_s=Seconds, phase=Message)
FAULT = MessageCode("fault", error=str, said=ForeignText)
PHASE_UP = MessageCode("phase.up")
PHASE_PREPARE = MessageCode("phase.prepare")
PHASE_WARMUP = MessageCode("phase.warmup")
PHASE_MEASURE = MessageCode("phase.measure")
PHASE_COLLECT = MessageCode("phase.collect")
PHASE_VERIFY = MessageCode("phase.verify")
PHASE_CLEANUP = MessageCode("phase.cleanup")
PHASE_LOAD = MessageCode("phase.load")


@dataclass
class RunContext:
    """`lines` is what targets say, from whatever thread, on its way to the present trial's output.log.

    `through_proxy`: the plan has faults that need a proxy, which carries the load of all trials.
    """

    parts: Parts
    executor: Executor
    interrupts: Interrupts
    progress: Progress
    secret: Callable[[str], str]
    redact: Callable[[str], str] = str
    lines: queue.SimpleQueue[str] = field(default_factory=queue.SimpleQueue)
    neighbours: Callable[[], list[int]] = neighbours.other_runs
    monotonic_ns: Callable[[], int] = time.monotonic_ns
    guardian: Guardian = field(default_factory=Guardian)
    through_proxy: bool = False
    root: Path = Path("/")
    cores: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))

    def waiting_lines(self) -> list[str]:
        """Lines of targets since the last call."""
        lines = []
        while not self.lines.empty():
            lines.append(self.lines.get())
        return lines


def environment(
    role: str, root: Path = Path("/"), limit_s: float = LIMIT_S, *, anonymous: bool = False
) -> JsonObject:
    """environment.json: facts of this host that bear on performance.

    `role` is `client+target`, or `client` when the target runs elsewhere. `anonymous` leaves names and
    addresses out.
    """
    host = {"role": role, **inventory.collect(root, limit_s, anonymous=anonymous)}
    return {"schema": SCHEMA, "collected_utc": utc_text(), "hosts": [host]}


#: What each is called in a sentence.
PHASES = {
    "up": PHASE_UP(),
    "prepare": PHASE_PREPARE(),
    "warmup": PHASE_WARMUP(),
    "measure": PHASE_MEASURE(),
    "collect": PHASE_COLLECT(),
    "verify": PHASE_VERIFY(),
    "cleanup": PHASE_CLEANUP(),
    "load": PHASE_LOAD(),
}

#: Which key of the plan's `limits` bounds a phase.
LIMIT_KEYS = {"warmup": "load_slack", "measure": "load_slack"}


class TrialEndedError(Exception):
    """The trial ends here, with this status (failed, timed out or aborted), for this reason."""

    def __init__(self, status: Status, reason: Message) -> None:
        super().__init__(reason.text)
        self.status = status
        self.reason = reason


@dataclass
class Phases:
    """The phases so far, as trial.json lists them."""

    interrupts: Interrupts
    monotonic_ns: Callable[[], int]
    tell: Callable[[str], None]
    output: Callable[[str], None]
    event: Callable[[JsonObject], None]
    records: list[PhaseRecord] = field(default_factory=list)

    @contextlib.contextmanager
    def step(self, name: str, limit_s: float | None, *, breakable: bool = True) -> Iterator[None]:
        """One phase. Whatever goes wrong in it becomes a TrialEndedError; only StoreError goes through as it
        is.
        """
        self.begin(name)
        if name not in LIMIT_KEYS:  # of the load's own phases the engine tells
            self.event({"event": "phase", "phase": name, "mono_ns": self.records[-1].started_mono_ns})
        try:
            with self.interrupts.bounded(limit_s, breakable=breakable):
                yield
        except StoreError:
            self.end("failed")
            raise
        except BaseException as error:
            ended = self._ending(error, limit_s)
            self.end("failed")
            if ended is None:
                raise
            # a load's last phase had ended before the load was found broken
            self.records[-1] = replace(self.records[-1], status=ended.status.value)
            raise ended from error
        self.end("ok")

    def begin(self, name: str, started_mono_ns: int | None = None, started_utc: str | None = None) -> None:
        """A phase begins; the one before it, if it was still open, succeeded."""
        if self.open:
            self.end("ok", started_mono_ns)
        mono_ns = self.monotonic_ns() if started_mono_ns is None else started_mono_ns
        self.records.append(PhaseRecord(name, mono_ns, started_utc or utc_text()))
        self.tell(name)

    def end(self, status: str, ended_mono_ns: int | None = None) -> None:
        """The open phase ends; does nothing when none is open."""
        if self.open:
            now_ns = self.monotonic_ns() if ended_mono_ns is None else ended_mono_ns
            last = self.records[-1]
            duration_s = max(0, now_ns - (last.started_mono_ns or 0)) / 1e9
            self.records[-1] = replace(last, duration_s=duration_s, status=status)

    @property
    def open(self) -> bool:
        """True if the last phase has not ended."""
        return bool(self.records) and self.records[-1].status is None

    @property
    def current(self) -> str:
        """The name of the last phase; empty before the first."""
        return self.records[-1].name if self.records else ""

    def _ending(self, error: BaseException, limit_s: float | None) -> TrialEndedError | None:
        """The end of the trial for an exception; None for one that does not concern the trial."""
        name = self.current
        match error:
            case TrialEndedError():
                return error
            case MessageError():
                return TrialEndedError(Status.FAILED, error.message)
            case LimitReached() | LoadTimeoutError():
                key = LIMIT_KEYS.get(name, name)
                limit_s = error.limit_s if isinstance(error, LoadTimeoutError) else limit_s
                if not limit_s:
                    return TrialEndedError(Status.TIMED_OUT, TIMED_OUT(phase=PHASES[name], limit=key))
                why = TIMED_OUT_WITHIN(phase=PHASES[name], limit=key, limit_s=limit_s)
                return TrialEndedError(Status.TIMED_OUT, why)
            case Interrupted() | LoadStoppedError():
                return TrialEndedError(Status.ABORTED, self.interrupts.reason)
            case Exception():
                for line in traceback.format_exception(error):
                    self.output(line.rstrip("\n"))
                why = FAULT(error=type(error).__name__, said=error)
                return TrialEndedError(Status.FAILED, why)
        return None
