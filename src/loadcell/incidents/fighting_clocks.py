"""Two services that set one clock by servers that disagree: it steps forth and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.incidents.base import Incident, Judgement
from loadcell.incidents.evidence.clocks import STEP_S, Clocks, ClockStep
from loadcell.model.message import Count, MessageCode, Seconds, Share

SIGNS = MessageCode(
    "incident.fighting-clocks.signs", "info", step_s=Seconds, size_share=Share, window_s=Seconds
)
_SEEN = MessageCode(
    "incident.fighting-clocks.seen",
    "info",
    count=Count,
    duration_s=Seconds,
    forth_s=Seconds,
    back_s=Seconds,
    services=list,
)
_HEALTHY = MessageCode(
    "incident.fighting-clocks.healthy", "info", count=Count, step_s=Seconds, watched_s=Seconds
)

WINDOW_NS: Final = 600 * 10**9
#: Largest difference of two sizes, of the larger one.
SIZE_SHARE: Final = 0.2


class FightingClocks(Incident[Clocks]):
    name = "fighting-clocks"
    needs = Clocks
    source = "RFC 5905: a client steps its clock above an offset of 128 ms and slews it by 0.5 ms/s below"
    signs = SIGNS(step_s=STEP_S, size_share=SIZE_SHARE, window_s=WINDOW_NS / 1e9)

    def examine(self, evidence: Clocks) -> Iterator[Judgement]:
        steps = fighting(evidence.steps)
        if not steps:
            yield self.healthy(
                _HEALTHY(count=len(evidence.steps), step_s=STEP_S, watched_s=evidence.watched_s)
            )
            return
        span_ns = steps[0].instant_ns, steps[-1].instant_ns
        summary = _SEEN(
            count=len(steps),
            duration_s=(span_ns[1] - span_ns[0]) / 1e9,
            forth_s=max(step.size_s for step in steps),
            back_s=-min(step.size_s for step in steps),
            services=[*evidence.services, *evidence.guest_tools] or ["–"],
        )
        quotes = [step.quote for step in steps if step.quote is not None]
        yield self.diagnosis("critical", "high", summary, span_ns, quotes)


def fighting(steps: tuple[ClockStep, ...]) -> list[ClockStep]:
    """Steps that another one in the other direction takes back."""
    involved = {
        id(step)
        for step in steps
        for other in steps
        if step.size_s * other.size_s < 0
        and abs(step.instant_ns - other.instant_ns) <= WINDOW_NS
        and abs(abs(step.size_s) - abs(other.size_s)) <= SIZE_SHARE * max(abs(step.size_s), abs(other.size_s))
    }
    return [step for step in steps if id(step) in involved]


PART = FightingClocks
