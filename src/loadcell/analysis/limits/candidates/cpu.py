"""CPU of the target: its processes use nearly all cores that they may run on."""

from __future__ import annotations

from loadcell.analysis.limits.candidate import (
    AT_LIMIT,
    Evidence,
    Sign,
    available_cores,
    declared_candidate,
    is_at_quota,
)
from loadcell.model.message import MessageCode, Number, Share

CORES = MessageCode("limit.cpu.cores", "info", cores=Number, available=Number)
HOST = MessageCode("limit.cpu.host", "info", cores=Number, busy_share=Share)


def _signs(evidence: Evidence) -> Sign | None:
    target = evidence.used.served
    if target is None:
        return None
    available = available_cores(evidence.used, target)
    level = min(1.0, target.cores / available)
    cores = CORES(cores=target.cores, available=available)
    if is_at_quota(evidence.used):
        return Sign(level, False, cores)
    if level >= AT_LIMIT:
        return Sign(level, True, cores)
    host = evidence.used.host
    if not evidence.is_host_full or available < host.cores:
        return Sign(level, False, cores)
    # Most of the machine's CPU time, and more than the client's: other processes are no limit of the target.
    is_limit = target.cores >= host.cores / 2 and target.cores > evidence.client_cores
    return Sign(level, is_limit, HOST(cores=target.cores, busy_share=evidence.host_busy))


CANDIDATE = declared_candidate("cpu", _signs, explains=("thread",))
