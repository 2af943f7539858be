"""A heap that is full: an OutOfMemoryError, its heap dump, or last full collections that free nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.incidents.base import Diagnosis, Incident, Judgement
from loadcell.incidents.evidence.base import Quote
from loadcell.incidents.evidence.collections import FULL_SHARE, Collections, DumpFile, span_ns
from loadcell.model.gc_pauses import Pause
from loadcell.model.message import Bytes, Count, MessageCode, Seconds, Share
from loadcell.model.numbers import utc_second

SIGNS = MessageCode(
    "incident.heap-exhaustion.signs", "info", count=Count, freed_share=Share, used_share=Share,
    many=Count, window_s=Seconds, many_freed_share=Share, many_used_share=Share,
    full_share=Share,
)  # fmt: skip
_ERROR = MessageCode("incident.heap-exhaustion.error", "info", count=Count)
_DUMP = MessageCode("incident.heap-exhaustion.dump", "info", path=str, size_bytes=Bytes, utc=str)
_DOUBTFUL: Final = {
    lack: MessageCode(
        f"incident.heap-exhaustion.dump-without-{lack}", "info",
        path=str, size_bytes=Bytes, utc=str, full_share=Share,
    )
    for lack in ("full-heap", "name")
}  # fmt: skip
_FULL = MessageCode(
    "incident.heap-exhaustion.full", "info", count=Count, freed_bytes=Bytes, used_share=Share,
    capacity_bytes=Bytes,
)  # fmt: skip
_HEALTHY = MessageCode("incident.heap-exhaustion.healthy", "info", count=Count)

FEWEST: Final = 3
MOST_FREED: Final = 0.02
LEAST_USED: Final = 0.95
#: This number within a short time shows it with weaker signs: G1 gives up with some regions free.
MANY: Final = 20
MANY_FREED: Final = 0.05
MANY_USED: Final = 0.85
WINDOW_NS: Final = 60 * 10**9
#: Errors of other memory than the heap.
_OTHERS: Final = ("Metaspace", "PermGen", "Compressed class space", "Direct buffer", "unable to create")


class HeapExhaustion(Incident[Collections]):
    name = "heap-exhaustion"
    needs = Collections
    explains = ("to-space-exhausted", "promotion-failure", "gc-time")
    stalls = True
    source = "Troubleshooting Guide (JDK 17): The java.lang.OutOfMemoryError Error"
    signs = SIGNS(
        count=FEWEST, freed_share=MOST_FREED, used_share=LEAST_USED, many=MANY, window_s=WINDOW_NS / 1e9,
        many_freed_share=MANY_FREED, many_used_share=MANY_USED, full_share=FULL_SHARE,
    )  # fmt: skip

    def examine(self, evidence: Collections) -> Iterator[Judgement]:
        errors = _errors(evidence)
        if errors:
            span = evidence.span_of_lines([quote.number for quote in errors])
            yield self.diagnosis("critical", "high", _ERROR(count=len(errors)), span, errors)
            return
        dumps = evidence.error_dumps
        if dumps and not dumps[-1].lacks:
            yield self._of_dump(dumps[-1], evidence)
            return
        full, capacity = evidence.full(), evidence.capacity_bytes
        before_exit = evidence.full_before_exit()
        last = _last_full(before_exit, capacity, MOST_FREED, LEAST_USED)
        if len(last) < FEWEST:
            last = _last_many(before_exit, capacity)
        if capacity is None or not last:
            yield self._of_dump(dumps[-1], evidence) if dumps else self.healthy(_HEALTHY(count=len(full)))
            return
        most_freed = max(last, key=_freed)
        least_used = min(last, key=lambda pause: pause.after_bytes or 0)
        summary = _FULL(
            count=len(last),
            freed_bytes=_freed(most_freed),
            used_share=(least_used.after_bytes or 0) / capacity,
            capacity_bytes=capacity,
        )
        quotes = evidence.quotes_with(last, [most_freed, least_used])
        yield self.diagnosis("critical", "medium", summary, span_ns(last), quotes)

    def _of_dump(self, dump: DumpFile, evidence: Collections) -> Diagnosis:
        """A dump as an error; one that lacks a sign of it is a warning."""
        last = evidence.full()[-FEWEST:]
        span, quotes = span_ns(last), evidence.quotes_of(last)
        path, size_bytes, utc = dump.path, dump.size_bytes, utc_second(dump.written_ns)
        if not dump.lacks:
            summary = _DUMP(path=path, size_bytes=size_bytes, utc=utc)
            return self.diagnosis("critical", "high", summary, span, quotes)
        summary = _DOUBTFUL[dump.lacks](path=path, size_bytes=size_bytes, utc=utc, full_share=FULL_SHARE)
        return self.diagnosis("warning", "medium", summary, span, quotes)


def _errors(evidence: Collections) -> list[Quote]:
    quotes = evidence.quotes(list(evidence.log.around.errors))
    return [quote for quote in quotes if not any(word in quote.text for word in _OTHERS)]


def _last_many(full: list[Pause], capacity_bytes: int | None) -> list[Pause]:
    """The last full collections that free little, where many of them are within a short time."""
    last = _last_full(full, capacity_bytes, MANY_FREED, MANY_USED)
    is_dense = len(last) >= MANY and last[-1].end_ns - last[-MANY].end_ns <= WINDOW_NS
    return last if is_dense else []


def _last_full(
    full: list[Pause], capacity_bytes: int | None, most_freed: float, least_used: float
) -> list[Pause]:
    """The last full collections up to the end that free no more, and leave at least so much in use."""
    last: list[Pause] = []
    for pause in reversed(full):
        if pause.after_bytes is None or pause.before_bytes is None or not capacity_bytes:
            break
        if _freed(pause) > most_freed * capacity_bytes or pause.after_bytes < least_used * capacity_bytes:
            break
        last.append(pause)
    return last[::-1]


def _freed(pause: Pause) -> int:
    return max(0, (pause.before_bytes or 0) - (pause.after_bytes or 0))


PART = HeapExhaustion
