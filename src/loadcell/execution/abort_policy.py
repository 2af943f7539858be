"""Whether there is any sense in going on with a run whose target does not come up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loadcell.reasons import Reason, because

#: When the target has never come up and this many trials in a row failed for one and the same reason, the rest would too.
AFTER = 3


def hopeless(records: Sequence[Mapping[str, Any]]) -> Reason | None:
    """Why going on makes no sense: the target has never come up, always for the same reason."""
    if len(records) < AFTER:
        return None
    stuck = all(
        record["status"] == "failed" and record["phases"] and record["phases"][0]["status"] == "failed"
        for record in records
    )
    if not stuck or len({record["reason"] for record in records}) != 1:
        return None
    return because("run.given-up", count=len(records), why=_why(records[0]))


def _why(record: Mapping[str, Any]) -> Reason:
    """The reason of a trial, as its record has it."""
    words = record["reason"], record["advice"] or ""
    own = Reason(record["reason_code"], record["reason_args"], words)
    if not (phase := record.get("died_during")):
        return own
    return Reason("died", {"phase": because(f"phase.{phase}"), "why": own}, words)
