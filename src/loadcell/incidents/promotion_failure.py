"""No room in the old generation when it is needed: a promotion that fails, a concurrent cycle that is too
late, threads that wait for memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.incidents.base import Incident, Judgement, Level
from loadcell.incidents.evidence.collections import Collections, span_ns
from loadcell.model.gc_pauses import Durations
from loadcell.model.message import Count, MessageCode, Seconds, Share

SIGNS = MessageCode(
    "incident.promotion-failure.signs", "info",
    count=Count, time_share=Share, stall_s=Seconds, note_share=Share,
)  # fmt: skip
_SEEN = MessageCode(
    "incident.promotion-failure.seen",
    "info",
    promotion=Count,
    concurrent=Count,
    longest_s=Seconds,
    time_share=Share,
)
_DEGENERATED = MessageCode("incident.promotion-failure.degenerated", "info", count=Count, longest_s=Seconds)
_STALLS = MessageCode(
    "incident.promotion-failure.stalls", "info", count=Count, longest_s=Seconds, total_s=Seconds
)
_HEALTHY = MessageCode("incident.promotion-failure.healthy", "info", of=Count)

#: Failures that are critical, or their share of the time.
CRITICAL: Final = 5
CRITICAL_TIME: Final = 0.1
#: Of the time: a single failure below it is a note.
NOTE_TIME: Final = 0.001
#: A thread that waits as long for memory is a pause for its request.
CRITICAL_STALL_NS: Final = 10**9
#: Begins of the names of collectors -> the remedy of each.
_REMEDIES: Final = {
    "Serial": "serial", "Parallel": "parallel", "Concurrent Mark Sweep": "cms", "CMS": "cms", "G1": "g1",
    "Z": "zgc", "Shenandoah": "shenandoah",
}  # fmt: skip


class PromotionFailure(Incident[Collections]):
    name = "promotion-failure"
    needs = Collections
    source = (
        "HotSpot Virtual Machine Garbage Collection Tuning Guide: Concurrent Mode Failure; "
        "The Z Garbage Collector"
    )
    signs = SIGNS(
        count=CRITICAL, time_share=CRITICAL_TIME, stall_s=CRITICAL_STALL_NS / 1e9, note_share=NOTE_TIME
    )

    remedies = tuple(dict.fromkeys(_REMEDIES.values()))

    def examine(self, evidence: Collections) -> Iterator[Judgement]:
        log = evidence.log
        remedy = _remedy(log.collector)
        failures = log.totals.failures
        promotion, concurrent = (
            failures.get("promotion", Durations()),
            failures.get("concurrent-mode", Durations()),
        )
        stalls, degenerated = log.around.stalls, log.totals.by_kind.get("degenerated", Durations())
        pauses = [pause for pause in log.pauses if {"promotion", "concurrent-mode"} & set(pause.failures)]
        if promotion.count or concurrent.count:
            stopped_ns = sum(pause.duration_ns for pause in pauses)
            share = min(1.0, stopped_ns / evidence.duration_ns) if evidence.duration_ns else 0.0
            is_critical = max(promotion.count, concurrent.count) >= CRITICAL or share >= CRITICAL_TIME
            summary = _SEEN(
                promotion=promotion.count,
                concurrent=concurrent.count,
                longest_s=max(promotion.longest_ns, concurrent.longest_ns) / 1e9,
                time_share=share,
            )
            is_rare = promotion.count + concurrent.count == 1 and share < NOTE_TIME
            level: Level = "critical" if is_critical else "note" if is_rare else "warning"
            yield self.diagnosis(level, "high", summary, span_ns(pauses), evidence.quotes_of(pauses), remedy)
        if degenerated.count:
            pauses = [pause for pause in log.pauses if pause.kind == "degenerated"]
            summary = _DEGENERATED(count=degenerated.count, longest_s=degenerated.longest_ns / 1e9)
            share = degenerated.total_ns / evidence.duration_ns if evidence.duration_ns else 0.0
            is_critical = degenerated.count >= CRITICAL or (degenerated.count > 1 and share >= CRITICAL_TIME)
            level = "critical" if is_critical else "note"
            yield self.diagnosis(level, "high", summary, span_ns(pauses), evidence.quotes_of(pauses), remedy)
        if stalls.count:
            summary = _STALLS(
                count=stalls.count, longest_s=stalls.longest_ns / 1e9, total_s=stalls.total_ns / 1e9
            )
            share = stalls.total_ns / evidence.duration_ns if evidence.duration_ns else 0.0
            is_critical = stalls.count >= CRITICAL or (stalls.count > 1 and share >= CRITICAL_TIME)
            is_critical = is_critical or stalls.longest_ns >= CRITICAL_STALL_NS
            level = "critical" if is_critical else "warning"
            span, quotes = (
                evidence.span_of_lines([stalls.longest_line]),
                evidence.quotes([stalls.longest_line]),
            )
            yield self.diagnosis(level, "high", summary, span, quotes, remedy)
        if not (promotion.count or concurrent.count or degenerated.count or stalls.count):
            yield self.healthy(_HEALTHY(of=log.totals.all.count))


def _remedy(collector: str) -> str:
    """The remedy for a collector; empty for an unknown one."""
    return next((remedy for name, remedy in _REMEDIES.items() if collector.startswith(name)), "")


PART = PromotionFailure
