"""Flushes to stable storage: a working thread of the target is in fsync or the like at most instants while
most requests wait for such threads, or its sessions wait for the flush of the log.
"""

from __future__ import annotations

from loadcell.analysis.limits.candidate import (
    MOSTLY,
    NEEDS_SHARE,
    Evidence,
    Sign,
    declared_candidate,
    mostly,
    reaching,
    stronger,
    unmet_demand,
)
from loadcell.analysis.limits.sessions import LOG_FLUSH, waiting
from loadcell.model.message import ForeignText, MessageCode, Share

CALLS = MessageCode("limit.flush.calls", "info", flushing_share=Share)
NEEDS_WAITING = MessageCode("limit.needs.waiting-for-flush", "info", needed_share=Share, waiting_share=Share)
SESSIONS = MessageCode("limit.flush.sessions", "info", waiting_share=Share, wait=ForeignText)


def _signs(evidence: Evidence) -> Sign | None:
    served, of_sessions = evidence.used.served, waiting(evidence.used.sessions, LOG_FLUSH)
    if of_sessions is not None and of_sessions.condition.is_met:
        return Sign(
            (of_sessions.condition, unmet_demand(evidence)),
            SESSIONS(waiting_share=of_sessions.share, wait=of_sessions.wait),
        )
    blocked = None if served is None else served.blocked
    if blocked is None or blocked.flushing_share is None:
        return None
    # Older records count threads that no request waits for.
    share = min(blocked.flushing_share, blocked.working_mean)
    looks = blocked.looks * blocked.coverage
    conditions = [unmet_demand(evidence)]
    waiting_share = evidence.flush_waiting_share
    if waiting_share is not None:  # a flush in the background keeps no request
        text = NEEDS_WAITING(needed_share=MOSTLY, waiting_share=waiting_share)
        conditions.append(reaching(waiting_share, MOSTLY, text))
    calls = CALLS(flushing_share=share)
    signs = [Sign((mostly(share, looks), *conditions), calls)]
    if (blocked_share := evidence.blocked_share) is not None:  # of the waits for storage the larger part
        part = MOSTLY * blocked.working_mean
        part_of_waits = reaching(share, part, NEEDS_SHARE(needed_share=part))
        signs.append(Sign((mostly(blocked_share, looks), part_of_waits, *conditions), calls))
    return stronger(*signs)


CANDIDATE = declared_candidate("flush", _signs, explains=("disk",))
