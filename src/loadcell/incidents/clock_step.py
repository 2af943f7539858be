"""A step of the wall clock that no other one takes back."""

from __future__ import annotations

from collections.abc import Iterator

from loadcell.incidents.base import Incident, Judgement
from loadcell.incidents.evidence.clocks import STEP_S, Clocks
from loadcell.incidents.fighting_clocks import fighting
from loadcell.model.message import Count, Message, MessageCode, Milliseconds, Seconds

SIGNS = MessageCode("incident.clock-step.signs", "info", step_s=Seconds)
_SEEN = MessageCode("incident.clock-step.seen", "info", count=Count, size_s=Seconds, direction=Message)
_FORTH = MessageCode("incident.clock-step.direction.forth", "info")
_BACK = MessageCode("incident.clock-step.direction.back", "info")
_HEALTHY = MessageCode("incident.clock-step.healthy", "info", size_ms=Milliseconds, watched_s=Seconds)


class StepOfClock(Incident[Clocks]):
    name = "clock-step"
    needs = Clocks
    source = "adjtime(3): slewing changes a clock by at most 0.5 ms a second"
    signs = SIGNS(step_s=STEP_S)

    def examine(self, evidence: Clocks) -> Iterator[Judgement]:
        paired = fighting(evidence.steps)
        steps = [step for step in evidence.steps if step not in paired]
        if not steps:
            if not paired:
                yield self.healthy(
                    _HEALTHY(size_ms=evidence.largest_change_s * 1e3, watched_s=evidence.watched_s)
                )
            return
        largest = max(steps, key=lambda step: abs(step.size_s))
        direction = _FORTH() if largest.size_s > 0 else _BACK()
        summary = _SEEN(count=len(steps), size_s=abs(largest.size_s), direction=direction)
        quotes = [step.quote for step in steps if step.quote is not None]
        yield self.diagnosis("warning", "high", summary, (steps[0].instant_ns, steps[-1].instant_ns), quotes)


PART = StepOfClock
