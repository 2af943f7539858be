"""Storage: threads of the target, or sessions of its server, mostly wait for reads and writes."""

from __future__ import annotations

from loadcell.analysis.limits.candidate import (
    MOSTLY,
    Condition,
    Evidence,
    Sign,
    declared_candidate,
    mostly,
    unmet_demand,
)
from loadcell.analysis.limits.sessions import DATA_IO, waiting
from loadcell.model.message import ForeignText, MessageCode, Milliseconds, Number, Rate, Share

BLOCKED = MessageCode("limit.disk.blocked", "info", blocked_share=Share, mean=Number)
DEVICE = MessageCode(
    "limit.disk.device", "info", blocked_share=Share, mean=Number, disk=ForeignText, utilisation_share=Share,
    await_ms=Milliseconds, requests_per_s=Rate,
)  # fmt: skip
SESSIONS = MessageCode("limit.disk.sessions", "info", waiting_share=Share, wait=ForeignText)
NEEDS_IO = MessageCode("limit.needs.io", "info")
#: Of the time in which threads were blocked, the part with a wait for a device (PSI) below which a few bytes
#: of a log explain nothing.
_LEAST_IO = 0.1


def _has_io(evidence: Evidence, blocked: float) -> bool:
    """False if threads slept uninterruptibly without waiting for a device: for a lock of the kernel, or
    throttled (`memory.high`). By the share of the time in which some task waited for one (PSI), which has to
    be larger where the target read and wrote nothing; without PSI by bytes alone. True if nothing is known.
    """
    served, pressure = evidence.used.served, evidence.used.host.pressure
    rates = () if served is None else (served.read_bytes_per_s, served.write_bytes_per_s)
    measured = [rate for rate in rates if rate is not None]
    waiting_share = None if pressure is None else pressure.io
    has_bytes = not measured or any(measured)
    if waiting_share is None:
        return has_bytes
    return waiting_share >= (_LEAST_IO if has_bytes else MOSTLY) * blocked


def _signs(evidence: Evidence) -> Sign | None:
    blocked, of_sessions = evidence.blocked_share, waiting(evidence.used.sessions, DATA_IO)
    if of_sessions is not None and of_sessions.condition.is_met and of_sessions.share >= (blocked or 0.0):
        return Sign(
            (of_sessions.condition, unmet_demand(evidence)),
            SESSIONS(waiting_share=of_sessions.share, wait=of_sessions.wait),
        )
    served = evidence.used.served
    if blocked is None or served is None or served.blocked is None:
        return None
    mean, looks = served.blocked.working_mean, served.blocked.looks * served.blocked.coverage
    conditions = (
        mostly(blocked, looks),
        unmet_demand(evidence),
        Condition(_has_io(evidence, blocked), NEEDS_IO()),
    )
    holds = evidence.used.data_disk
    active = [disk for disk in evidence.used.disks if disk.await_ms and holds in (None, disk.device)]
    if len(active) != 1:  # it is unknown which of several has the data
        return Sign(conditions, BLOCKED(blocked_share=blocked, mean=mean))
    [disk] = active
    requests = disk.reads_per_s + disk.writes_per_s
    return Sign(
        conditions,
        DEVICE(
            blocked_share=blocked, mean=mean, disk=disk.device, utilisation_share=disk.utilisation,
            await_ms=disk.await_ms or 0.0, requests_per_s=requests,
        ),
    )  # fmt: skip


CANDIDATE = declared_candidate("disk", _signs)
