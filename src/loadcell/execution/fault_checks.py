"""Checks of the faults of a trial: each was applied at its time, and nothing of it is left."""

from __future__ import annotations

from collections.abc import Sequence

from loadcell.model.fault_record import FaultRecord
from loadcell.model.message import MessageCode
from loadcell.model.trial_record import Check

CHECK_FAULT_NOT_APPLIED = MessageCode("check.fault-not-applied")
CHECK_FAULT_REMAINS = MessageCode("check.fault-remains")

#: A fault applied later than this after its time is remarked on.
LATE_LIMIT_S = 0.1


def of_faults(faults: Sequence[FaultRecord]) -> list[Check]:
    """None for a trial without faults."""
    if not faults:
        return []
    detail = {"faults": [f"{fault.action} {fault.subject}: {fault.state}" for fault in faults]}
    missing = [fault for fault in faults if fault.state in ("waiting", "failed")]
    remaining = [fault for fault in faults if fault.state == "remains"]
    late = [
        f.applied for f in faults if f.applied and f.applied.began_s - f.applied.requested_s > LATE_LIMIT_S
    ]
    return [
        Check("fault-not-applied", "broken" if missing else "noticed" if late else "ok", detail),
        Check("fault-remains", "broken" if remaining else "ok", detail),
    ]
