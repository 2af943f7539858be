"""Applies and undoes the faults of one trial at their times, in a separate thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from loadcell.faults import journal as journals
from loadcell.faults.base import EndedEarlyError, Fault, FaultError
from loadcell.faults.guardian import Guardian
from loadcell.faults.journal import Entry
from loadcell.linux.process_identity import ProcessIdentity
from loadcell.model.fault_record import FaultRecord, FaultState, Instants
from loadcell.model.json import JsonObject
from loadcell.model.message import ForeignText, MessageCode, MessageError, Seconds
from loadcell.plan.faults import PlannedFault
from loadcell.systems.subjects import Subject

BROKE = MessageCode("fault.broke", action=str, subject=str, error=ForeignText)
UNDONE_BY_OTHER = MessageCode("fault.undone-by-other", action=str, subject=str)
IN_EFFECT_ALREADY = MessageCode("fault.in-effect-already", action=str, subject=str, other=str)
NOT_UNDONE_IN_TIME = MessageCode("fault.not-undone-in-time", limit_s=Seconds)

#: How long before its time a fault is prepared and written to the journal.
_PREPARE_BEFORE_NS = 500_000_000
#: How long before its time a fault looks at its subject again, which may have changed: that takes
#: milliseconds, which would delay it.
_LOOK_BEFORE_NS = 20_000_000
#: A sleeping thread wakes up to a millisecond late; for the last part of the wait it polls the clock.
_SPIN_NS = 1_500_000
#: Delay after which the guardian undoes a fault of a run that is alive but has not undone it.
_LEASE_SLACK_S = 60.0
#: How long undoing may take at the end of the load.
_END_LIMIT_S = 120.0


@dataclass
class _Item:
    """A fault with its progress; instants by the monotonic clock."""

    planned: PlannedFault
    fault: Fault[Any]
    due_ns: int | None
    state: FaultState = "waiting"
    prepared: bool = False
    looked: bool = False
    ready: bool = False
    #: arguments of its undo as they were looked up
    arguments: JsonObject | None = None
    entry: Entry | None = None
    undo_due_ns: int | None = None
    applied: tuple[int, int, int] | None = None
    undone: tuple[int, int, int] | None = None
    error: MessageError | None = None

    @property
    def lasts(self) -> bool:
        """True if it is applied, and is to be undone."""
        return self.state == "applied" and self.fault.lasts

    @property
    def next_ns(self) -> int | None:
        """When it is applied or undone next; None: never, or not known yet."""
        if self.lasts:
            return self.undo_due_ns
        return self.due_ns if self.state == "waiting" else None

    def is_ended_with(self, other: _Item) -> bool:
        """Report whether the undo of one would end the other one, too."""
        if self.arguments is None or self.arguments != other.arguments:
            return False
        changes, others = self.fault.changes(), other.fault.changes()
        return self.fault.name == other.fault.name or (changes is not None and changes == others)


def _reason(item: _Item, error: Exception) -> MessageError:
    """An error of a fault with a message."""
    if isinstance(error, MessageError):
        return error
    why = f"{type(error).__name__}: {error}"
    return FaultError(BROKE(action=item.planned.action, subject=item.planned.subject, error=why))


class FaultRun:
    """The faults of a trial's load. `subject` gives a part of the target by its name; `event` takes a line of
    events.jsonl, in the thread.
    """

    def __init__(
        self,
        planned: Sequence[PlannedFault],
        actions: Mapping[str, type[Fault[Any]]],
        subject: Callable[[str], Subject],
        guardian: Guardian,
        event: Callable[[JsonObject], None],
        run: str = "",
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._items = [
            _Item(fault, actions[fault.action](fault.options, subject(fault.subject)), None)
            for fault in planned
        ]
        self._guardian = guardian
        self._event = event
        self._run = run
        self._now = monotonic_ns
        self._start_ns: int | None = None
        self._duration_s = 0.0
        self._operations = 0
        self._ending = False
        self._wake = threading.Condition()
        self._thread = threading.Thread(target=self._loop, name="faults", daemon=True)

    def begin(self, mono_ns: int, duration_s: float) -> None:
        """The measurement, of this planned duration, has begun at this instant."""
        with self._wake:
            if self._start_ns is not None:
                return
            self._start_ns, self._duration_s = mono_ns, duration_s
            for item in self._items:
                if item.planned.timing.at is not None:
                    item.due_ns = mono_ns + item.planned.timing.at.ns
        self._thread.start()

    def counted(self, operations: int) -> None:
        """Take the number of operations of the measurement that have ended."""
        with self._wake:
            self._operations = operations
            self._wake.notify()

    def end(self) -> tuple[FaultRecord, ...]:
        """Undo all active faults in reverse order; return the records of all faults."""
        with self._wake:
            self._ending = True
            self._wake.notify()
        if self._start_ns is not None:
            self._thread.join(_END_LIMIT_S)
        if self._thread.is_alive():
            for item in self._items:
                if item.lasts:
                    self._fail(item, "remains", FaultError(NOT_UNDONE_IN_TIME(limit_s=_END_LIMIT_S)))
        return tuple(map(self._record, self._items))

    # -- the thread

    def _loop(self) -> None:
        try:
            self._apply_due()
        finally:
            for item in reversed(self._items):
                if item.lasts:
                    self._undo(item, self._now())

    def _apply_due(self) -> None:
        """Apply and undo faults at their times until the end of the load."""
        while not self._ending:
            self._prepare_due()
            item, due_ns = self._next()
            if item is None or due_ns is None or due_ns - self._now() > _SPIN_NS:
                with self._wake:
                    if not self._ending:
                        self._wake.wait(self._wait_s(due_ns))
                self._due_by_operations()
                continue
            while self._now() < due_ns:
                pass
            if item.lasts:
                self._undo(item, due_ns)
            else:
                self._apply(item, due_ns)

    def _next(self) -> tuple[_Item | None, int | None]:
        """The next fault to be applied or undone, and when."""
        due = [(item.next_ns, item) for item in self._items if item.next_ns is not None]
        if not due:
            return None, None
        instant, item = min(due, key=lambda entry: entry[0])
        return item, instant

    def _wait_s(self, due_ns: int | None) -> float | None:
        """Seconds to sleep: until a fault is due, or is to be prepared."""
        instants = [] if due_ns is None else [due_ns - _SPIN_NS]
        for item in self._items:
            if item.state == "waiting" and item.due_ns is not None and not item.looked:
                instants.append(item.due_ns - (_LOOK_BEFORE_NS if item.prepared else _PREPARE_BEFORE_NS))
        return max(0.0, (min(instants) - self._now()) / 1e9) if instants else None

    def _due_by_operations(self) -> None:
        for item in self._items:
            after = item.planned.timing.after
            if (
                item.state == "waiting"
                and after is not None
                and item.due_ns is None
                and self._operations >= after
            ):
                item.due_ns = self._now()

    def _prepare_due(self) -> None:
        for item in self._items:
            if item.state != "waiting" or item.due_ns is None:
                continue
            left_ns = item.due_ns - self._now()
            if not item.prepared and left_ns <= _PREPARE_BEFORE_NS:
                item.prepared = True
                self._prepare(item)
            if not item.looked and 0 < left_ns <= _LOOK_BEFORE_NS:
                item.looked = True
                item.ready = self._prepare(item)

    def _prepare(self, item: _Item) -> bool:
        """Record in advance how to undo it. A failure is ignored: it may succeed when the fault is due."""
        try:
            self._look_up(item)
        except Exception:  # of any fault
            return False
        return True

    def _look_up(self, item: _Item) -> None:
        """Look up how to undo a fault, and have that recorded."""
        item.arguments = item.fault.prepare()
        self._hold(item, item.arguments)

    def _hold(self, item: _Item, arguments: JsonObject | None) -> None:
        """Have the guardian record how to undo a fault, unless it is recorded already."""
        held = item.entry
        if arguments is None:
            return
        if held is not None and held.arguments == arguments and self._guardian.journal.has(held):
            return
        entry = self._entry(item, arguments) if held is None else replace(held, arguments=arguments)
        item.entry = self._guardian.hold(entry, self._lease_s(item))

    def _entry(self, item: _Item, arguments: JsonObject) -> Entry:
        kind = type(item.fault)
        me = ProcessIdentity.of_this_process()
        return Entry(
            journals.new_id(),
            kind.name,
            kind.__module__,
            kind.__qualname__,
            item.planned.subject,
            arguments,
            me,
            self._run,
            process=me,
        )

    def _lease_s(self, item: _Item) -> float:
        lasts_s = item.planned.timing.for_ or self._duration_s
        return float(lasts_s) + _PREPARE_BEFORE_NS / 1e9 + _LEASE_SLACK_S

    def _apply(self, item: _Item, due_ns: int) -> None:
        begun = False
        try:
            if not item.ready:
                self._look_up(item)
            self._refuse_twice(item)
            begun = True
            began_ns = self._now()
            arguments = item.fault.apply()
            ended_ns = self._now()
            self._hold(item, arguments)
        except Exception as error:  # the other faults are still to be undone
            self._fail(item, "failed", _reason(item, error))
            if begun:
                self._restore(item)
            self._undo_outside(item)
            return
        item.state, item.applied = "applied", (due_ns, began_ns, ended_ns)
        if item.planned.timing.for_ is not None:
            item.undo_due_ns = began_ns + item.planned.timing.for_.ns
        self._tell(item, "fault-applied", item.applied)

    def _refuse_twice(self, item: _Item) -> None:
        """Raises FaultError if a fault is in effect that has the same undo."""
        other = next((other for other in self._items if other.lasts and other.is_ended_with(item)), None)
        if other is None:
            return
        if item.entry is not None:  # to be forgotten, as its undo would end the other one
            self._guardian.release(item.entry)
            self._guardian.journal.remove(item.entry)
            item.entry = None
        planned = item.planned
        raise FaultError(
            IN_EFFECT_ALREADY(action=planned.action, subject=planned.subject, other=other.planned.title)
        )

    def _undo(self, item: _Item, due_ns: int) -> None:
        began_ns = self._now()
        self._restore(item)
        self._undo_outside(item)
        if item.state == "applied":
            item.state, item.undone = "undone", (due_ns, began_ns, self._now())
            self._tell(item, "fault-undone", item.undone)

    def _restore(self, item: _Item) -> None:
        """Bring back what ended; an error becomes the state of the fault."""
        try:
            item.fault.restore()
        except EndedEarlyError as error:
            self._fail(item, "failed", error)
        except Exception as error:  # the other faults are still to be undone
            self._fail(item, "remains", _reason(item, error))

    def _undo_outside(self, item: _Item) -> None:
        """Undo effects that outlive the run. Those that cannot be undone stay in the journal."""
        if item.entry is None:
            return
        outcome = journals.undo(item.entry, self._guardian.journal, is_holder=True)
        if outcome.error is not None:
            self._fail(item, "remains", outcome.error)
            return
        self._guardian.release(item.entry)
        item.entry = None
        if outcome.was_undone and item.state == "applied":
            planned = item.planned
            error = EndedEarlyError(UNDONE_BY_OTHER(action=planned.action, subject=planned.subject))
            self._fail(item, "failed", error)

    def _fail(self, item: _Item, state: FaultState, error: MessageError) -> None:
        item.state, item.error = state, error
        self._event({
            "event": "fault-failed", "fault": item.planned.title, "state": state, "reason": str(error),
        })  # fmt: skip

    def _tell(self, item: _Item, event: str, instants: tuple[int, int, int]) -> None:
        _, began_ns, ended_ns = instants
        took_s = (ended_ns - began_ns) / 1e9
        self._event({"event": event, "mono_ns": began_ns, "fault": item.planned.title, "took_s": took_s})

    def _record(self, item: _Item) -> FaultRecord:
        record = FaultRecord(
            item.planned.action,
            item.planned.subject,
            item.state,
            self._instants(item.applied),
            self._instants(item.undone),
            expected_errors=item.fault.expected_errors,
            counts=item.fault.counts() or None,
            entry=item.entry.id if item.entry is not None and item.state == "remains" else None,
        )
        if item.error is None:
            return record
        message = item.error.message
        return replace(
            record, reason=message.code or None, reason_args=message.plain_arguments, text=message.text
        )

    def _instants(self, instants: tuple[int, int, int] | None) -> Instants | None:
        if instants is None or self._start_ns is None:
            return None
        requested, began, ended = ((instant - self._start_ns) / 1e9 for instant in instants)
        return Instants(requested, began, ended)
