"""A JVM that collects for a large part of the time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.incidents.base import Incident, Judgement, Level
from loadcell.incidents.evidence.jvms import JvmCounters
from loadcell.model.message import Bytes, Count, MessageCode, Seconds, Share

SIGNS = MessageCode(
    "incident.gc-time.signs",
    "info",
    start_share=Share,
    least_s=Seconds,
    now_share=Share,
    critical_share=Share,
    occupied_share=Share,
    full=Count,
)
_SEEN = MessageCode(
    "incident.gc-time.seen",
    "info",
    start_share=Share,
    running_s=Seconds,
    now_share=Share,
    interval_s=Seconds,
    occupied_share=Share,
)
_FULL = MessageCode("incident.gc-time.full", "info", count=Count, interval_s=Seconds, occupied_share=Share)
_HEALTHY = MessageCode(
    "incident.gc-time.healthy",
    "info",
    start_share=Share,
    now_share=Share,
    interval_s=Seconds,
    used_bytes=Bytes,
    limit_bytes=Bytes,
)

#: The goals of the collectors are 1% (Parallel) and 8% (G1, `GCTimeRatio=12`).
START_SHARE, CRITICAL_SHARE = 0.15, 0.5
NOW_SHARE: Final = 0.5
LEAST_S: Final = 30.0
OCCUPIED_SHARE: Final = 0.9
#: One alone may have been requested, or may be the one that frees much.
FEWEST_FULL: Final = 2


class GcTime(Incident[JvmCounters]):
    name = "gc-time"
    needs = JvmCounters
    stalls = True
    source = "HotSpot Virtual Machine Garbage Collection Tuning Guide: GCTimeRatio"
    signs = SIGNS(
        start_share=START_SHARE, least_s=LEAST_S, now_share=NOW_SHARE, critical_share=CRITICAL_SHARE,
        occupied_share=OCCUPIED_SHARE, full=FEWEST_FULL,
    )  # fmt: skip

    def examine(self, evidence: JvmCounters) -> Iterator[Judgement]:
        full = evidence.full_now or 0
        if full >= FEWEST_FULL and evidence.occupied_share >= OCCUPIED_SHARE:
            summary = _FULL(
                count=full,
                interval_s=evidence.interval_s,
                occupied_share=evidence.occupied_share,
            )
            yield self.diagnosis("critical", "high", summary)
            return
        is_lasting = evidence.running_s >= LEAST_S and evidence.start_share >= START_SHARE
        if is_lasting or evidence.now_share >= NOW_SHARE:
            level: Level = "warning"
            if not evidence.collecting_now_s:
                # past: the process may have started with much work, and serves well since
                level = "note"
            elif is_lasting and evidence.start_share >= CRITICAL_SHARE:
                level = "critical"
            summary = _SEEN(
                start_share=evidence.start_share,
                running_s=evidence.running_s,
                now_share=evidence.now_share,
                interval_s=evidence.interval_s,
                occupied_share=evidence.occupied_share,
            )
            yield self.diagnosis(level, "high" if is_lasting else "medium", summary)
            return
        yield self.healthy(
            _HEALTHY(
                start_share=evidence.start_share,
                now_share=evidence.now_share,
                interval_s=evidence.interval_s,
                used_bytes=evidence.old_used_bytes,
                limit_bytes=evidence.old_limit_bytes or 0,
            )
        )


PART = GcTime
