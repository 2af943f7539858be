"""Time stamps of a log that go back: the clock was set, or two services set it in turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.incidents.base import Confidence, Incident, Judgement
from loadcell.incidents.evidence.application_log import ApplicationLog
from loadcell.incidents.evidence.log_clocks import ClockStep
from loadcell.ingest.log_steps import LIKE, PAIR_NS, STEP_NS
from loadcell.model.message import Count, MessageCode, Seconds, Share

SIGNS = MessageCode(
    "incident.log-clock-steps.signs", "info", least_s=Seconds, like_share=Share, window_s=Seconds
)
_FIGHT = MessageCode(
    "incident.log-clock-steps.fight", "info",
    forth_s=Seconds, least_forth_s=Seconds, most_forth_s=Seconds,
    back_s=Seconds, least_back_s=Seconds, most_back_s=Seconds,
    apart_s=Seconds, count=Count, threads=Count, services=Count,
)  # fmt: skip
_BACK = MessageCode(
    "incident.log-clock-steps.back", "info",
    count=Count, back_s=Seconds, least_back_s=Seconds, most_back_s=Seconds, threads=Count, services=Count,
)  # fmt: skip
_HEALTHY = MessageCode("incident.log-clock-steps.healthy", "info", entries=Count)
_LATE = MessageCode("incident.log-clock-steps.late", "info", entries=Count, late=Count, longest_s=Seconds)
_UNORDERED = MessageCode("incident.log-clock-steps.unordered", "info", service=str, late=Count)

#: Threads or services that show a step: one alone could have written its lines late.
_CERTAIN: Final = 2


class LogClockSteps(Incident[ApplicationLog]):
    name = "log-clock-steps"
    needs = ApplicationLog
    source = (
        "ntpd(8): steps from 128 ms on, slews less; chrony.conf(5): makestep; "
        "a pair of steps of +7.3 s and -7.2 s by ntpdate and chronyd, as measured"
    )
    signs = SIGNS(least_s=STEP_NS / 1e9, like_share=LIKE, window_s=PAIR_NS / 1e9)

    def examine(self, evidence: ApplicationLog) -> Iterator[Judgement]:
        steps = evidence.clock_steps
        returned = [step for step in steps if step.is_returned]
        if returned:
            yield self._fight(evidence, returned)
        elif steps:
            yield self._back(evidence, steps)
        for service in evidence.logs.services:
            if service.is_unordered:
                yield self.unseen(_UNORDERED(service=service.name, late=service.late_lines))
        ordered = [service for service in evidence.logs.services if not service.is_unordered]
        if not steps and ordered:
            late = sum(service.late_lines for service in ordered)
            longest_s = max(service.furthest_late_ns for service in ordered) / 1e9
            entries = sum(service.entries for service in ordered)
            code = _LATE if late else _HEALTHY
            yield self.healthy(code.pick(entries=entries, late=late, longest_s=longest_s))

    def _fight(self, evidence: ApplicationLog, steps: list[ClockStep]) -> Judgement:
        """Steps of opposite sign and of one size: two sources set one clock."""
        clearest = max(steps, key=lambda step: (len(step.services), step.threads))
        leap = clearest.leaps[0]
        apart_ns = min(
            abs(clearest.leap.before_ns - leap.after_ns), abs(leap.before_ns - clearest.leap.after_ns)
        )
        least_forth_s, most_forth_s = (size_ns / 1e9 for size_ns in leap.range_ns)
        least_back_s, most_back_s = (size_ns / 1e9 for size_ns in clearest.leap.range_ns)
        summary = _FIGHT(
            forth_s=leap.size_ns / 1e9,
            least_forth_s=least_forth_s,
            most_forth_s=most_forth_s,
            back_s=clearest.size_ns / 1e9,
            least_back_s=least_back_s,
            most_back_s=most_back_s,
            apart_s=apart_ns / 1e9,
            count=len(steps),
            threads=clearest.threads,
            services=len(clearest.services),
        )
        first, last = steps[0].span_ns[0], steps[-1].span_ns[1]
        return self.diagnosis(
            "critical", _confidence(clearest), summary, (first, last), evidence.quotes(clearest.lines)
        )

    def _back(self, evidence: ApplicationLog, steps: tuple[ClockStep, ...]) -> Judgement:
        largest = max(steps, key=lambda step: step.size_ns)
        least_back_s, most_back_s = (size_ns / 1e9 for size_ns in largest.leap.range_ns)
        summary = _BACK(
            count=len(steps),
            back_s=largest.size_ns / 1e9,
            least_back_s=least_back_s,
            most_back_s=most_back_s,
            threads=largest.threads,
            services=len(largest.services),
        )
        span = steps[0].span_ns[0], steps[-1].span_ns[1]
        quotes = evidence.quotes(largest.lines)
        return self.diagnosis("warning", _confidence(largest), summary, span, quotes)


def _confidence(step: ClockStep) -> Confidence:
    return "high" if step.threads >= _CERTAIN or len(step.services) >= _CERTAIN else "medium"


PART = LogClockSteps
