"""Checks of the faults of a trial: each was applied at its time, and nothing of it is left; and whether the
target went down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from loadcell.model import fault_record
from loadcell.model.engine_messages import OVERLOADED, OVERLOADED_IN_FAULT
from loadcell.model.fault_record import FaultRecord
from loadcell.model.json import JsonObject
from loadcell.model.message import Message, MessageCode
from loadcell.model.trial_record import Check

CHECK_FAULT_NOT_APPLIED = MessageCode("check.fault-not-applied")
CHECK_FAULT_REMAINS = MessageCode("check.fault-remains")
#: The same with the fault and its reason.
FAULT_FAILED = MessageCode("check.fault-not-applied.named", fault=str, why=Message)
FAULT_NOT_DUE = MessageCode("check.fault-not-applied.not-due", fault=str)
FAULT_NOT_UNDONE = MessageCode("check.fault-remains.named", fault=str, id=str, why=Message)
FAULT_NOT_RESTORED = MessageCode("check.fault-remains.no-entry", fault=str, why=Message)

#: The target was down after the load, in a trial in which a fault was applied.
TARGET_DOWN: Final = Check(fault_record.TARGET_DOWN, "noticed", {})
#: A fault applied or undone later than this after its time is remarked on.
LATE_LIMIT_S = 0.1


def were_applied(faults: Sequence[FaultRecord]) -> bool:
    """Report whether any fault was applied."""
    return any(fault.applied is not None for fault in faults)


def of_faults(faults: Sequence[FaultRecord]) -> list[Check]:
    """None for a trial without faults."""
    if not faults:
        return []
    detail = {"faults": [f"{fault.action} {fault.subject}: {fault.state}" for fault in faults]}
    return [*_remarks(faults, detail), *_failures(faults, detail)]


def _remarks(faults: Sequence[FaultRecord], detail: JsonObject) -> list[Check]:
    """Remarks: there were faults, or one was applied or undone late."""
    applied = [fault.applied for fault in faults if fault.applied is not None]
    undone = [fault.undone for fault in faults if fault.undone is not None]
    late = any(instants.began_s - instants.requested_s > LATE_LIMIT_S for instants in applied + undone)
    return [
        Check("faults", "noticed" if applied else "ok", detail),
        Check("fault-late", "noticed" if late else "ok", detail),
    ]


def _failures(faults: Sequence[FaultRecord], detail: JsonObject) -> list[Check]:
    """Each was applied, and nothing of it remains."""
    states = {fault.state for fault in faults}
    return [
        Check("fault-not-applied", "broken" if states & {"waiting", "failed"} else "ok", detail),
        Check("fault-remains", "broken" if "remains" in states else "ok", detail),
    ]


def reasons(faults: Sequence[FaultRecord]) -> Mapping[str, Message]:
    """The reason that the first fault of each failed check gives, by the name of the check."""
    named: dict[str, Message] = {}
    for fault in faults:
        if fault.state == "waiting":
            named.setdefault("fault-not-applied", FAULT_NOT_DUE(fault=fault.title))
        elif (why := fault.why) is not None:
            is_left = fault.state == "remains"
            code = FAULT_FAILED if not is_left else FAULT_NOT_UNDONE if fault.entry else FAULT_NOT_RESTORED
            name = "fault-remains" if is_left else "fault-not-applied"
            named.setdefault(name, code.pick(fault=fault.title, id=fault.entry, why=why))
    return named


def in_view_of_faults(
    reason: Message, faults: Sequence[FaultRecord], end_s: float, backlog_s: float
) -> Message:
    """The reason why a load ended at `end_s`; an overload with the faults in effect while its backlog grew.

    `backlog_s` is the longest time that a request may wait.
    """
    names = [
        f"`{fault.title}`"
        for fault in faults
        if fault.applied is not None
        and fault.applied.began_s < end_s
        and max(fault.ended_s, fault.applied.ended_s) > end_s - backlog_s
    ]
    if reason.code not in OVERLOADED or not names:
        return reason
    return OVERLOADED_IN_FAULT(faults=list(dict.fromkeys(names)), why=reason)
