"""The load itself: no resource is at its limit, since the plan asks for no more work."""

from __future__ import annotations

from loadcell.analysis.limits.candidate import (
    AT_LIMIT,
    HOST_AT_LIMIT,
    MOSTLY,
    NEEDS_QUOTA_LEFT,
    Condition,
    Evidence,
    Sign,
    at_limit,
    available_cores,
    declared_candidate,
    is_throttled,
)
from loadcell.design.search.model import SUSTAINED_SHARE
from loadcell.model.message import MessageCode, Number, Share

#: Below this number of requests in flight, few wait for others.
ONE_AT_A_TIME = 1.5
OFFERED = MessageCode("limit.load.offered", "info", achieved_share=Share)
OFFERED_ADVICE = MessageCode("limit.load.offered.advice", "info")
RESTING = MessageCode("limit.load.resting", "info", resting_share=Share)
SERIAL = MessageCode("limit.load.serial", "info", in_flight=Number)
COMPUTING = MessageCode("limit.load.computing", "info", in_flight=Number, cores=Number, available=Number)
NEEDS_FEWER = MessageCode("limit.needs.fewer", "info", available=Number)
NEEDS_IDLE = MessageCode("limit.needs.idle-cores", "info", full_share=Share, cores_share=Share)


def _has_idle_cores(evidence: Evidence) -> bool:
    """False if the machine is full, or the cores that one side may use. Both sides in as many cores share
    them if also the busiest core of the machine is full.
    """
    used = evidence.used
    sides = [side for side in (used.served, None if used.in_client else used.client) if side is not None]
    available = [available_cores(used, side) for side in sides]
    limit = AT_LIMIT * evidence.granted_share
    if evidence.is_host_full or any(
        cores is not None and side.cores >= limit * cores
        for side, cores in zip(sides, available, strict=True)
    ):
        return False
    if len(set(available)) != 1 or available[0] is None:
        return True
    busiest = used.host.busiest_core
    is_shared = len(sides) > 1 and (busiest is None or busiest >= limit)
    return not (is_shared and sum(side.cores for side in sides) >= limit * available[0])


def _signs(evidence: Evidence) -> Sign | None:
    has_idle_cores = Condition(
        _has_idle_cores(evidence), NEEDS_IDLE(full_share=HOST_AT_LIMIT, cores_share=AT_LIMIT)
    )
    if evidence.achieved_share is not None:
        share = min(1.0, evidence.achieved_share)
        conditions = (at_limit(share, SUSTAINED_SHARE), has_idle_cores)
        return Sign(conditions, OFFERED(achieved_share=share), advice=OFFERED_ADVICE)
    if evidence.resting_share >= MOSTLY:
        return Sign(
            (at_limit(evidence.resting_share, MOSTLY), has_idle_cores),
            RESTING(resting_share=evidence.resting_share),
        )
    in_flight, served = evidence.in_flight, evidence.used.served
    if not in_flight:
        return None
    if in_flight < ONE_AT_A_TIME:
        return Sign((has_idle_cores,), SERIAL(in_flight=in_flight))
    cores = evidence.target_cores + evidence.client_cores
    available = evidence.used.host.cores if served is None else available_cores(evidence.used, served)
    if not available:
        return None
    computing = min(1.0, cores / in_flight)
    return Sign(
        (
            at_limit(computing, MOSTLY),
            has_idle_cores,
            Condition(in_flight < available, NEEDS_FEWER(available=available)),
            Condition(not is_throttled(evidence.used), NEEDS_QUOTA_LEFT()),
        ),
        COMPUTING(in_flight=in_flight, cores=cores, available=available),
    )


CANDIDATE = declared_candidate("load", _signs, rank=0)
