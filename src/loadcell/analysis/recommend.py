"""Which configuration to choose of those measured, what it buys, and what it risks.

Throughput alone would choose the last level before the fall, where the tail of the response time is longest.
So among all treatments with nearly the highest throughput the one with the shortest tail is chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from loadcell.analysis.best import NEARLY, alike, alike_in_throughput
from loadcell.analysis.finding import Concern, Finding, FindingCode, Statement, Subject
from loadcell.analysis.layout import Layout, asked
from loadcell.analysis.treatments import Treatment
from loadcell.model.message import Count, Factor, Message, MessageCode, Milliseconds, Rate, Severity, Share

#: How much is due: what arrives, and nothing that is chosen.
RATE = "load.rate"
#: Response-time percentiles to compare by: the first that all treatments have.
TAILS = ("p99_ms", "p95_ms", "mean_ms")


@dataclass(frozen=True, eq=False)
class Recommendation:
    """`choice`, besides `best` (highest throughput) and `lowest`; values are shares of throughput or ms.

    Bought: `tail` names the response time compared by (None where trials lack it); `gain_times` is the
    throughput of
    `choice` over that of `lowest`. Risked: `lost_share` of the highest throughput; `alike` are treatments
    that repeats do not tell apart from it in throughput, and `founded` says that some treatment is slower, or
    has a longer `tail`, for certain: else `alike` are all others, and any of them would do as well;
    `next_broke` is the level above it where trials did not end well, and
    `unsound` says that its own did not all, or had errors; `at_edge` that no higher level of a numeric factor
    was tried.
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

    def tail_ms(self, treatment: Treatment) -> float | None:
        """The response time that configurations were compared by."""
        return None if self.tail is None else treatment.latency_ms(self.tail)


def find(treatments: Sequence[Treatment], layout: Layout) -> Recommendation | None:
    """None with fewer than two treatments to choose from, where nothing got anything done, or where
    treatments differ in the
    work that was asked for: which of these is the fastest is no choice of anybody's."""
    measured = [item for item in treatments if item.measured]
    if len(measured) < 2 or not any(_speed(item) for item in measured):
        return None
    # The name of a factor of several settings does not tell what it sets.
    if any(asked(key) or key == RATE for item in measured for key in (*item.levels, *item.values)):
        return None
    sound = [item for item in measured if _sound(item)] or measured
    best = max(sound, key=_speed)
    near = [item for item in sound if _speed(item) >= NEARLY * _speed(best)]
    tail = next((key for key in TAILS if all(item.latency_ms(key) is not None for item in near)), None)
    choice = best if tail is None else min(near, key=lambda item: (item.latency_ms(tail), -_speed(item)))
    lowest = min(measured, key=_speed)
    above = _above(choice, treatments, layout)
    # Where none is beaten, by what was chosen or by the fastest, all are alike to the fastest.
    founded = len(sound) < 2 or any(_beaten(item, rival, tail) for rival in (choice, best) for item in sound)
    here = choice if founded else best
    return Recommendation(
        choice=choice,
        best=best,
        lowest=lowest,
        tail=tail,
        gain_times=_speed(choice) / _speed(lowest) if _speed(lowest) else float("inf"),
        lost_share=1 - _speed(choice) / _speed(best),
        alike=tuple(item for item in sound if item is not here and alike_in_throughput(item, here)),
        founded=founded,
        next_broke=above if above is not None and not _ended_well(above) else None,
        unsound=not _sound(choice),
        at_edge=layout.x is not None and layout.x.numeric and len(layout.x.levels) > 2 and above is None,
    )


def _beaten(other: Treatment, choice: Treatment, tail: str | None) -> bool:
    """True if repeats tell that the choice is faster, or its tail shorter."""
    if _speed(other) < _speed(choice) and not alike_in_throughput(other, choice):
        return True
    here, there = (None if tail is None else item.latency_ms(tail) for item in (choice, other))
    if tail is None or here is None or there is None or there <= here:
        return False
    key = tail
    return not alike(
        other, choice, lambda item: item.latency[key], lambda trial: (trial.response or {}).get(key)
    )


def _speed(treatment: Treatment) -> float:
    return treatment.throughput.median or 0.0


def _ended_well(treatment: Treatment) -> bool:
    return set(treatment.statuses) <= {"ok", "not-run"}


def _sound(treatment: Treatment) -> bool:
    return _ended_well(treatment) and not treatment.failed


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
BUYS = _code(".buys", "good", gain_times=Factor, lowest=str)
ALIKE = _code(".alike", "caution", count=Count, treatments=list)
ALIKE_MANY = _code(".alike.many", "caution", count=Count, treatments=list)
NEXT_BROKE = _code(".next-broke", "problem", treatment=str)
UNSOUND = _code(".unsound", "problem", treatment=str)
AT_EDGE = _code(".at-edge", "caution", treatment=str)
FEW = _code(".few", "caution", count=Count)
#: What the tail of response times is called, by its key.
TAIL_NAMES = {key: MessageCode(f"tail.{key}") for key in TAILS}


def choice(recommendation: Recommendation) -> Finding:
    """The choice, or that none is supported: the one sentence of a summary."""
    chosen, best = recommendation.choice, recommendation.best
    if not recommendation.founded:
        evidence = (best.id, *(item.id for item in recommendation.alike))
        return NONE.finding(evidence, treatment=best.label, count=len(recommendation.alike))
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
