"""A pool of connections or workers: requests wait for one of them, while nothing else is at its limit."""

from __future__ import annotations

from loadcell.analysis.limits.candidate import (
    Evidence,
    Sign,
    at_limit,
    declared_candidate,
    is_most,
    mostly,
    reaching,
    unmet_demand,
)
from loadcell.model.message import MessageCode, Number, Share

#: Share of the sessions that are active when all of a pool are in use, and requests in flight over sessions.
ALL_ACTIVE = 0.8
QUEUED = 1.25
ACCEPT = MessageCode("limit.pool.accept", "info", waiting_share=Share, mean=Number)
SESSIONS = MessageCode("limit.pool.sessions", "info", in_flight=Number, sessions=Number, active_share=Share)
NEEDS_REQUESTS = MessageCode("limit.needs.requests", "info", in_flight=Number)


def _signs(evidence: Evidence) -> Sign | None:
    queue, sessions = evidence.used.accept_queue, evidence.used.sessions
    if queue is not None and (is_most(queue.waiting_share, queue.looks) or sessions is None):
        return Sign(
            (mostly(queue.waiting_share, queue.looks), unmet_demand(evidence)),
            ACCEPT(waiting_share=queue.waiting_share, mean=queue.mean),
        )
    in_flight = evidence.in_flight
    if sessions is None or in_flight is None or not sessions.sessions:
        return None
    active = sessions.active / sessions.sessions
    least = QUEUED * sessions.sessions
    return Sign(
        (
            reaching(in_flight, least, NEEDS_REQUESTS(in_flight=least)),
            at_limit(active, ALL_ACTIVE),
            mostly(active, sessions.looks),
            unmet_demand(evidence),
        ),
        SESSIONS(in_flight=in_flight, sessions=sessions.sessions, active_share=active),
    )


CANDIDATE = declared_candidate("pool", _signs, rank=1)
