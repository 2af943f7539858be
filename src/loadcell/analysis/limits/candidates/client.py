"""The load generator: a thread of it uses a whole core, or it takes most of a full machine."""

from __future__ import annotations

from loadcell.analysis.limits.candidate import AT_LIMIT, Evidence, Sign, declared_candidate, leads
from loadcell.model.message import ForeignText, MessageCode, Number, Share

BUSY = MessageCode("limit.client.busy", "info", thread=ForeignText, cpu_share=Share)
HOST = MessageCode("limit.client.host", "info", cores=Number, busy_share=Share)


def _signs(evidence: Evidence) -> Sign | None:
    client = evidence.used.client
    if client is None or evidence.used.in_client:
        return None
    thread = client.busiest_thread
    level = 0.0 if thread is None else min(1.0, thread.cpu)
    if thread is not None and (
        level >= AT_LIMIT or not evidence.is_host_full or client.cores <= evidence.target_cores
    ):
        return Sign(
            level,
            level >= AT_LIMIT,
            BUSY(thread=thread.name, cpu_share=thread.cpu),
            precedes=("thread",) if leads(thread, evidence.used.target) else (),
        )
    is_limit = evidence.is_host_full and client.cores >= evidence.used.host.cores / 2
    return Sign(level, is_limit, HOST(cores=client.cores, busy_share=evidence.host_busy))


CANDIDATE = declared_candidate("client", _signs)
