"""Collections that take ever longer while they are as many as before: more lives through each of them, or
the machine takes memory or processors away.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from typing import Final

from loadcell.incidents.base import Incident, Judgement
from loadcell.incidents.evidence.base import MOST_QUOTES
from loadcell.incidents.evidence.collections import Collections
from loadcell.model.gc_pauses import Pause
from loadcell.model.message import Count, Factor, MessageCode, Milliseconds, Share
from loadcell.stats.trend import trend

SIGNS = MessageCode(
    "incident.slower-collections.signs", "info",
    growth_times=Factor, more_share=Share, time_share=Share, fewest=Count,
)  # fmt: skip
_SEEN = MessageCode(
    "incident.slower-collections.seen", "info",
    first_ms=Milliseconds, last_ms=Milliseconds, growth_times=Factor, first=Count, last=Count,
)  # fmt: skip
_HEALTHY = MessageCode(
    "incident.slower-collections.healthy", "info", first_ms=Milliseconds, last_ms=Milliseconds
)
_FEW = MessageCode("incident.slower-collections.few", "info", count=Count, fewest=Count)

#: Young collections; of fewer a trend means nothing.
FEWEST: Final = 30
#: Of the median pause in the last third of the time, to that in the first one.
LEAST_GROWTH: Final = 2.0
#: More collections in the last third than that are another load.
MOST_MORE: Final = 0.2
#: Of the time in the last third: less is not noticed.
LEAST_TIME: Final = 0.01
#: Of the trend, by chance.
LEVEL: Final = 0.001


class SlowerCollections(Incident[Collections]):
    name = "slower-collections"
    needs = Collections
    source = "H. B. Mann: Nonparametric tests against trend, 1945; M. G. Kendall, 1975"
    signs = SIGNS(growth_times=LEAST_GROWTH, more_share=MOST_MORE, time_share=LEAST_TIME, fewest=FEWEST)

    def examine(self, evidence: Collections) -> Iterator[Judgement]:
        pauses = [pause for pause in evidence.log.pauses if pause.kind in ("young", "mixed")]
        if len(pauses) < FEWEST:
            yield self.unseen(_FEW(count=len(pauses), fewest=FEWEST))
            return
        begin_ns, end_ns = pauses[0].end_ns, pauses[-1].end_ns
        third_ns = (end_ns - begin_ns) / 3
        first = [pause for pause in pauses if pause.end_ns <= begin_ns + third_ns]
        last = [pause for pause in pauses if pause.end_ns >= end_ns - third_ns]
        first_ms, last_ms = (
            statistics.median(pause.duration_ns for pause in part) / 1e6 for part in (first, last)
        )
        share = sum(pause.duration_ns for pause in last) / third_ns if third_ns else 0.0
        is_slower = (
            last_ms >= LEAST_GROWTH * first_ms
            and len(last) <= (1 + MOST_MORE) * len(first)
            and share >= LEAST_TIME
            and trend([pause.duration_ns for pause in pauses]).rises(LEVEL)
        )
        if not is_slower:
            yield self.healthy(_HEALTHY(first_ms=first_ms, last_ms=last_ms))
            return
        summary = _SEEN(
            first_ms=first_ms,
            last_ms=last_ms,
            growth_times=last_ms / first_ms,
            first=len(first),
            last=len(last),
        )
        quotes = evidence.quotes_of([*_typical(first, first_ms), *_typical(last, last_ms)])
        yield self.diagnosis("warning", "medium", summary, (begin_ns, end_ns), quotes)


def _typical(pauses: Sequence[Pause], median_ms: float) -> list[Pause]:
    """Pauses of about the median duration, in the order of time."""
    nearest = sorted(pauses, key=lambda pause: abs(pause.duration_ns / 1e6 - median_ms))
    return sorted(nearest[: MOST_QUOTES // 2], key=lambda pause: pause.end_ns)


PART = SlowerCollections
