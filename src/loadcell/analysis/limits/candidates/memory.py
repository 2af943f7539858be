"""Memory: the target's control group is at its limit, or the machine swaps, and tasks wait for memory."""

from __future__ import annotations

from loadcell.analysis.limits.candidate import (
    AT_LIMIT,
    Condition,
    Evidence,
    Sign,
    at_limit,
    available_cores,
    declared_candidate,
    mostly,
    reaching,
)
from loadcell.model.message import Bytes, Message, MessageCode, Rate, Share
from loadcell.model.resources import ControlGroupUse

#: Share of the time in which some task waited for memory (PSI) from which on that is a limit, and allocations
#: at the limit a second that cause it.
STALLED = 0.1
EVENTS_PER_S = 1.0
GROUP = MessageCode("limit.memory.group", "info", limit_bytes=Bytes, events_per_s=Rate, stalled_share=Share)
MACHINE = MessageCode("limit.memory.machine", "info", reclaims_per_s=Rate, stalled_share=Share)
NEEDS_EVENTS = MessageCode("limit.needs.events", "info", events_per_s=Rate)
NEEDS_KERNEL_TIME = MessageCode("limit.needs.kernel-time", "info")


def _signs(evidence: Evidence) -> Sign | None:
    used = evidence.used
    served = used.served
    if served is None:
        return None
    pressure = used.host.pressure
    stalled = None if pressure is None else pressure.memory
    if stalled is not None:
        is_stalled = at_limit(stalled, STALLED)
    else:  # a kernel without PSI: what comes back from disk takes the time of requests
        stalled = evidence.blocked_share
        if stalled is None or served.blocked is None:
            return None
        is_stalled = mostly(stalled, served.blocked.looks)
    cause = _cause(evidence, served.control_group, stalled)
    if cause is None:
        return Sign(
            (is_stalled, reaching(0.0, EVENTS_PER_S, NEEDS_EVENTS(events_per_s=EVENTS_PER_S))),
            MACHINE(reclaims_per_s=0.0, stalled_share=stalled),
        )
    is_reclaiming = _is_kernel_time(evidence)
    is_full = evidence.is_host_full or served.cores >= AT_LIMIT * available_cores(used, served)
    return Sign(
        (is_stalled, Condition(is_reclaiming or not is_full, NEEDS_KERNEL_TIME())),
        cause,
        explains=("cpu",) if is_reclaiming else (),
    )


def _is_kernel_time(evidence: Evidence) -> bool:
    """True if the kernel takes more of the CPU time than programs: reclaim is its work."""
    cpu = evidence.used.host.cpu
    return cpu is not None and cpu.system > cpu.user


def _cause(evidence: Evidence, group: ControlGroupUse | None, stalled: float) -> Message | None:
    """The reason for waiting tasks; None without one."""
    used = evidence.used
    if group is not None and group.memory_limit_bytes is not None:
        events = ((group.memory_max_events or 0) + (group.memory_high_events or 0)) / used.window_s
        if events >= EVENTS_PER_S:
            return GROUP(limit_bytes=group.memory_limit_bytes, events_per_s=events, stalled_share=stalled)
    reclaims = used.host.direct_reclaim_per_s or 0.0
    if reclaims >= EVENTS_PER_S or (used.host.swap_in_bytes_per_s or 0.0) > 0:
        return MACHINE(reclaims_per_s=reclaims, stalled_share=stalled)
    return None


CANDIDATE = declared_candidate("memory", _signs, least_window_s=3.0, explains=("disk", "flush"))
