"""Locks and other waits of an SQL server: its active sessions mostly wait for each other."""

from __future__ import annotations

from loadcell.analysis.limits.candidate import Evidence, Sign, declared_candidate, unmet_demand
from loadcell.analysis.limits.sessions import LOCKS, waiting
from loadcell.model.message import ForeignText, MessageCode, Share

WAITS = MessageCode("limit.locks.waits", "info", waiting_share=Share, wait=ForeignText)


def _signs(evidence: Evidence) -> Sign | None:
    waited = waiting(evidence.used.sessions, LOCKS)
    if waited is None:
        return None
    return Sign(
        (waited.condition, unmet_demand(evidence)), WAITS(waiting_share=waited.share, wait=waited.wait)
    )


CANDIDATE = declared_candidate("locks", _signs, explains=("flush", "disk"))
