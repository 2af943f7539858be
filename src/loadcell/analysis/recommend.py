"""Which treatment had the highest throughput, and how surely; which to choose, what it buys and risks.

This speaks of the levels that were tried, and of nothing between or beyond them.

Throughput alone would choose the last level before the fall, where the tail of the response time is longest.
So among all treatments with nearly the highest throughput the one with the shortest tail is chosen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from loadcell.analysis import tukey
from loadcell.analysis.faults.repeats import FACTOR
from loadcell.analysis.finding import Concern, Finding, FindingCode, Statement, Subject
from loadcell.analysis.layout import Layout, asked
from loadcell.analysis.sweep import speed_of
from loadcell.analysis.treatments import Treatment
from loadcell.analysis.trials import Trial
from loadcell.analysis.tukey import TreatmentTest
from loadcell.model.message import Count, Factor, Message, MessageCode, Milliseconds, Rate, Severity, Share

#: A level with this share of the highest throughput is nearly as good; the last 5 % are often paid dearly in
#: latency.
NEARLY = 0.95


@dataclass(frozen=True)
class Best:
    """The treatment with the highest median throughput among those measured.

    `lowest` has the lowest median; `tied` are treatments that do not differ significantly from the best one
    (`tukey`). `factor` is the key of a numeric factor, the others fixed, and `last` the highest
    level tried; `at_edge` is true where the best treatment has that level.
    """

    treatment: Treatment
    lowest: Treatment
    tied: tuple[Treatment, ...]
    last: Treatment | None
    at_edge: bool
    factor: str | None


def _throughput(treatment: Treatment) -> float:
    return treatment.throughput.median or 0.0


def _alike(treatment: Treatment, other: Treatment, test: TreatmentTest) -> bool:
    """True if two treatments do not differ significantly in this run.

    Without repeats only equal values are alike.
    """
    differ = test.differ(treatment, other)
    return treatment.throughput.median == other.throughput.median if differ is None else not differ


def is_choice(treatments: Sequence[Treatment]) -> bool:
    """False if the treatments differ by their faults, of which none is the best: by a factor of that name, or
    by one that sets them among others.
    """
    return not any(FACTOR in {*treatment.levels, *treatment.values} for treatment in treatments)


def best_of(treatments: Sequence[Treatment], layout: Layout) -> Best | None:
    """The best of the measured treatments; None when none was measured."""
    measured = [treatment for treatment in treatments if treatment.measured]
    if not measured:
        return None
    best = max(measured, key=_throughput)
    speeds = tukey.of(measured, speed_of)
    line = _line_through(best, measured, layout)
    tried = _line_through(best, treatments, layout)
    return Best(
        treatment=best,
        lowest=min(measured, key=_throughput),
        tied=tuple(other for other in measured if other is not best and _alike(best, other, speeds)),
        last=line[-1] if line else None,
        at_edge=len(line) >= 3 and tried[-1] is best,
        factor=layout.x.key if layout.x is not None else None,
    )


def _line_through(best: Treatment, among: Sequence[Treatment], layout: Layout) -> list[Treatment]:
    """The treatments that differ from `best` in the numeric factor of `layout` alone, by rising level."""
    x = layout.x
    if x is None or not x.numeric:
        return []
    others = {key: level for key, level in best.levels.items() if key != x.key}
    line = [
        treatment
        for treatment in among
        if all(treatment.levels[key] == level for key, level in others.items())
    ]
    return sorted(line, key=lambda treatment: x.at[treatment.levels[x.key]])


#: How much is due: what arrives, and nothing that is chosen.
RATE = "load.rate"
#: Response-time percentiles to compare by: the first that all treatments have.
TAILS = ("p99_ms", "p95_ms", "mean_ms")


@dataclass(frozen=True, eq=False)
class Recommendation:
    """`choice`, besides `best` (highest throughput) and `lowest`; values are shares of throughput or ms.

    Benefits: `tail` names the response time of the comparison (None where trials lack it); `gain_times` is
    the ratio of the throughputs of `choice` and `lowest`.

    Risks: `lost_share` is the loss against the highest throughput. `alike` are the treatments whose
    throughput does not differ significantly from that of `choice`. `founded` is true if some treatment is
    significantly slower or has a significantly longer `tail`; otherwise `alike` are all others.
    `left_out` had a higher throughput than `best`, but trials or units that failed. `next_broke`
    is the next higher level, if trials failed there. `unsound` is true if trials of `choice` failed or had
    errors, `at_edge` if no higher level of a numeric factor was tried.
    """

    choice: Treatment
    best: Treatment
    lowest: Treatment
    tail: str | None
    gain_times: float
    lost_share: float
    alike: tuple[Treatment, ...]
    founded: bool
    next_broke: Treatment | None
    unsound: bool
    at_edge: bool
    left_out: Treatment | None = None

    def tail_ms(self, treatment: Treatment) -> float | None:
        """The response time that configurations were compared by."""
        return None if self.tail is None else treatment.latency_ms(self.tail)


def find(treatments: Sequence[Treatment], layout: Layout) -> Recommendation | None:
    """None with fewer than two treatments to choose from, where nothing got anything done, or where
    treatments differ in their faults or in the work that was asked for: which of these is the fastest is no
    choice of anybody's.
    """
    measured = [item for item in treatments if item.measured]
    if len(measured) < 2 or not any(_throughput(item) for item in measured) or not is_choice(measured):
        return None
    # The name of a factor of several settings does not tell what it sets.
    if any(asked(key) or key == RATE for item in measured for key in (*item.levels, *item.values)):
        return None
    sound = [item for item in measured if _sound(item)] or measured
    best = max(sound, key=_throughput)
    near = [item for item in sound if _throughput(item) >= NEARLY * _throughput(best)]
    tail = next((key for key in TAILS if all(item.latency_ms(key) is not None for item in near)), None)
    choice = best if tail is None else min(near, key=lambda item: (item.latency_ms(tail), -_throughput(item)))
    lowest, highest = min(measured, key=_throughput), max(measured, key=_throughput)
    above = _above(choice, treatments, layout)
    speeds = tukey.of(measured, speed_of)
    tails = None if tail is None else tukey.of(measured, partial(_positive, tail))
    # Where none is beaten, by what was chosen or by the fastest, all are alike to the fastest.
    founded = len(sound) < 2 or any(
        _beaten(item, rival, tail, speeds, tails) for rival in (choice, best) for item in sound
    )
    here = choice if founded else best
    return Recommendation(
        choice=choice,
        best=best,
        lowest=lowest,
        tail=tail,
        gain_times=_throughput(choice) / _throughput(lowest) if _throughput(lowest) else float("inf"),
        lost_share=1 - _throughput(choice) / _throughput(best),
        alike=tuple(item for item in sound if item is not here and _alike(item, here, speeds)),
        founded=founded,
        next_broke=above if above is not None and not _succeeded(above) else None,
        unsound=not _sound(choice),
        at_edge=layout.x is not None and layout.x.numeric and len(layout.x.levels) > 2 and above is None,
        left_out=highest if _throughput(highest) > _throughput(best) else None,
    )


def _beaten(
    other: Treatment, choice: Treatment, tail: str | None, speeds: TreatmentTest, tails: TreatmentTest | None
) -> bool:
    """True if repeats tell that the choice is faster, or its tail shorter."""
    if _throughput(other) < _throughput(choice) and not _alike(other, choice, speeds):
        return True
    if tail is None or tails is None:
        return False
    here, there = choice.latency_ms(tail), other.latency_ms(tail)
    if here is None or there is None or there <= here:
        return False
    return tails.differ(other, choice) is not False


def _positive(key: str, trial: Trial) -> float | None:
    """A counting trial's response time (ms, above 0)."""
    value = (trial.response or {}).get(key)
    return value if trial.counts and value is not None and math.isfinite(value) and value > 0 else None


def _succeeded(treatment: Treatment) -> bool:
    return set(treatment.statuses) <= {"ok", "not-run"}


def _sound(treatment: Treatment) -> bool:
    return _succeeded(treatment) and not treatment.failed


def _above(choice: Treatment, treatments: Sequence[Treatment], layout: Layout) -> Treatment | None:
    """The treatment one level higher in the numeric factor across, all else alike."""
    x = layout.x
    if x is None or not x.numeric:
        return None
    here = x.at[choice.levels[x.key]]
    line = [
        item
        for item in treatments
        if x.at[item.levels[x.key]] > here
        and all(item.levels[key] == level for key, level in choice.levels.items() if key != x.key)
    ]
    return min(line, key=lambda item: x.at[item.levels[x.key]], default=None)


MOST_NAMES = 4


def _code(ending: str, severity: Severity, /, **arguments: type) -> FindingCode:
    rank = (Concern.ANSWER, 180)
    return FindingCode(f"found.recommend{ending}", Subject.RECOMMENDATION, severity, rank, **arguments)


_CHOICE: dict[str, type] = {"throughput_per_s": Rate, "treatment": str}
_TAIL: dict[str, type] = {"tail": Message, "tail_ms": Milliseconds}
RECOMMEND = _code("", "good", **_CHOICE, **_TAIL).marked(implied_by=(Statement.HIGHEST,))
NO_LATENCY = _code(".no-latency", "good", **_CHOICE).marked(implied_by=(Statement.HIGHEST,))
TRADE = _code(
    ".trade", "good", best=str, best_tail_ms=Milliseconds, lost_share=Share, **_CHOICE, **_TAIL
).marked(states=Statement.TRADE_OFF)
NONE = _code(".none", "caution", count=Count, treatment=str).marked(states=Statement.NO_CHOICE)
#: The same where what had a higher throughput was left out.
NONE_SOUND = _code(".none.sound", "caution", count=Count, treatment=str).marked(states=Statement.NO_CHOICE)
LEFT_OUT_FAILED = _code(".left-out.failed", "caution", best=str, failed_count=Count, treatment=str)
LEFT_OUT_BROKE = _code(".left-out.broke", "caution", best=str, treatment=str)
BUYS = _code(".buys", "good", gain_times=Factor, lowest=str)
ALIKE = _code(".alike", "caution", count=Count, treatments=list)
ALIKE_MANY = _code(".alike.many", "caution", count=Count, treatments=list)
NEXT_BROKE = _code(".next-broke", "problem", treatment=str)
UNSOUND = _code(".unsound", "problem", treatment=str)
AT_EDGE = _code(".at-edge", "caution", treatment=str)
FEW = _code(".few", "caution", count=Count).marked(implied_by=(Statement.NO_REPEATS,))
#: What the tail of response times is called, by its key.
TAIL_NAMES = {key: MessageCode(f"tail.{key}") for key in TAILS}


def choice(recommendation: Recommendation) -> Finding:
    """The choice, or that none is supported: the one sentence of a summary."""
    chosen, best = recommendation.choice, recommendation.best
    if not recommendation.founded:
        evidence = (best.id, *(item.id for item in recommendation.alike))
        code = NONE if recommendation.left_out is None else NONE_SOUND
        return code.finding(evidence, treatment=best.label, count=len(recommendation.alike))
    arguments = {"treatment": chosen.label, "throughput_per_s": chosen.throughput.median or 0.0}
    here, there = recommendation.tail_ms(chosen), recommendation.tail_ms(best)
    if recommendation.tail is None or here is None or there is None:
        return NO_LATENCY.finding((chosen.id,), **arguments)
    return (RECOMMEND if chosen is best else TRADE).finding(
        (chosen.id,),
        **arguments,
        tail=TAIL_NAMES[recommendation.tail](),
        tail_ms=here,
        best=best.label,
        best_tail_ms=there,
        lost_share=recommendation.lost_share,
    )


def left_out(recommendation: Recommendation) -> Iterator[Finding]:
    """The treatment with the highest throughput, and why it was not considered; nothing if it was."""
    treatment = recommendation.left_out
    if treatment is None:
        return
    code = LEFT_OUT_FAILED if _succeeded(treatment) else LEFT_OUT_BROKE
    yield code.finding(
        (treatment.id,),
        treatment=treatment.label,
        failed_count=treatment.failed,
        best=recommendation.best.label,
    )


def buys(recommendation: Recommendation) -> Iterator[Finding]:
    """Gain over the lowest throughput measured; nothing if repeats do not show one."""
    lowest = recommendation.lowest
    if not recommendation.founded or lowest in (recommendation.choice, *recommendation.alike):
        return
    if recommendation.gain_times != float("inf"):
        yield BUYS.finding((lowest.id,), lowest=lowest.label, gain_times=recommendation.gain_times)


def risks(recommendation: Recommendation) -> Iterator[Finding]:
    """Reasons that the choice may be wrong; nothing if there are none."""
    if not recommendation.founded:
        return
    chosen, next_broke = recommendation.choice, recommendation.next_broke
    if recommendation.alike:
        names = tuple(item.label for item in recommendation.alike)
        yield (ALIKE if len(names) <= MOST_NAMES else ALIKE_MANY).finding(
            tuple(item.id for item in recommendation.alike), count=len(names), treatments=names[:MOST_NAMES]
        )
    if next_broke is not None:
        yield NEXT_BROKE.finding((next_broke.id,), treatment=next_broke.label)
    if recommendation.unsound:
        yield UNSOUND.finding((chosen.id,), treatment=chosen.label)
    if recommendation.at_edge:
        yield AT_EDGE.finding((chosen.id,), treatment=chosen.label)
    if chosen.throughput.descriptive_only:
        yield FEW.finding((chosen.id,), count=len(chosen.throughput.values))
