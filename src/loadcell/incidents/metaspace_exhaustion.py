"""Metaspace at its limit: full collections that free no classes, then an OutOfMemoryError."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.incidents.base import Incident, Judgement
from loadcell.incidents.evidence.collections import Collections, span_ns
from loadcell.model.message import Bytes, Count, MessageCode, Seconds, Share

SIGNS = MessageCode(
    "incident.metaspace-exhaustion.signs", "info", count=Count, window_s=Seconds, change_share=Share
)
_SEEN = MessageCode("incident.metaspace-exhaustion.seen", "info", count=Count, used_bytes=Bytes)
_SEEN_WITHOUT_SIZE = MessageCode("incident.metaspace-exhaustion.seen-without-size", "info", count=Count)
_ERROR = MessageCode("incident.metaspace-exhaustion.error", "info", count=Count)
_HEALTHY = MessageCode("incident.metaspace-exhaustion.healthy", "info", count=Count, last=Count)

FEWEST: Final = 3
WINDOW_NS: Final = 60 * 10**9
#: Metaspace that collections leave within this share of one another: they free no classes.
SAME: Final = 0.05
#: Of all versions: the threshold grows up to the limit, then come collections that clear soft references.
THRESHOLD: Final = ("Metadata GC Threshold", "Permanent Generation Full")
LAST: Final = ("Metadata GC Clear Soft References", "Last ditch collection")


class MetaspaceExhaustion(Incident[Collections]):
    name = "metaspace-exhaustion"
    needs = Collections
    source = "HotSpot Virtual Machine Garbage Collection Tuning Guide: Class Metadata"
    signs = SIGNS(count=FEWEST, window_s=WINDOW_NS / 1e9, change_share=SAME)

    def examine(self, evidence: Collections) -> Iterator[Judgement]:
        log = evidence.log
        errors = [
            quote for quote in evidence.quotes(list(log.around.errors))
            if "Metaspace" in quote.text or "PermGen" in quote.text or "Compressed class space" in quote.text
        ]  # fmt: skip
        if errors:
            span = evidence.span_of_lines([quote.number for quote in errors])
            yield self.diagnosis("critical", "high", _ERROR(count=len(errors)), span, errors)
        last = [pause for pause in log.pauses if pause.cause in LAST]
        pauses = [pause for pause in log.pauses if pause.cause in (*THRESHOLD, *LAST)]
        for first, end in zip(last, last[FEWEST - 1 :], strict=False):
            sizes = [pause.metaspace_bytes for pause in last if first.end_ns <= pause.end_ns <= end.end_ns]
            usages = [value for value in sizes if value is not None]
            is_same = not usages or max(usages) <= (1 + SAME) * min(usages)
            if end.end_ns - first.end_ns <= WINDOW_NS and is_same:
                used = {"used_bytes": max(usages)} if usages else {}
                code = _SEEN if usages else _SEEN_WITHOUT_SIZE
                summary = code(count=len(last), **used)
                yield self.diagnosis("critical", "high", summary, span_ns(last), evidence.quotes_of(last))
                return
        if not errors:
            yield self.healthy(_HEALTHY(count=len(pauses) - len(last), last=len(last)))


PART = MetaspaceExhaustion
