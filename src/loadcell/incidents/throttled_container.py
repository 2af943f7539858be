"""A control group that its processor limit stops again and again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.incidents.base import Incident, Judgement
from loadcell.incidents.evidence.containers import ControlGroups, CpuLimit
from loadcell.model.message import Count, Message, MessageCode, Number, Seconds, Share

SIGNS = MessageCode(
    "incident.throttled-container.signs",
    "info",
    used_share=Share,
    critical_share=Share,
    periods=Count,
)
_SEEN = MessageCode(
    "incident.throttled-container.seen",
    "info",
    group=str,
    cores=Number,
    used_share=Share,
    periods=Count,
    stopped_s=Seconds,
    interval_s=Seconds,
    total_share=Share,
)
_SEEN_WITHOUT = MessageCode(
    "incident.throttled-container.seen-without-time",
    "info",
    group=str,
    cores=Number,
    used_share=Share,
    periods=Count,
)
_BEFORE = MessageCode(
    "incident.throttled-container.before", "info", group=str, cores=Number, used_share=Share, periods=Count
)
_HEALTHY = MessageCode(
    "incident.throttled-container.healthy",
    "info",
    count=Count,
    group=str,
    used_share=Share,
    total_share=Share,
)
_NONE = MessageCode("incident.throttled-container.none", "info")

SHARE, CRITICAL_SHARE = 0.25, 0.75
#: Fewer periods (of 100 ms) show nothing.
FEWEST: Final = 4
FEWEST_BEFORE: Final = 100
#: Half a minute, since the start of the group: a burst of a second is ordinary.
FEWEST_CRITICAL: Final = 300
_MOST: Final = 8


class ThrottledContainer(Incident[ControlGroups]):
    name = "throttled-container"
    needs = ControlGroups
    stalls = True
    source = "Linux, Documentation/scheduler/sched-bwc.rst; kubernetes-mixin, CPUThrottlingHigh (25%)"
    signs = SIGNS(used_share=SHARE, critical_share=CRITICAL_SHARE, periods=FEWEST_CRITICAL)

    def examine(self, evidence: ControlGroups) -> Iterator[Judgement]:
        throttled = [group for group in evidence.cpu if group.periods >= FEWEST and group.share >= SHARE]
        for group in sorted(throttled, key=lambda group: -group.share)[:_MOST]:
            is_lasting = group.all_periods >= FEWEST_CRITICAL and group.total_share >= SHARE
            is_critical = is_lasting and group.share >= CRITICAL_SHARE
            yield self.diagnosis(
                "critical" if is_critical else "warning",
                "high" if is_lasting else "medium",
                _seen(group, evidence),
            )
        before = [
            group
            for group in evidence.cpu
            if group not in throttled and group.all_periods >= FEWEST_BEFORE and group.total_share >= SHARE
        ]
        for group in sorted(before, key=lambda group: -group.total_share)[:_MOST]:
            summary = _BEFORE(
                group=group.group, cores=group.cores, used_share=group.total_share, periods=group.all_periods
            )
            yield self.diagnosis("note", "medium", summary)
        if throttled or before:
            return
        if not evidence.cpu:
            yield self.healthy(_NONE())
            return
        worst = max(evidence.cpu, key=lambda group: (group.share, group.total_share))
        yield self.healthy(
            _HEALTHY(
                count=len(evidence.cpu),
                group=worst.group,
                used_share=worst.share,
                total_share=worst.total_share,
            )
        )


def _seen(group: CpuLimit, evidence: ControlGroups) -> Message:
    if group.throttled_s is None:
        return _SEEN_WITHOUT(
            group=group.group, cores=group.cores, used_share=group.share, periods=group.periods
        )
    return _SEEN(
        group=group.group,
        cores=group.cores,
        used_share=group.share,
        periods=group.periods,
        stopped_s=group.throttled_s,
        interval_s=evidence.interval_s,
        total_share=group.total_share,
    )


PART = ThrottledContainer
