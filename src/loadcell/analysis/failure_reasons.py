"""Why a trial did not end well, and what to do about it: from its record, to be said in the reader's language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loadcell.analysis.phrase import Recorded


def why(record: Mapping[str, Any]) -> Recorded | None:
    """The reason that a record gives; None where it gives none."""
    reason = record.get("reason")
    if not reason:
        return None
    code, args = _coded(record)
    if not record.get("died_during"):
        return Recorded(code, args, reason)
    phase = {"code": f"phase.{record['died_during']}"}
    return Recorded("died", {"phase": phase, "why": {"code": code, "args": args}}, reason)


def remedy(record: Mapping[str, Any]) -> Recorded | None:
    """What a record says is to be done; None where it says nothing."""
    code, args = _coded(record)
    return Recorded(f"{code}.advice", args, record["advice"]) if record.get("advice") else None


def _coded(record: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The reason's code and its arguments. Records of earlier versions have none, or a code alone."""
    args = record.get("reason_args")
    return str(record.get("reason_code") or ""), args if isinstance(args, Mapping) else {}
