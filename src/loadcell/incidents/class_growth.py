"""Classes whose live objects grow between two histograms of a JVM."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.incidents.base import Incident, Judgement
from loadcell.incidents.evidence.base import Quote
from loadcell.incidents.evidence.jvms import ClassHistograms
from loadcell.model import numbers
from loadcell.model.message import Bytes, MessageCode, Seconds, Share

SIGNS = MessageCode("incident.class-growth.signs", "info", least_bytes=Bytes, grown_share=Share)
_SEEN = MessageCode("incident.class-growth.seen", "info", interval_s=Seconds, grown_bytes=Bytes, classes=list)
_HEALTHY = MessageCode(
    "incident.class-growth.healthy", "info", live_bytes=Bytes, interval_s=Seconds, least_bytes=Bytes
)
_SLOWER = MessageCode(
    "incident.class-growth.slower", "info", least_bytes=Bytes, interval_s=Seconds, hourly_bytes=Bytes
)

LEAST_BYTES: Final = 1 << 20
LEAST_SHARE: Final = 0.05
_MOST_NAMED: Final = 3


class GrowingClasses(Incident[ClassHistograms]):
    name = "class-growth"
    needs = ClassHistograms
    source = "jcmd: GC.class_histogram counts live objects"
    signs = SIGNS(least_bytes=LEAST_BYTES, grown_share=LEAST_SHARE)

    def examine(self, evidence: ClassHistograms) -> Iterator[Judgement]:
        grown = [
            item
            for item in evidence.grown
            if item.bytes >= LEAST_BYTES and item.bytes >= LEAST_SHARE * item.before_bytes
        ]
        if not grown:
            yield self.healthy(
                _HEALTHY(
                    live_bytes=evidence.live_bytes,
                    interval_s=evidence.interval_s,
                    least_bytes=LEAST_BYTES,
                )
            )
            yield self.unseen(
                _SLOWER(
                    least_bytes=LEAST_BYTES,
                    interval_s=evidence.interval_s,
                    hourly_bytes=round(LEAST_BYTES / evidence.interval_s * 3600),
                )
            )
            return
        summary = _SEEN(
            interval_s=evidence.interval_s,
            grown_bytes=sum(item.bytes for item in grown),
            classes=[item.name for item in grown[:_MOST_NAMED]],
        )
        quotes = [
            Quote(
                "GC.class_histogram",
                0,
                f"{item.name}: {numbers.size(item.before_bytes)} -> {numbers.size(item.after_bytes)}",
            )
            for item in grown
        ]
        yield self.diagnosis("note", "low", summary, None, quotes)


PART = GrowingClasses
