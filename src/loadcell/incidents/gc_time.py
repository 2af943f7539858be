"""A JVM that collects for a large part of the time, by its counters or by its GC log."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from loadcell.incidents.base import Incident, Judgement, Level
from loadcell.incidents.evidence.base import MOST_QUOTES
from loadcell.incidents.evidence.collections import Collections
from loadcell.incidents.evidence.jvms import JvmCounters
from loadcell.model.gc_pauses import Pause
from loadcell.model.message import Bytes, Count, MessageCode, Seconds, Share

SIGNS = MessageCode(
    "incident.gc-time.signs",
    "info",
    start_share=Share,
    least_s=Seconds,
    now_share=Share,
    critical_share=Share,
    occupied_share=Share,
    full=Count,
    window_s=Seconds,
    window_share=Share,
)
_SEEN = MessageCode(
    "incident.gc-time.seen",
    "info",
    start_share=Share,
    running_s=Seconds,
    now_share=Share,
    interval_s=Seconds,
    occupied_share=Share,
)
_FULL = MessageCode("incident.gc-time.full", "info", count=Count, interval_s=Seconds, occupied_share=Share)
_HEALTHY = MessageCode(
    "incident.gc-time.healthy",
    "info",
    start_share=Share,
    now_share=Share,
    interval_s=Seconds,
    used_bytes=Bytes,
    limit_bytes=Bytes,
)
_LOG = MessageCode(
    "incident.gc-time.log", "info",
    total_share=Share, duration_s=Seconds, window_share=Share, window_s=Seconds, full=Count,
)  # fmt: skip
_LOG_HEALTHY = MessageCode(
    "incident.gc-time.log-healthy", "info", total_share=Share, window_share=Share, window_s=Seconds
)
_SHORT = MessageCode("incident.gc-time.short", "info", duration_s=Seconds, least_s=Seconds)

#: The goals of the collectors are 1% (Parallel) and 8% (G1, `GCTimeRatio=12`).
START_SHARE, CRITICAL_SHARE = 0.15, 0.5
NOW_SHARE: Final = 0.5
LEAST_S: Final = 30.0
OCCUPIED_SHARE: Final = 0.9
#: One alone may have been requested, or may be the one that frees much.
FEWEST_FULL: Final = 2
#: Of a GC log: its busiest time of this length, and the share of that.
WINDOW_NS: Final = 60 * 10**9
WINDOW_SHARE: Final = 0.25
#: A shorter log has the start of the program alone.
LEAST_LOG_NS: Final = 10 * 10**9
#: Of the time in pauses: the remedy is to request fewer.
_MOSTLY: Final = 0.5
#: Begins of the names of collectors -> the remedy of each.
_REMEDIES: Final = {
    "Serial": "generational", "Parallel": "generational", "Concurrent Mark Sweep": "generational",
    "CMS": "generational", "G1": "g1", "Z": "concurrent", "Shenandoah": "concurrent",
}  # fmt: skip


class GcTime(Incident[JvmCounters | Collections]):
    name = "gc-time"
    needs = JvmCounters
    also = (Collections,)
    stalls = True
    source = "HotSpot Virtual Machine Garbage Collection Tuning Guide: GCTimeRatio"
    signs = SIGNS(
        start_share=START_SHARE, least_s=LEAST_S, now_share=NOW_SHARE, critical_share=CRITICAL_SHARE,
        occupied_share=OCCUPIED_SHARE, full=FEWEST_FULL, window_s=WINDOW_NS / 1e9, window_share=WINDOW_SHARE,
    )  # fmt: skip
    remedies = (*dict.fromkeys(_REMEDIES.values()), "requested")

    def examine(self, evidence: JvmCounters | Collections) -> Iterator[Judgement]:
        if isinstance(evidence, Collections):
            yield self._judged(evidence)
        else:
            yield from self._counted(evidence)

    def _judged(self, evidence: Collections) -> Judgement:
        """The share of the pauses in the time of a log, and in its busiest minute."""
        duration_ns = evidence.duration_ns
        if duration_ns < LEAST_LOG_NS:
            return self.unseen(_SHORT(duration_s=duration_ns / 1e9, least_s=LEAST_LOG_NS / 1e9))
        log = evidence.log
        total_share = min(1.0, log.totals.stopped_ns / duration_ns)
        busiest = _busiest(log.pauses, evidence.begin_ns, evidence.end_ns)
        is_lasting = duration_ns >= LEAST_S * 1e9
        is_much = is_lasting and total_share >= START_SHARE
        if not is_much and busiest.share < WINDOW_SHARE:
            return self.healthy(
                _LOG_HEALTHY(
                    total_share=total_share, window_share=busiest.share, window_s=busiest.length_ns / 1e9
                )
            )
        pauses = [pause for pause in log.pauses if busiest.begin_ns < pause.end_ns <= busiest.end_ns]
        longest = sorted(pauses, key=lambda pause: -pause.duration_ns)[:MOST_QUOTES]
        summary = _LOG(
            total_share=total_share,
            duration_s=duration_ns / 1e9,
            window_share=busiest.share,
            window_s=busiest.length_ns / 1e9,
            full=sum(pause.kind == "full" for pause in pauses),
        )
        return self.diagnosis(
            "critical" if busiest.share >= CRITICAL_SHARE else "warning",
            "high" if is_lasting else "medium",
            summary,
            (busiest.begin_ns, busiest.end_ns),
            evidence.quotes_of(sorted(longest, key=lambda pause: pause.end_ns)),
            _remedy(evidence),
        )

    def _counted(self, evidence: JvmCounters) -> Iterator[Judgement]:
        full = evidence.full_now or 0
        if full >= FEWEST_FULL and evidence.occupied_share >= OCCUPIED_SHARE:
            summary = _FULL(
                count=full,
                interval_s=evidence.interval_s,
                occupied_share=evidence.occupied_share,
            )
            yield self.diagnosis("critical", "high", summary)
            return
        is_lasting = evidence.running_s >= LEAST_S and evidence.start_share >= START_SHARE
        if is_lasting or evidence.now_share >= NOW_SHARE:
            level: Level = "warning"
            if not evidence.collecting_now_s:
                # past: the process may have started with much work, and serves well since
                level = "note"
            elif is_lasting and evidence.start_share >= CRITICAL_SHARE:
                level = "critical"
            summary = _SEEN(
                start_share=evidence.start_share,
                running_s=evidence.running_s,
                now_share=evidence.now_share,
                interval_s=evidence.interval_s,
                occupied_share=evidence.occupied_share,
            )
            yield self.diagnosis(level, "high" if is_lasting else "medium", summary)
            return
        yield self.healthy(
            _HEALTHY(
                start_share=evidence.start_share,
                now_share=evidence.now_share,
                interval_s=evidence.interval_s,
                used_bytes=evidence.old_used_bytes,
                limit_bytes=evidence.old_limit_bytes or 0,
            )
        )


@dataclass(frozen=True)
class _Busiest:
    """The part of a log with the most time in pauses, and their share of it."""

    begin_ns: int
    end_ns: int
    share: float

    @property
    def length_ns(self) -> int:
        return self.end_ns - self.begin_ns


def _busiest(pauses: Sequence[Pause], begin_ns: int, end_ns: int) -> _Busiest:
    """The busiest minute of a log, of a shorter one all of it."""
    window_ns = min(WINDOW_NS, end_ns - begin_ns)
    spans = _merged(pauses)
    ends_ns = [span_end_ns for _, span_end_ns in spans]
    sums_ns = [0, *accumulate(span_end_ns - start_ns for start_ns, span_end_ns in spans)]

    def stopped_before(instant_ns: int) -> int:
        index = bisect_left(ends_ns, instant_ns)
        partial_ns = max(0, instant_ns - spans[index][0]) if index < len(spans) else 0
        return sums_ns[index] + partial_ns

    begins_ns = {max(begin_ns, min(start_ns, end_ns - window_ns)) for start_ns, _ in spans} or {begin_ns}
    stopped_ns, first_ns = max(
        (stopped_before(first_ns + window_ns) - stopped_before(first_ns), -first_ns) for first_ns in begins_ns
    )
    return _Busiest(-first_ns, window_ns - first_ns, stopped_ns / window_ns)


def _merged(pauses: Sequence[Pause]) -> list[tuple[int, int]]:
    """Begins and ends of the time in pauses: one may enclose another."""
    spans: list[tuple[int, int]] = []
    for start_ns, end_ns in sorted((pause.start_ns, pause.end_ns) for pause in pauses):
        if spans and start_ns <= spans[-1][1]:
            spans[-1] = spans[-1][0], max(spans[-1][1], end_ns)
        else:
            spans.append((start_ns, end_ns))
    return spans


def _remedy(evidence: Collections) -> str:
    """The remedy for a log; empty for an unknown collector."""
    log = evidence.log
    _, requested_ns = evidence.requested
    if requested_ns > _MOSTLY * log.totals.all.total_ns:
        return "requested"
    return next((remedy for name, remedy in _REMEDIES.items() if log.collector.startswith(name)), "")


PART = GcTime
