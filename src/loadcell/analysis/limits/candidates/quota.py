"""A CPU quota of a control group: the kernel throttles the target in most of its enforcement periods."""

from __future__ import annotations

from loadcell.analysis.limits.candidate import (
    MOSTLY,
    Evidence,
    Sign,
    at_limit,
    declared_candidate,
    quota_use,
    reaching,
)
from loadcell.model.message import MessageCode, Number, Share

THROTTLED_PERIODS = MessageCode(
    "limit.quota.throttled", "info", cores=Number, quota=Number, throttled_share=Share
)
NEEDS_THROTTLED = MessageCode("limit.needs.throttled", "info", needed_share=Share)


def _signs(evidence: Evidence) -> Sign | None:
    target = evidence.used.served
    group = None if target is None else target.control_group
    if target is None or group is None or not group.cpu_quota_cores or group.throttled_share is None:
        return None
    used = quota_use(evidence.used) or 0.0
    # A group that is short of its quota only in bursts is throttled in fewer periods.
    return Sign(
        (
            at_limit(used),
            reaching(group.throttled_share, MOSTLY, NEEDS_THROTTLED(needed_share=MOSTLY)),
        ),
        THROTTLED_PERIODS(
            cores=used * group.cpu_quota_cores,
            quota=group.cpu_quota_cores,
            throttled_share=group.throttled_share,
        ),
    )


#: Three seconds have 30 enforcement periods of 100 ms.
CANDIDATE = declared_candidate("quota", _signs, least_window_s=3.0, explains=("cpu", "thread"))
