"""Why a trial did not end well, and what to do about it: from its record, to be said in the reader's
language.
"""

from __future__ import annotations

from loadcell.model.json import JsonObject
from loadcell.model.message import Message
from loadcell.model.trial_record import TrialRecord


def why(record: TrialRecord) -> Message | None:
    """The reason that a record gives; None where it gives none."""
    reason = record.reason
    if not reason:
        return None
    code, args = _coded(record)
    if not record.died_during:
        return Message(code, args, recorded=(reason, ""))
    phase = {"code": f"phase.{record.died_during}"}
    arguments = {"phase": phase, "why": {"code": code, "args": args}}
    return Message("died", arguments, recorded=(reason, ""))


def remedy(record: TrialRecord) -> Message | None:
    """Remedy of a record; None if it has none."""
    code, args = _coded(record)
    advice = record.advice
    return Message(f"{code}.advice", args, recorded=(advice, "")) if advice else None


def _coded(record: TrialRecord) -> tuple[str, JsonObject]:
    """Code and arguments of the reason; early records have no arguments, or neither."""
    return record.reason_code or "", record.reason_args or {}
