"""A live set that grows without end: what is in use after each collection of the old generation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.incidents.base import Incident, Judgement
from loadcell.incidents.evidence.collections import Collections
from loadcell.model.gc_pauses import NONE, LiveSet
from loadcell.model.message import Bytes, Count, MessageCode, Seconds, Share
from loadcell.stats.trend import trend

SIGNS = MessageCode("incident.memory-leak.signs", "info", fewest=Count, growth_share=Share)
_SEEN = MessageCode(
    "incident.memory-leak.seen", "info",
    first_bytes=Bytes, last_bytes=Bytes, count=Count, hourly_bytes=Bytes, full_s=Seconds,
)  # fmt: skip
_SEEN_FULL = MessageCode(
    "incident.memory-leak.seen-full", "info",
    first_bytes=Bytes, last_bytes=Bytes, count=Count, occupied_share=Share,
)  # fmt: skip
_HEALTHY = MessageCode(
    "incident.memory-leak.healthy", "info", count=Count, first_bytes=Bytes, last_bytes=Bytes
)
_RISES = MessageCode(
    "incident.memory-leak.rises", "info",
    count=Count, first_bytes=Bytes, last_bytes=Bytes, elapsed_s=Seconds, least_s=Seconds, growth_share=Share,
)  # fmt: skip
_FEW = MessageCode("incident.memory-leak.few", "info", count=Count, fewest=Count)

#: Values of the live set; of fewer a trend means nothing.
FEWEST: Final = 8
#: A service grows until it is warm: the first values are left out.
WARM_UP: Final = 0.2
#: Of the time: the live set of a heap that fills is compared with that after it.
START: Final = 0.1
#: Stalls, degenerated or full collections of a concurrent collector whose heap is full.
FEWEST_SHORT: Final = 5
#: Growth in the second half of the time, of the heap.
LEAST_GROWTH: Final = 0.05
#: A significant rise by this share of the first value is undecided as long as the heap has room.
UNDECIDED: Final = 0.2
#: Of the trend of all, and of the second half, by chance.
LEVEL, HALF_LEVEL = 0.01, 0.05
#: Of a shorter growth nobody knows whether it lasts.
LEAST_NS: Final = 60 * 10**9
#: So full, the next collections free next to nothing.
FULL: Final = 0.85


class MemoryLeak(Incident[Collections]):
    name = "memory-leak"
    needs = Collections
    explains = ("heap-exhaustion", "full-gc-spiral", "to-space-exhausted", "promotion-failure", "gc-time")
    source = (
        "H. B. Mann: Nonparametric tests against trend, 1945; P. K. Sen, 1968; "
        "Troubleshooting Guide (JDK 17): Memory Leaks"
    )
    signs = SIGNS(fewest=FEWEST, growth_share=LEAST_GROWTH)

    def examine(self, evidence: Collections) -> Iterator[Judgement]:
        live = evidence.live_sets()
        warm = live[int(len(live) * WARM_UP) :]
        if len(warm) < FEWEST:
            yield self.unseen(_FEW(count=len(live), fewest=FEWEST))
            return
        capacity = evidence.capacity_bytes or max(item.used_bytes for item in warm)
        half = warm[len(warm) // 2 :]
        long_trend, half_trend = (
            trend([item.used_bytes for item in part], [item.end_ns / 1e9 for item in part])
            for part in (warm, half)
        )
        half_s = (half[-1].end_ns - half[0].end_ns) / 1e9
        grown = half_trend.slope * half_s
        first, last = warm[0].used_bytes, warm[-1].used_bytes
        # a full heap collects ever more often: most values are of its last part of the time
        begin_ns = live[0].end_ns + START * (live[-1].end_ns - live[0].end_ns)
        early = min(next(item for item in live if item.end_ns >= begin_ns), warm[0], key=_end_ns)
        elapsed_ns = warm[-1].end_ns - warm[0].end_ns
        grows = elapsed_ns >= LEAST_NS and half_trend.rises(HALF_LEVEL) and grown >= LEAST_GROWTH * capacity
        is_full = last >= FULL * capacity and last - early.used_bytes >= LEAST_GROWTH * capacity
        is_full = is_full and (not warm[-1].has_allocated or _is_short(evidence))
        if not (long_trend.rises(LEVEL) and (grows or is_full)):
            rises = long_trend.rises(LEVEL) and half_trend.rises(HALF_LEVEL)
            if rises and last >= (1 + UNDECIDED) * first and not warm[-1].has_allocated:
                yield self.unseen(
                    _RISES(
                        count=len(warm), first_bytes=first, last_bytes=last, elapsed_s=elapsed_ns / 1e9,
                        least_s=LEAST_NS / 1e9, growth_share=LEAST_GROWTH,
                    )
                )  # fmt: skip
                return
            yield self.healthy(_HEALTHY(count=len(warm), first_bytes=first, last_bytes=last))
            return
        if is_full:
            seen = [early, *(item for item in warm if item.end_ns > early.end_ns)]
            summary = _SEEN_FULL(
                first_bytes=early.used_bytes,
                last_bytes=last,
                count=len(seen),
                occupied_share=min(1.0, last / capacity),
            )
            span = early.end_ns, warm[-1].end_ns
            quotes = evidence.quotes([item.line for item in seen])
            yield self.diagnosis("critical", "medium", summary, span, quotes)
            return
        span = warm[0].end_ns, warm[-1].end_ns
        quotes = evidence.quotes([item.line for item in warm])
        summary = _SEEN(
            first_bytes=first,
            last_bytes=last,
            count=len(warm),
            hourly_bytes=round(half_trend.slope * 3600),
            full_s=(capacity - last) / half_trend.slope,
        )
        yield self.diagnosis("warning", "medium", summary, span, quotes)


def _end_ns(item: LiveSet) -> int:
    return item.end_ns


def _is_short(evidence: Collections) -> bool:
    """True where the program waited for memory: a concurrent collector's live set has new objects, too."""
    around = evidence.log.around
    degenerated = evidence.log.totals.by_kind.get("degenerated", NONE)
    return max(around.stalls.count, degenerated.count, len(evidence.full())) >= FEWEST_SHORT


PART = MemoryLeak
