"""One pause that a client notices: longer than a second, or than the time-out of the clients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.incidents.base import Incident, Judgement, Level
from loadcell.incidents.evidence.collections import REQUESTED, Collections
from loadcell.model.message import Count, MessageCode, Seconds

SIGNS = MessageCode("incident.long-pause.signs", "info", limit_s=Seconds, critical_s=Seconds)
_SEEN = MessageCode(
    "incident.long-pause.seen", "info", longest_s=Seconds, name=str, count=Count, limit_s=Seconds
)
_TIMEOUT = MessageCode(
    "incident.long-pause.timeout", "info", longest_s=Seconds, name=str, count=Count, limit_s=Seconds
)
_REACHING = MessageCode("incident.long-pause.reaching", "info", longest_s=Seconds, limit_s=Seconds)
_OPERATION = MessageCode(
    "incident.long-pause.operation", "info", longest_s=Seconds, operation=str, limit_s=Seconds
)
_HEALTHY = MessageCode("incident.long-pause.healthy", "info", longest_s=Seconds, limit_s=Seconds)
_NO_SAFEPOINTS = MessageCode("incident.long-pause.no-safepoints", "info")

#: Where the time-out of the clients is not known: a second is noticed, five seconds end most requests.
LIMIT_NS: Final = 10**9
CRITICAL_NS: Final = 5 * 10**9
#: Words of operations that are collections: they have pauses of their own.
_COLLECTING: Final = ("collect", "gc", "mark", "relocate", "pause", "cms", "remark", "cleanup", "shenandoah")


class LongPause(Incident[Collections]):
    name = "long-pause"
    needs = Collections
    source = (
        "R. B. Miller: Response time in man-computer conversational transactions, 1968 (a second); "
        "timeouts of clients"
    )
    signs = SIGNS(limit_s=LIMIT_NS / 1e9, critical_s=CRITICAL_NS / 1e9)
    remedies = ("requested",)

    def examine(self, evidence: Collections) -> Iterator[Judgement]:
        log = evidence.log
        limit_ns = LIMIT_NS if evidence.timeout_ns is None else min(LIMIT_NS, evidence.timeout_ns)
        pauses = [pause for pause in log.pauses if pause.duration_ns > limit_ns]
        if pauses:
            longest = max(pauses, key=lambda pause: pause.duration_ns)
            is_requested = longest.cause in REQUESTED
            times_out = evidence.timeout_ns is not None and longest.duration_ns > evidence.timeout_ns
            summary = (_TIMEOUT if times_out else _SEEN)(
                longest_s=longest.duration_ns / 1e9,
                name=f"{longest.name}, {longest.cause}" if is_requested else longest.name,
                count=len(pauses),
                limit_s=(evidence.timeout_ns if times_out else limit_ns or 0) / 1e9,  # type: ignore[operator]
            )
            slowest = sorted(pauses, key=lambda pause: -pause.duration_ns)
            quotes = evidence.quotes_of(slowest)
            level: Level = "critical" if times_out or longest.duration_ns >= CRITICAL_NS else "warning"
            span, remedy = (longest.start_ns, longest.end_ns), "requested" if is_requested else ""
            yield self.diagnosis(level, "high", summary, span, quotes, remedy)
        yield from self._safepoints(evidence, limit_ns)
        if not pauses:
            yield self.healthy(_HEALTHY(longest_s=log.totals.all.longest_ns / 1e9, limit_s=limit_ns / 1e9))

    def _safepoints(self, evidence: Collections, limit_ns: int) -> Iterator[Judgement]:
        """Stops that are no collections, and threads that are late for them."""
        around = evidence.log.around
        if not around.safepoints:
            yield self.unseen(_NO_SAFEPOINTS())
            return
        reaching = around.reaching
        reported_line = reaching.longest_line if reaching.longest_ns > limit_ns else 0
        if reaching.longest_ns > limit_ns:
            summary = _REACHING(longest_s=reaching.longest_ns / 1e9, limit_s=limit_ns / 1e9)
            yield self.diagnosis("warning", "high", summary, None, evidence.quotes([reaching.longest_line]))
        for operation, durations in around.safepoints.items():
            is_collection = not operation or any(word in operation.lower() for word in _COLLECTING)
            if (
                durations.longest_ns > limit_ns
                and not is_collection
                and durations.longest_line != reported_line
            ):
                summary = _OPERATION(
                    longest_s=durations.longest_ns / 1e9, operation=operation, limit_s=limit_ns / 1e9
                )
                yield self.diagnosis(
                    "warning", "high", summary, None, evidence.quotes([durations.longest_line])
                )


PART = LongPause
