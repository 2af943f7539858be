"""CPU of the target: its processes use nearly all cores that they may run on."""

from __future__ import annotations

from loadcell.analysis.limits.candidate import (
    AT_LIMIT,
    available_cores,
    declared_candidate,
    is_at_quota,
)
from loadcell.model.message import Message, MessageCode, Number, Share
from loadcell.model.resources import Resources

#: CPU of the whole machine that leaves nothing to either side.
HOST_AT_LIMIT = 0.95
CORES = MessageCode("limit.cpu.cores", "info", cores=Number, available=Number)
HOST = MessageCode("limit.cpu.host", "info", cores=Number, busy_share=Share)


def _signs(used: Resources) -> tuple[Message, ...]:
    target = used.target
    if target is None or is_at_quota(target):
        return ()
    available = available_cores(used, target)
    if target.cores >= AT_LIMIT * available:
        return (CORES(cores=target.cores, available=available),)
    host = used.host
    client = 0.0 if used.client is None else used.client.cores
    if host.cpu is None or host.cpu.busy < HOST_AT_LIMIT or available < host.cores:
        return ()
    # Most of the machine's CPU time, and more than the client's: other processes are no limit of the target.
    if target.cores < host.cores / 2 or target.cores <= client:
        return ()
    return (HOST(cores=target.cores, busy_share=host.cpu.busy),)


CANDIDATE = declared_candidate("cpu", _signs, explains=("thread",))
