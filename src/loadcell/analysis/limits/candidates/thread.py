"""One thread of the target that uses a whole core, while requests wait for it and other cores are idle."""

from __future__ import annotations

from loadcell.analysis.limits.candidate import (
    AT_LIMIT,
    Condition,
    Evidence,
    Sign,
    at_limit,
    declared_candidate,
    leads,
    quota_left,
)
from loadcell.model.message import Count, ForeignText, MessageCode, Number, Share

BUSY = MessageCode("limit.thread.busy", "info", thread=ForeignText, cpu_share=Share, delay_share=Share)
NEEDS_QUEUE = MessageCode("limit.needs.queue", "info", in_flight=Number, threads=Count)


def _signs(evidence: Evidence) -> Sign | None:
    target = evidence.used.target
    thread = None if target is None else target.busiest_thread
    if target is None or thread is None:
        return None
    full = target.full_threads or sum(other.cpu >= AT_LIMIT for other in target.busiest_threads)
    # As many full threads as requests in flight: the load has no more work for others.
    in_flight = evidence.in_flight
    has_queue = Condition(
        in_flight is None or in_flight >= full + 1, NEEDS_QUEUE(in_flight=in_flight or 0.0, threads=full)
    )
    # The run delay of a thread belongs to whoever holds the cores.
    return Sign(
        (at_limit(thread.cpu / evidence.granted_share), has_queue, quota_left(evidence.used)),
        BUSY(thread=thread.name, cpu_share=thread.cpu, delay_share=thread.run_delay),
        precedes=("client",) if leads(thread, evidence.used.client) else (),
    )


CANDIDATE = declared_candidate("thread", _signs)
