"""A disk that is busy all the time while its requests wait."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.incidents.base import Incident, Judgement
from loadcell.incidents.evidence.disks import Disks, DiskUse
from loadcell.model.message import Count, MessageCode, Milliseconds, Seconds, Share

SIGNS = MessageCode(
    "incident.saturated-disk.signs",
    "info",
    busy_share=Share,
    wait_ms=Milliseconds,
    critical_ms=Milliseconds,
)
_SEEN = MessageCode(
    "incident.saturated-disk.seen",
    "info",
    disk=str,
    busy_share=Share,
    interval_s=Seconds,
    wait_ms=Milliseconds,
    queue=Count,
)
_STUCK = MessageCode("incident.saturated-disk.stuck", "info", disk=str, queue=Count, interval_s=Seconds)
_HEALTHY = MessageCode(
    "incident.saturated-disk.healthy",
    "info",
    count=Count,
    disk=str,
    busy_share=Share,
    interval_s=Seconds,
    wait_ms=Milliseconds,
)
_NONE = MessageCode("incident.saturated-disk.none", "info")

BUSY_SHARE: Final = 0.95
#: A rotating disk answers within 10 to 20 ms.
WAIT_MS, CRITICAL_MS = 100.0, 1000.0


class SaturatedDisk(Incident[Disks]):
    name = "saturated-disk"
    needs = Disks
    stalls = True
    source = "Linux, Documentation/admin-guide/iostats.rst; B. Gregg: Systems Performance, 2020, chapter 9"
    signs = SIGNS(busy_share=BUSY_SHARE, wait_ms=WAIT_MS, critical_ms=CRITICAL_MS)

    def examine(self, evidence: Disks) -> Iterator[Judgement]:
        saturated = [disk for disk in evidence.disks if _is_saturated(disk)]
        for disk in saturated:
            if disk.requests:
                summary = _SEEN(
                    disk=disk.name,
                    busy_share=disk.busy_share,
                    interval_s=evidence.interval_s,
                    wait_ms=disk.wait_ms,
                    queue=disk.in_progress,
                )
            else:
                summary = _STUCK(disk=disk.name, queue=disk.in_progress, interval_s=evidence.interval_s)
            is_critical = disk.wait_ms >= CRITICAL_MS
            yield self.diagnosis("critical" if is_critical else "warning", "medium", summary)
        if saturated:
            return
        busiest = max(evidence.disks, key=lambda disk: disk.busy_share, default=None)
        if busiest is None:
            yield self.healthy(_NONE())
            return
        yield self.healthy(
            _HEALTHY(
                count=len(evidence.disks),
                disk=busiest.name,
                busy_share=busiest.busy_share,
                interval_s=evidence.interval_s,
                wait_ms=busiest.wait_ms,
            )
        )


def _is_saturated(disk: DiskUse) -> bool:
    if disk.busy_share < BUSY_SHARE:
        return False
    return disk.wait_ms >= WAIT_MS if disk.requests else disk.in_progress > 0


PART = SaturatedDisk
