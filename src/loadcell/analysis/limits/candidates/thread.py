"""Threads of the target that use a whole core each, mostly one, while requests wait for them and other cores
are idle.
"""

from __future__ import annotations

from dataclasses import replace

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
#: The same of several threads, each with a core.
SEVERAL = MessageCode("limit.thread.several", "info")
SEVERAL_ADVICE = MessageCode("limit.thread.several.advice", "info")
SEVERAL_BUSY = MessageCode(
    "limit.thread.several.busy", "info", threads=Count, full_share=Share, thread=ForeignText, cpu_share=Share
)
NEEDS_QUEUE = MessageCode("limit.needs.queue", "info", in_flight=Number, threads=Count)


def _signs(evidence: Evidence) -> Sign | None:
    target = evidence.used.target
    thread = None if target is None else target.busiest_thread
    if target is None or thread is None:
        return None
    granted = evidence.granted_share
    busiest_share = min(1.0, thread.cpu / granted)
    full = sum(other.cpu / granted >= AT_LIMIT for other in target.busiest_threads)
    full = max(full, target.full_threads or 0)
    if granted < 1 and full == len(target.busiest_threads):  # with steal time only the listed ones are known
        full = max(full, target.working_threads or 0)
    # As many full threads as requests in flight: the load has no more work for others.
    in_flight = evidence.in_flight
    has_queue = Condition(
        in_flight is None or in_flight >= full + 1, NEEDS_QUEUE(in_flight=in_flight or 0.0, threads=full)
    )
    # The run delay of a thread belongs to whoever holds the cores.
    sign = Sign(
        (at_limit(thread.cpu / granted), has_queue, quota_left(evidence.used)),
        BUSY(thread=thread.name, cpu_share=thread.cpu, delay_share=thread.run_delay),
        precedes=("client",) if leads(thread, evidence.used.client) else (),
    )
    if full < 2:
        return sign
    return replace(
        sign,
        evidence=SEVERAL_BUSY(threads=full, full_share=AT_LIMIT, thread=thread.name, cpu_share=busiest_share),
        label=SEVERAL,
        advice=SEVERAL_ADVICE,
    )


CANDIDATE = declared_candidate("thread", _signs)
