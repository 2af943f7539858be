"""G1 without free regions for survivors: objects stay where they are, and the pause is long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.incidents.base import Incident, Judgement, Level
from loadcell.incidents.evidence.collections import Collections, span_ns
from loadcell.model.message import Count, MessageCode, Milliseconds, Seconds

SIGNS = MessageCode("incident.to-space-exhausted.signs", "info", count=Count, window_s=Seconds)
_SEEN = MessageCode("incident.to-space-exhausted.seen", "info", count=Count, longest_ms=Milliseconds)
_HEALTHY = MessageCode("incident.to-space-exhausted.healthy", "info", of=Count)
_OTHER = MessageCode("incident.to-space-exhausted.other", "info", collector=str)

#: In a minute: the collector no longer keeps up.
CRITICAL: Final = 3
WINDOW_NS: Final = 60 * 10**9


class ToSpaceExhausted(Incident[Collections]):
    name = "to-space-exhausted"
    needs = Collections
    source = "HotSpot Virtual Machine Garbage Collection Tuning Guide: Evacuation Failure"
    signs = SIGNS(count=CRITICAL, window_s=WINDOW_NS / 1e9)

    def examine(self, evidence: Collections) -> Iterator[Judgement]:
        log = evidence.log
        durations = log.totals.failures.get("to-space")
        if durations is None:
            if log.collector != "G1":
                yield self.unseen(_OTHER(collector=log.collector or "?"))
            else:
                yield self.healthy(_HEALTHY(of=log.totals.all.count))
            return
        pauses = [pause for pause in log.pauses if "to-space" in pause.failures]
        is_dense = any(
            later.end_ns - earlier.start_ns <= WINDOW_NS
            for earlier, later in zip(pauses, pauses[CRITICAL - 1 :], strict=False)
        )
        summary = _SEEN(count=durations.count, longest_ms=durations.longest_ns / 1e6)
        level: Level = "critical" if is_dense else "warning"
        yield self.diagnosis(level, "high", summary, span_ns(pauses), evidence.quotes_of(pauses))


PART = ToSpaceExhausted
