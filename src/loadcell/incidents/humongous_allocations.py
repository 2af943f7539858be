"""Objects of half a region of G1 and more: each takes dedicated regions, and starts collections."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from loadcell.incidents.base import Incident, Judgement
from loadcell.incidents.evidence.collections import Collections, span_ns
from loadcell.model.gc_pauses import Durations, ObjectSizes
from loadcell.model.message import Bytes, Count, Message, MessageCode, Share

SIGNS = MessageCode("incident.humongous-allocations.signs", "info", count=Count, limit_share=Share)
_SEEN = MessageCode("incident.humongous-allocations.seen", "info", count=Count, of=Count, part_share=Share)
_REGIONS = MessageCode(
    "incident.humongous-allocations.regions", "info",
    seen=Message, region_bytes=Bytes, half_bytes=Bytes, option=str, heap_bytes=Bytes,
)  # fmt: skip
_LARGEST = MessageCode(
    "incident.humongous-allocations.largest", "info", seen=Message, region_bytes=Bytes, half_bytes=Bytes
)
_OBJECTS = MessageCode(
    "incident.humongous-allocations.objects", "info",
    seen=Message, object_bytes=Bytes, option=str, heap_bytes=Bytes,
)  # fmt: skip
_MOST_OBJECTS = MessageCode(
    "incident.humongous-allocations.most-objects", "info",
    seen=Message, part_share=Share, object_bytes=Bytes, option=str, heap_bytes=Bytes, largest_bytes=Bytes,
)  # fmt: skip
_BEYOND = MessageCode(
    "incident.humongous-allocations.beyond", "info",
    seen=Message, object_bytes=Bytes, largest_bytes=Bytes, regions=Count, taken_bytes=Bytes,
)  # fmt: skip
_HEALTHY = MessageCode(
    "incident.humongous-allocations.healthy", "info", count=Count, of=Count, limit_share=Share
)
_OTHER = MessageCode("incident.humongous-allocations.other", "info", collector=str)

CAUSE: Final = "G1 Humongous Allocation"
FEWEST: Final = 5
#: Of all collections with a cause.
LEAST_SHARE: Final = 0.1
#: Part of the objects for which a region should suffice: a few large ones would cost all others.
PART_OF_OBJECTS: Final = 0.9
#: Sizes of regions: powers of two between these, without JDK 18 and later, which take up to 512 MiB.
LEAST_REGION: Final = 1 << 20
LARGEST_REGION: Final = 32 << 20
#: Regions that the JVM makes of a heap (HeapRegionBounds::TARGET_REGION_NUMBER).
REGIONS: Final = 2048
_REGION_FLAG: Final = re.compile(r"-XX:G1HeapRegionSize=(\d{1,12})([kKmMgG]?)")
_SHIFTS: Final = {"": 0, "k": 10, "m": 20, "g": 30}


class HumongousAllocations(Incident[Collections]):
    name = "humongous-allocations"
    needs = Collections
    source = "HotSpot Virtual Machine Garbage Collection Tuning Guide: Humongous Objects"
    remedies = ("smaller-objects",)
    signs = SIGNS(count=FEWEST, limit_share=LEAST_SHARE)

    def examine(self, evidence: Collections) -> Iterator[Judgement]:
        log = evidence.log
        causes = log.totals.by_cause
        count = causes.get(CAUSE, Durations()).count
        total = sum(durations.count for cause, durations in causes.items() if cause)
        if log.collector != "G1" and not count:
            yield self.unseen(_OTHER(collector=log.collector or "?"))
        elif count >= FEWEST and count >= LEAST_SHARE * total:
            pauses = [pause for pause in log.pauses if pause.cause == CAUSE]
            seen = _SEEN(count=count, of=total, part_share=count / total)
            summary = _with_regions(seen, evidence)
            yield self.diagnosis(
                "warning", "high", summary, span_ns(pauses), evidence.quotes_of(pauses),
                "smaller-objects" if summary.code in (_BEYOND.code, _LARGEST.code) else "",
            )  # fmt: skip
        else:
            yield self.healthy(_HEALTHY(count=count, of=total, limit_share=LEAST_SHARE))


def _with_regions(seen: Message, evidence: Collections) -> Message:
    """The summary with the regions, and the heap, for which the objects are no longer humongous."""
    around = evidence.log.around
    if around.humongous:
        object_bytes, part = _most(around.humongous)
        largest_bytes = around.humongous[-1].largest_bytes
        needed = region_for(object_bytes)
        if needed is None:
            regions = -(-largest_bytes // LARGEST_REGION)
            return _BEYOND(
                seen=seen, object_bytes=largest_bytes, largest_bytes=LARGEST_REGION, regions=regions,
                taken_bytes=regions * LARGEST_REGION,
            )  # fmt: skip
        if largest_bytes > object_bytes:
            return _MOST_OBJECTS(
                seen=seen, part_share=part, object_bytes=object_bytes, option=_option(needed),
                heap_bytes=needed * REGIONS, largest_bytes=largest_bytes,
            )  # fmt: skip
        return _OBJECTS(
            seen=seen, object_bytes=object_bytes, option=_option(needed), heap_bytes=needed * REGIONS
        )
    region_bytes = around.region_bytes or _of_flags(around.flags)
    if not region_bytes:
        return seen
    if region_bytes >= LARGEST_REGION:
        return _LARGEST(seen=seen, region_bytes=region_bytes, half_bytes=region_bytes // 2)
    return _REGIONS(
        seen=seen, region_bytes=region_bytes, half_bytes=region_bytes // 2,
        option=_option(2 * region_bytes), heap_bytes=2 * region_bytes * REGIONS,
    )  # fmt: skip


def _most(objects: Sequence[ObjectSizes]) -> tuple[int, float]:
    """The size that most objects do not exceed, and their part of all."""
    total, count = sum(item.count for item in objects), 0
    for item in objects:
        count += item.count
        if count >= PART_OF_OBJECTS * total:
            return item.largest_bytes, count / total
    return 0, 0.0


def region_for(object_bytes: int) -> int | None:
    """The smallest region of which an object is less than a half; None where there is none."""
    region_bytes = LEAST_REGION
    while region_bytes <= LARGEST_REGION:
        if object_bytes < region_bytes // 2:
            return region_bytes
        region_bytes *= 2
    return None


def _option(region_bytes: int) -> str:
    return f"-XX:G1HeapRegionSize={region_bytes >> 20}m"


def _of_flags(flags: tuple[str, ...]) -> int:
    matches = [match for flag in flags if (match := _REGION_FLAG.fullmatch(flag)) is not None]
    return int(matches[-1][1]) << _SHIFTS[matches[-1][2].lower()] if matches else 0


PART = HumongousAllocations
