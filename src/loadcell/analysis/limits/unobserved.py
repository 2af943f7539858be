"""Reasons why the target of a trial was not observed, with what to do."""

from __future__ import annotations

from loadcell.model.message import Message, MessageCode
from loadcell.model.resources import Unobserved

_REASONS = {reason: MessageCode(f"limit.unobserved.{reason.value}", "caution") for reason in Unobserved}
#: Older runs have no reason.
_NO_REASON = MessageCode("limit.unobserved", "caution")


def unobserved(reason: Unobserved | None) -> Message:
    """A clause with reason and remedy."""
    return _NO_REASON() if reason is None else _REASONS[reason]()
