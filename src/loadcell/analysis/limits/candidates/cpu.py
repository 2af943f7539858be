"""CPU of the target: its processes use nearly all cores that they may run on."""

from __future__ import annotations

from loadcell.analysis.limits.candidate import (
    Evidence,
    Sign,
    at_limit,
    available_cores,
    declared_candidate,
    full_machine,
    half_of,
    quota_left,
    stronger,
)
from loadcell.model.message import Message, MessageCode, Number

CORES = MessageCode("limit.cpu.cores", "info", cores=Number, available=Number)
HOST = MessageCode("limit.cpu.host", "info", cores=Number, machine=Message)


def _signs(evidence: Evidence) -> Sign | None:
    target = evidence.used.served
    if target is None:
        return None
    available = available_cores(evidence.used, target)
    if available is None:
        return None
    host, has_quota = evidence.used.host, quota_left(evidence.used)
    of_target = Sign(
        (at_limit(target.cores / available / evidence.granted_share), has_quota),
        CORES(cores=target.cores, available=available),
    )
    # Most of the machine's CPU time, and more than the client's: other processes are no limit of the target.
    if not host.cores or available < host.cores or target.cores <= evidence.client_cores:
        return of_target
    of_machine = Sign(
        (full_machine(evidence), half_of(target.cores, evidence), has_quota),
        HOST(cores=target.cores, machine=evidence.machine),
    )
    return stronger(of_target, of_machine)


CANDIDATE = declared_candidate("cpu", _signs, explains=("thread",))
