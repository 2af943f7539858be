"""The load generator: a thread of it uses a whole core, or it takes most of a full machine."""

from __future__ import annotations

from loadcell.analysis.limits.candidate import (
    Evidence,
    Sign,
    at_limit,
    declared_candidate,
    full_machine,
    half_of,
    leads,
    stronger,
)
from loadcell.model.message import ForeignText, Message, MessageCode, Number, Share

BUSY = MessageCode("limit.client.busy", "info", thread=ForeignText, cpu_share=Share)
HOST = MessageCode("limit.client.host", "info", cores=Number, machine=Message)


def _signs(evidence: Evidence) -> Sign | None:
    client = evidence.used.client
    if client is None or evidence.used.in_client:
        return None
    thread = client.busiest_thread
    of_machine = Sign(
        (full_machine(evidence), half_of(client.cores, evidence)),
        HOST(cores=client.cores, machine=evidence.machine),
    )
    has_cores = evidence.used.host.cores > 0
    if thread is None:
        return of_machine if has_cores else None
    of_thread = Sign(
        (at_limit(thread.cpu / evidence.granted_share),),
        BUSY(thread=thread.name, cpu_share=thread.cpu),
        precedes=("thread",) if leads(thread, evidence.used.target) else (),
    )
    if not has_cores or client.cores <= evidence.target_cores:
        return of_thread
    return stronger(of_thread, of_machine)


CANDIDATE = declared_candidate("client", _signs, needs_target=True)
