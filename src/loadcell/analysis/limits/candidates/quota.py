"""A CPU quota of a control group: the kernel throttles the target in most of its enforcement periods."""

from __future__ import annotations

from loadcell.analysis.limits.candidate import AT_LIMIT, declared_candidate
from loadcell.model.message import Message, MessageCode, Number, Share
from loadcell.model.resources import Resources

#: Share of throttled periods. A group that is short of its quota only in bursts has fewer.
THROTTLED = 0.5
THROTTLED_PERIODS = MessageCode(
    "limit.quota.throttled", "info", cores=Number, quota=Number, throttled_share=Share
)


def _signs(used: Resources) -> tuple[Message, ...]:
    target = used.target
    group = None if target is None else target.control_group
    if target is None or group is None or not group.cpu_quota_cores or group.throttled_share is None:
        return ()
    if group.throttled_share < THROTTLED or target.cores < AT_LIMIT * group.cpu_quota_cores:
        return ()
    return (
        THROTTLED_PERIODS(
            cores=target.cores, quota=group.cpu_quota_cores, throttled_share=group.throttled_share
        ),
    )


#: Three seconds have 30 enforcement periods of 100 ms.
CANDIDATE = declared_candidate("quota", _signs, least_window_s=3.0, explains=("cpu", "thread"))
