"""Memory: the target's control group is at its limit, or the machine swaps, and tasks wait for memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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
    unmet_demand,
)
from loadcell.model.message import Bytes, Message, MessageCode, Rate, Share
from loadcell.model.resources import ProcessUse, Resources

#: Share of the time in which some task waited for memory (PSI) from which on that is a limit, and allocations
#: at the limit a second that cause it.
STALLED = 0.1
EVENTS_PER_S = 1.0
#: Pages swapped in per second that cause it: one that comes from a hard disk takes some 10 ms, so that fewer
#: do not account for `STALLED`.
SWAPPED_PER_S = 10.0
_PAGE_BYTES = 4096
GROUP = MessageCode("limit.memory.group", "info", limit_bytes=Bytes, events_per_s=Rate, waited=Message)
GROUP_HIGH = MessageCode(
    "limit.memory.group-high", "info", limit_bytes=Bytes, events_per_s=Rate, waited=Message
)
MACHINE = MessageCode("limit.memory.machine", "info", reclaims_per_s=Rate, waited=Message)
SWAPPING = MessageCode("limit.memory.swapping", "info", swapped_bytes=Bytes, waited=Message)
#: Waits for memory by PSI, or on a kernel without it blocked threads, which may also wait for storage.
STALLED_TASKS = MessageCode("limit.memory.stalled", "info", stalled_share=Share)
BLOCKED_THREADS = MessageCode("limit.memory.blocked", "info", stalled_share=Share)
NEEDS_EVENTS = MessageCode("limit.needs.events", "info", events_per_s=Rate)
NEEDS_SWAPPING = MessageCode("limit.needs.swapping", "info", pages_per_s=Rate)
NEEDS_KERNEL_TIME = MessageCode("limit.needs.kernel-time", "info")


def _signs(evidence: Evidence) -> Sign | None:
    used = evidence.used
    served = used.served
    if served is None:
        return None
    pressure = used.host.pressure
    stalled = None if pressure is None else pressure.memory
    has_stalls = stalled is not None
    if stalled is not None:
        is_stalled, waited = at_limit(stalled, STALLED), STALLED_TASKS(stalled_share=stalled)
    else:  # a kernel without PSI: what comes back from disk takes the time of requests
        stalled = evidence.blocked_share
        if stalled is None or served.blocked is None:
            return None
        is_stalled = mostly(stalled, served.blocked.looks * served.blocked.coverage)
        waited = BLOCKED_THREADS(stalled_share=stalled)
    cause = max(_causes(used, served, waited), key=lambda cause: cause.condition.strength or 0.0)
    is_reclaiming = cause.is_reclaim and _is_kernel_time(evidence)
    cores = available_cores(used, served)
    is_full = evidence.is_host_full or (
        cores is not None and served.cores >= AT_LIMIT * cores * evidence.granted_share
    )
    return Sign(
        (
            is_stalled,
            cause.condition,
            unmet_demand(evidence),
            Condition(is_reclaiming or not is_full, NEEDS_KERNEL_TIME()),
        ),
        cause.evidence,
        explains=(
            *(("disk", "flush") if has_stalls else ()),
            *(("cpu",) if is_reclaiming and cause.condition.is_met else ()),
        ),
    )


@dataclass(frozen=True)
class _Cause:
    """A reason for waits. `is_reclaim`: tasks free memory themselves, which takes CPU time of the kernel."""

    condition: Condition
    evidence: Message
    is_reclaim: bool


def _is_kernel_time(evidence: Evidence) -> bool:
    """True if the kernel takes more of the CPU time than programs: reclaim is its work."""
    cpu = evidence.used.host.cpu
    return cpu is not None and cpu.system > cpu.user


def _causes(used: Resources, served: ProcessUse, waited: Message) -> Iterator[_Cause]:
    """Reclaim of the machine, swapping by the target, and the limit of its control group."""
    host, group = used.host, served.control_group
    needs_events = NEEDS_EVENTS(events_per_s=EVENTS_PER_S)
    reclaims = host.direct_reclaim_per_s or 0.0
    scanned = host.direct_scan_pages_per_s
    yield _Cause(
        reaching(reclaims, EVENTS_PER_S, needs_events),
        MACHINE(reclaims_per_s=reclaims, waited=waited),
        is_reclaim=scanned is None or scanned > 0,
    )
    if swapped := host.swap_in_bytes_per_s:
        # Pages of the target come back with a major fault. It does not wait for those of other processes.
        faults = served.major_faults_per_s
        pages = min(swapped / _PAGE_BYTES, float("inf") if faults is None else faults)
        yield _Cause(
            reaching(pages, SWAPPED_PER_S, NEEDS_SWAPPING(pages_per_s=SWAPPED_PER_S)),
            SWAPPING(swapped_bytes=round(swapped), waited=waited),
            is_reclaim=False,
        )
    if group is not None and group.memory_limit_bytes is not None:
        of_max, of_high = group.memory_max_events or 0, group.memory_high_events or 0
        events, code = (of_max + of_high) / used.window_s, GROUP_HIGH if of_high > of_max else GROUP
        yield _Cause(
            reaching(events, EVENTS_PER_S, needs_events),
            code(limit_bytes=group.memory_limit_bytes, events_per_s=events, waited=waited),
            is_reclaim=True,
        )


CANDIDATE = declared_candidate("memory", _signs, least_window_s=3.0)
