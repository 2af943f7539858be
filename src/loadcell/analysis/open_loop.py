"""Open loops: offered and completed load, lateness of the client, and where the time of requests went."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loadcell.analysis.finding import Concern, Evidence, Finding, FindingCode, Subject
from loadcell.design.search.model import SUSTAINED_SHARE
from loadcell.model.latency import MOST_LATE
from loadcell.model.message import Count, Microseconds, Milliseconds, Rate
from loadcell.model.trial_record import Schedule
from loadcell.stats.repeats import Repeats, summarise

if TYPE_CHECKING:
    from loadcell.analysis.treatments import Treatment


@dataclass(frozen=True)
class OpenLoop:
    """Rates are per second; distributions have the keys of `QUANTILES` in ms, and are None when nothing was
    counted.

    `pacing` is how late the client sent what found a free connection when it was due. `requests_mean` is how
    many requests were due and not answered, on average.
    """

    arrivals: str
    offered_per_s: float | None = None
    achieved_per_s: float | None = None
    pacing: Mapping[str, float] | None = None
    backlog_peak: int = 0
    requests_mean: float | None = None

    @property
    def achieved_share(self) -> float | None:
        """Achieved of offered; None if either is unknown."""
        if not self.offered_per_s or self.achieved_per_s is None:
            return None
        return self.achieved_per_s / self.offered_per_s

    @property
    def sustained(self) -> bool:
        """True if (nearly) all that was due was achieved."""
        return self.achieved_share is not None and self.achieved_share >= SUSTAINED_SHARE


def from_schedule(schedule: Schedule | None) -> OpenLoop | None:
    """Open loop of a trial; None for a closed one."""
    if schedule is None:
        return None
    return OpenLoop(
        arrivals=schedule.arrivals,
        offered_per_s=schedule.offered_per_s,
        achieved_per_s=schedule.achieved_per_s,
        pacing=schedule.pacing_error.values() if schedule.pacing_error else None,
        backlog_peak=schedule.backlog.peak,
        requests_mean=schedule.requests_mean,
    )


#: Response time above service time by less than this factor is not worth a sentence.
NOTABLE_WAIT = 1.2

SUSTAINED = FindingCode("found.kept-up", Subject.OPEN_LOOP, "good", (Concern.ANSWER, 90), offered_per_s=Rate)
SUSTAINED_HIGHEST = FindingCode(
    "found.kept-up.highest", Subject.OPEN_LOOP, "good", (Concern.ANSWER, 90), offered_per_s=Rate,
    treatment=str,
)  # fmt: skip
#: At a higher rate some trials kept up, and others did not.
SUSTAINED_MIXED = FindingCode(
    "found.kept-up.mixed", Subject.OPEN_LOOP, "caution", (Concern.ANSWER, 90), count=Count, higher=str,
    of=Count, offered_per_s=Rate, treatment=str,
)  # fmt: skip
OVERLOADED = FindingCode(
    "found.overloaded", Subject.OPEN_LOOP, "problem", (Concern.ANSWER, 100), achieved_per_s=Rate,
    count=Count, of=Count, offered_per_s=Rate, treatment=str,
)  # fmt: skip
BEHIND = FindingCode(
    "found.behind", Subject.OPEN_LOOP, "caution", (Concern.ANSWER, 110), achieved_per_s=Rate,
    offered_per_s=Rate, treatment=str,
)  # fmt: skip
BEHIND_OTHERS = FindingCode(
    "found.behind.others", Subject.OPEN_LOOP, "problem", (Concern.ANSWER, 120), count=Count
)
WAITING = FindingCode(
    "found.waiting",
    Subject.OPEN_LOOP,
    "info",
    (Concern.COST, 0),
    p99_ms=Milliseconds,
    service_p99_ms=Milliseconds,
    treatment=str,
).marked(evidence=Evidence.WAITING)
WAITING_LATE = FindingCode(
    "found.waiting.late", Subject.OPEN_LOOP, "caution", (Concern.TRUST, 15), late_p99_ms=Milliseconds,
    p99_ms=Milliseconds, service_p99_ms=Milliseconds, treatment=str,
).marked(evidence=Evidence.WAITING)  # fmt: skip
#: The same of a plan without factors, whose treatment has no levels to name it by.
WAITING_ONLY = FindingCode(
    "found.waiting.only", Subject.OPEN_LOOP, "info", (Concern.COST, 0), p99_ms=Milliseconds,
    service_p99_ms=Milliseconds,
).marked(evidence=Evidence.WAITING)  # fmt: skip
WAITING_LATE_ONLY = FindingCode(
    "found.waiting.late.only", Subject.OPEN_LOOP, "caution", (Concern.TRUST, 15), late_p99_ms=Milliseconds,
    p99_ms=Milliseconds, service_p99_ms=Milliseconds,
).marked(evidence=Evidence.WAITING)  # fmt: skip
PACING = FindingCode(
    "found.pacing", Subject.OPEN_LOOP, "info", (Concern.COST, 20), p50_us=Microseconds, p99_us=Microseconds
)


@dataclass(frozen=True, eq=False)
class OpenLoopResult:
    """Result of a treatment's schedule over the succeeded trials; if none succeeded, over those overloaded.

    `service` and `pacing` are in ms by the keys of `treatments.LATENCIES`; service times only of trials that
    succeeded.
    """

    treatment: Treatment
    arrivals: str
    offered: Repeats
    achieved: Repeats
    service: Mapping[str, Repeats]
    pacing: Mapping[str, Repeats]
    backlog: Repeats
    overloaded: int

    @property
    def sustained_trials(self) -> int:
        """Number of succeeded trials in which (nearly) all that was due was achieved."""
        loops = [trial.open_loop for trial in self.treatment.trials if trial.counts]
        return sum(loop.sustained for loop in loops if loop is not None)

    @property
    def share(self) -> float | None:
        """Achieved of offered."""
        if not self.offered.median or self.achieved.median is None:
            return None
        return self.achieved.median / self.offered.median

    @property
    def sustained(self) -> bool:
        """True if (nearly) all that was due was achieved, in every trial."""
        return not self.overloaded and self.share is not None and self.share >= SUSTAINED_SHARE


_SHOWN = ("p50_ms", "p99_ms")


def open_loop_result(treatment: Treatment) -> OpenLoopResult | None:
    """None when no trial was an open loop."""
    loops = [trial for trial in treatment.trials if trial.open_loop is not None]
    if not loops:
        return None
    well = [trial for trial in loops if trial.counts]
    overloaded = [trial for trial in loops if trial.overloaded]
    open_loops = [trial.open_loop for trial in (well or overloaded) if trial.open_loop is not None]
    return OpenLoopResult(
        treatment=treatment,
        arrivals=loops[0].open_loop.arrivals if loops[0].open_loop else "",
        offered=summarise([loop.offered_per_s for loop in open_loops]),
        achieved=summarise([loop.achieved_per_s for loop in open_loops]),
        service={key: summarise([(trial.service or {}).get(key) for trial in well]) for key in _SHOWN},
        pacing={key: summarise([(loop.pacing or {}).get(key) for loop in open_loops]) for key in _SHOWN},
        backlog=summarise([float(loop.backlog_peak) for loop in open_loops]),
        overloaded=len(overloaded),
    )


def fell_behind(treatment: Treatment) -> bool:
    """True if more fell due than was answered: how long its requests took is then a matter of how long the
    trials lasted.
    """
    loop = open_loop_result(treatment)
    return loop is not None and loop.share is not None and not loop.sustained


def all_results(treatments: Sequence[Treatment]) -> tuple[OpenLoopResult, ...]:
    """Results of every treatment with an open loop, in the plan's order."""
    return tuple(loop for treatment in treatments if (loop := open_loop_result(treatment)) is not None)


def findings(treatments: Sequence[Treatment]) -> Iterator[Finding]:
    """Completed against offered load, waiting, and punctuality of the client; nothing for closed loops."""
    loops = all_results(treatments)
    good = [loop for loop in loops if loop.sustained]
    behind = [loop for loop in loops if not loop.sustained and loop.share is not None]
    if good:
        top = max(good, key=_offered)
        above = [loop for loop in behind if loop.sustained_trials and _offered(loop) > _offered(top)]
        higher = max(above, key=_offered, default=None)
        code = SUSTAINED_MIXED if higher else SUSTAINED if len(loops) == 1 else SUSTAINED_HIGHEST
        yield code.finding(
            (top.treatment.id, *((higher.treatment.id,) if higher else ())),
            treatment=top.treatment.label,
            offered_per_s=_offered(top),
            higher=higher.treatment.label if higher else "",
            count=higher.sustained_trials if higher else 0,
            of=len(higher.treatment.trials) if higher else 0,
        )
    yield from _behind(behind)
    yield from _waiting(loops)
    late = [loop for loop in loops if loop.pacing["p50_ms"].median is not None]
    if late:
        worst = max(late, key=lambda loop: loop.pacing["p50_ms"].median or 0.0)
        yield PACING.finding(
            (worst.treatment.id,),
            p50_us=(worst.pacing["p50_ms"].median or 0.0) * 1e3,
            p99_us=(worst.pacing["p99_ms"].median or 0.0) * 1e3,
        )


def _offered(loop: OpenLoopResult) -> float:
    return loop.offered.median or 0.0


def _behind(behind: Sequence[OpenLoopResult]) -> Iterator[Finding]:
    """The lowest rate at which the target fell behind, and how many others there are."""
    if not behind:
        return
    first = min(behind, key=lambda item: item.offered.median or 0.0)
    yield (OVERLOADED if first.overloaded else BEHIND).finding(
        (first.treatment.id,),
        treatment=first.treatment.label,
        offered_per_s=first.offered.median or 0.0,
        achieved_per_s=first.achieved.median or 0.0,
        count=first.overloaded,
        of=len(first.treatment.trials),
    )
    if others := tuple(item.treatment.id for item in behind if item is not first):
        yield BEHIND_OTHERS.finding(others, count=len(others))


def _waiting(loops: Sequence[OpenLoopResult]) -> Iterator[Finding]:
    """Where response time differs most from service time: what a closed loop would not have shown.

    Where the client itself was late, that difference is not (only) the target's.
    """
    waits = [
        (response / service, loop, response, service)
        for loop in loops
        if (response := loop.treatment.latency_ms("p99_ms")) and (service := loop.service["p99_ms"].median)
    ]
    if not waits:
        return
    factor, most, response, service = max(waits, key=lambda item: item[0])
    if factor >= NOTABLE_WAIT:
        late_ms = most.pacing["p99_ms"].median or 0.0
        late, waiting = (
            (WAITING_LATE, WAITING) if most.treatment.levels else (WAITING_LATE_ONLY, WAITING_ONLY)
        )
        yield (late if late_ms > MOST_LATE * response else waiting).finding(
            (most.treatment.id,),
            treatment=most.treatment.label,
            p99_ms=response,
            service_p99_ms=service,
            late_p99_ms=late_ms,
        )
