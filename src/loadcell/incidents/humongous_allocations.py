"""Objects of half a region of G1 and more: each takes dedicated regions, and starts collections."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.incidents.base import Incident, Judgement
from loadcell.incidents.evidence.collections import Collections, span_ns
from loadcell.model.gc_pauses import Durations
from loadcell.model.message import Count, MessageCode, Share

SIGNS = MessageCode("incident.humongous-allocations.signs", "info", count=Count, limit_share=Share)
_SEEN = MessageCode("incident.humongous-allocations.seen", "info", count=Count, of=Count, part_share=Share)
_HEALTHY = MessageCode(
    "incident.humongous-allocations.healthy", "info", count=Count, of=Count, limit_share=Share
)
_OTHER = MessageCode("incident.humongous-allocations.other", "info", collector=str)

CAUSE: Final = "G1 Humongous Allocation"
FEWEST: Final = 5
#: Of all collections with a cause.
LEAST_SHARE: Final = 0.1


class HumongousAllocations(Incident[Collections]):
    name = "humongous-allocations"
    needs = Collections
    source = "HotSpot Virtual Machine Garbage Collection Tuning Guide: Humongous Objects"
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
            summary = _SEEN(count=count, of=total, part_share=count / total)
            yield self.diagnosis("warning", "high", summary, span_ns(pauses), evidence.quotes_of(pauses))
        else:
            yield self.healthy(_HEALTHY(count=count, of=total, limit_share=LEAST_SHARE))


PART = HumongousAllocations
