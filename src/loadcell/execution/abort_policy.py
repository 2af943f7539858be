"""True if there is any sense in going on with a run whose target does not come up."""

from __future__ import annotations

from collections.abc import Sequence

from loadcell.execution.messages import DIED, RUN_GIVEN_UP
from loadcell.execution.phases import PHASES
from loadcell.model.message import Message
from loadcell.model.trial_record import Status, TrialRecord

#: When the target has never come up and this many trials in a row failed for one and the same reason, the
#: rest would too.
AFTER = 3


def should_abort(records: Sequence[TrialRecord]) -> Message | None:
    """Why going on makes no sense: the target has never come up, always for the same reason."""
    if len(records) < AFTER:
        return None
    stuck = all(
        record.status is Status.FAILED and record.phases and record.phases[0].status == "failed"
        for record in records
    )
    if not stuck or len({record.reason for record in records}) != 1:
        return None
    return RUN_GIVEN_UP(count=len(records), why=_why(records[0]))


def _why(record: TrialRecord) -> Message:
    """The reason of a trial, as its record has it."""
    words = record.reason or "", record.advice or ""
    message = Message(record.reason_code or "", record.reason_args or {}, recorded=words)
    if not (phase := record.died_during):
        return message
    return Message(DIED.code, {"phase": PHASES[phase], "why": message}, recorded=words)
