"""One thread of the target that uses a whole core, while requests wait for it and other cores are idle."""

from __future__ import annotations

from loadcell.analysis.limits.candidate import (
    AT_LIMIT,
    Evidence,
    Sign,
    declared_candidate,
    is_at_quota,
    leads,
)
from loadcell.model.message import ForeignText, MessageCode, Share

BUSY = MessageCode("limit.thread.busy", "info", thread=ForeignText, cpu_share=Share, delay_share=Share)


def _signs(evidence: Evidence) -> Sign | None:
    target = evidence.used.target
    thread = None if target is None else target.busiest_thread
    if target is None or thread is None:
        return None
    full = target.full_threads or sum(other.cpu >= AT_LIMIT for other in target.busiest_threads)
    # As many full threads as requests in flight: the load has no more work for others.
    has_queue = evidence.in_flight is None or evidence.in_flight >= full + 1
    # The run delay of a thread belongs to whoever holds the cores.
    return Sign(
        min(1.0, thread.cpu),
        thread.cpu >= AT_LIMIT and has_queue and not is_at_quota(evidence.used),
        BUSY(thread=thread.name, cpu_share=thread.cpu, delay_share=thread.run_delay),
        precedes=("client",) if leads(thread, evidence.used.client) else (),
    )


CANDIDATE = declared_candidate("thread", _signs)
