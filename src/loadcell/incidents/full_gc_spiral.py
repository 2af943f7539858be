"""Full collections that follow one another ever faster and free ever less: the heap is too small for what
lives in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from loadcell.incidents.base import Incident, Judgement
from loadcell.incidents.evidence.collections import Collections
from loadcell.model.gc_pauses import Pause
from loadcell.model.message import Bytes, Count, MessageCode, Seconds, Share

SIGNS = MessageCode(
    "incident.full-gc-spiral.signs", "info",
    count=Count, window_s=Seconds, freed_share=Share, occupied_share=Share, time_share=Share, many=Count,
)  # fmt: skip
_SEEN = MessageCode(
    "incident.full-gc-spiral.seen", "info",
    count=Count, duration_s=Seconds, time_share=Share, freed_bytes=Bytes, freed_share=Share,
    occupied_share=Share,
)  # fmt: skip
_HEALTHY = MessageCode("incident.full-gc-spiral.healthy", "info", count=Count, most=Count, window_s=Seconds)
_HEALTHY_REQUESTED = MessageCode(
    "incident.full-gc-spiral.healthy-requested", "info",
    count=Count, most=Count, window_s=Seconds, requested=Count,
)  # fmt: skip
_FREED = MessageCode(
    "incident.full-gc-spiral.freed",
    "info",
    count=Count,
    window_s=Seconds,
    freed_share=Share,
    time_share=Share,
)
_NO_HEAP = MessageCode("incident.full-gc-spiral.no-heap", "info", count=Count)
_CONCURRENT = MessageCode("incident.full-gc-spiral.concurrent", "info", collector=str)

FEWEST: Final = 3
WINDOW_NS: Final = 60 * 10**9
#: Of the heap, by each of the last three.
MOST_FREED, CRITICAL_FREED = 0.05, 0.02
LEAST_OCCUPIED: Final = 0.85
#: Of the time, in full collections.
LEAST_TIME, CRITICAL_TIME = 0.25, 0.50
#: In a row, they are a spiral in less of the time, too: a small heap is collected within milliseconds.
MANY: Final = 20


@dataclass(frozen=True)
class _Sized:
    """A full collection whose sizes are in the log."""

    pause: Pause
    before_bytes: int
    after_bytes: int
    capacity_bytes: int

    @property
    def freed_bytes(self) -> int:
        return max(0, self.before_bytes - self.after_bytes)

    @property
    def freed_share(self) -> float:
        return self.freed_bytes / self.capacity_bytes

    @property
    def occupied_share(self) -> float:
        return self.after_bytes / self.capacity_bytes


class FullGcSpiral(Incident[Collections]):
    name = "full-gc-spiral"
    needs = Collections
    explains = ("gc-time",)
    stalls = True
    source = "HotSpot Virtual Machine Garbage Collection Tuning Guide: Excessive GC Time and OutOfMemoryError"
    signs = SIGNS(
        count=FEWEST, window_s=WINDOW_NS / 1e9, freed_share=MOST_FREED, occupied_share=LEAST_OCCUPIED,
        time_share=LEAST_TIME, many=MANY,
    )  # fmt: skip

    def examine(self, evidence: Collections) -> Iterator[Judgement]:
        if evidence.is_concurrent:
            yield self.unseen(_CONCURRENT(collector=evidence.log.collector))
            return
        pauses = evidence.full()
        sized = [item for pause in pauses if (item := _sized(pause, evidence.capacity_bytes)) is not None]
        if len(sized) < len(pauses):
            yield self.unseen(_NO_HEAP(count=len(pauses) - len(sized)))
        spirals = list(_spirals(sized))
        for spiral in spirals:
            yield self._judged(evidence, spiral)
        if not spirals and len(sized) == len(pauses):
            requested = sum(pause.kind == "full" for pause in evidence.log.pauses) - len(pauses)
            yield self._healthy(sized, requested)

    def _judged(self, evidence: Collections, spiral: Sequence[_Sized]) -> Judgement:
        last = spiral[-FEWEST:]
        freed_share = max(item.freed_share for item in last)
        begin_ns, end_ns = spiral[0].pause.start_ns, spiral[-1].pause.end_ns
        time_share = _time_share(spiral)
        is_critical = freed_share < CRITICAL_FREED or time_share >= CRITICAL_TIME
        summary = _SEEN(
            count=len(spiral),
            duration_s=(end_ns - begin_ns) / 1e9,
            time_share=time_share,
            freed_bytes=max(item.freed_bytes for item in last),
            freed_share=freed_share,
            occupied_share=min(item.occupied_share for item in last),
        )
        return self.diagnosis(
            "critical" if is_critical else "warning",
            "high",
            summary,
            (begin_ns, end_ns),
            evidence.quotes([item.pause.line for item in spiral]),
        )

    def _healthy(self, sized: Sequence[_Sized], requested: int) -> Judgement:
        windows = list(_windows(sized))
        densest = max(windows, key=len, default=())
        if len(densest) < FEWEST:
            limits = {"count": len(densest), "most": FEWEST - 1, "window_s": WINDOW_NS / 1e9}
            if requested:
                return self.healthy(_HEALTHY_REQUESTED(**limits, requested=requested))
            return self.healthy(_HEALTHY(**limits))
        return self.healthy(
            _FREED(
                count=len(densest),
                window_s=WINDOW_NS / 1e9,
                freed_share=max(item.freed_share for item in densest[-FEWEST:]),
                time_share=_time_share(densest),
            )
        )


def _sized(pause: Pause, capacity_bytes: int | None) -> _Sized | None:
    # the largest heap that was: a smaller one may grow again
    if pause.before_bytes is None or pause.after_bytes is None or not capacity_bytes:
        return None
    return _Sized(pause, pause.before_bytes, pause.after_bytes, capacity_bytes)


def _time_share(items: Sequence[_Sized]) -> float:
    """Share of the time from the end of the first to that of the last: with the first one there would
    be one pause more than intervals.
    """
    elapsed_ns = items[-1].pause.end_ns - items[0].pause.end_ns
    return min(1.0, sum(item.pause.duration_ns for item in items[1:]) / elapsed_ns) if elapsed_ns > 0 else 0.0


def _windows(sized: Sequence[_Sized]) -> Iterator[Sequence[_Sized]]:
    """The collections that end within a minute: one alone may take half of that."""
    first = 0
    for index, item in enumerate(sized):
        while sized[first].pause.end_ns < item.pause.end_ns - WINDOW_NS:
            first += 1
        yield sized[first : index + 1]


def _is_spiral(window: Sequence[_Sized]) -> bool:
    last = window[-FEWEST:]
    if len(last) < FEWEST:
        return False
    return (
        all(_frees_little(item) for item in last)
        and last[-1].freed_bytes <= last[0].freed_bytes + _NOISE * last[-1].capacity_bytes
        and (_time_share(window) >= LEAST_TIME or _are_many(window))
    )


def _are_many(window: Sequence[_Sized]) -> bool:
    return len(window) >= MANY and all(_frees_little(item) for item in window[-MANY:])


def _frees_little(item: _Sized) -> bool:
    return item.freed_share < MOST_FREED and item.occupied_share >= LEAST_OCCUPIED


#: Freed amounts differ by this share of the heap without a trend.
_NOISE: Final = 0.01


def _spirals(sized: Sequence[_Sized]) -> Iterator[Sequence[_Sized]]:
    """Collections of windows with all signs; windows that overlap are one spiral."""
    begin = end = 0
    for index, window in enumerate(_windows(sized)):
        if not _is_spiral(window):
            continue
        first = index + 1 - len(window)
        if end and first <= end:
            end = index + 1
            continue
        if end:
            yield sized[begin:end]
        begin, end = first, index + 1
    if end:
        yield sized[begin:end]


PART = FullGcSpiral
