"""The order of a search: bracket, refine, confirm, and the descent from an overload; then the answer.

The noise of a search's trials, from its repeats, and which levels it leaves indistinguishable.

The scatter of repeats is pooled over levels on the log scale. Two levels differ when their medians do by more
than the tolerance, and the means of their logarithms by more than Student's t allows, one-sided at `LEVEL`
divided by the number of levels that are compared (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from statistics import mean
from typing import TYPE_CHECKING, Literal

from loadcell.design.search import maximum
from loadcell.design.search.confirm import (
    DESCENTS,
    MOST_MOVES,
    adjacent,
    came_back,
    confirm,
    descents,
    overload,
    overload_level,
)
from loadcell.design.search.model import SEARCHING, Answer, Probe, Question, Seen, Standing, Table
from loadcell.stats import distributions

if TYPE_CHECKING:
    from loadcell.model.run_record import SearchRecord
    from loadcell.model.trial_record import Stage


#: Probability that a level with the highest true value is taken for a lower one.
LEVEL = 0.05
#: Degrees of freedom without which a scatter says too little.
FEWEST_FREEDOM = 2


@dataclass(frozen=True)
class Noise:
    """Standard deviation of the logarithm of a trial's value, with its degrees of freedom."""

    deviation: float
    freedom: int


def noise_of(seen: Sequence[Seen]) -> Noise | None:
    """Noise of the repeats of a search; None with too few."""
    by_level: dict[int, list[float]] = {}
    for observation in seen:
        if observation.stage == "confirm" and observation.value is not None and observation.value > 0:
            by_level.setdefault(observation.level, []).append(math.log(observation.value))
    freedom = sum(len(values) - 1 for values in by_level.values())
    if freedom < FEWEST_FREEDOM:
        return None
    squares = sum((value - mean(values)) ** 2 for values in by_level.values() for value in values)
    return Noise(math.sqrt(squares / freedom), freedom)


def unbiased(question: Question, seen: Sequence[Seen]) -> Table:
    """Trials by level, without those that chose the candidate wherever a level was repeated.

    The best of several noisy values is too high on average; what is measured again afterwards is not.
    """
    searched = [observation for observation in seen if observation.stage not in ("overload", "after")]
    repeated = {observation.level for observation in searched if observation.stage == "confirm"}
    return Table(
        question,
        [
            observation
            for observation in searched
            if observation.stage == "confirm" or observation.level not in repeated
        ],
    )


def distinguishable(table: Table, low: int, high: int) -> bool:
    """True if `high` exceeds `low` by more than the noise of repeats; where that is unknown, too.

    Means are compared: the error of a median of few values is no sqrt(1 / n), and depends on the shape of
    their distribution.
    """
    here, there = table.values(low), table.values(high)
    noise = noise_of(table.seen)
    if noise is None or not here or not there or min(*here, *there) <= 0:
        return True
    compared = max(1, len(table.levels) - 1)
    deviations = noise.deviation * float(distributions.student_quantile(noise.freedom, 1 - LEVEL / compared))
    standard_error = math.sqrt(1 / len(here) + 1 / len(there))
    return mean(map(math.log, there)) - mean(map(math.log, here)) > deviations * standard_error


def indistinguishable(table: Table, level: int) -> tuple[int, int]:
    """The lowest and highest level that are not lower than this one by more than tolerance and noise."""
    there = table.value(level) or 0.0
    alike = [level]
    for other in table.levels:
        here = table.value(other)
        if here is not None and (
            here >= (1 - table.question.tolerance) * there
            or (noise_of(table.seen) is not None and not distinguishable(table, other, level))
        ):
            alike.append(other)
    return min(alike), max(alike)


#: how many trials a maximum is looked for with, unless the plan says
MAXIMUM_TRIALS = 10
#: trials of a bound's search that may be of no use, or fall badly between uneven levels
SPARE = 2


def question(search: SearchRecord, repeats: int, seed: int, order: str) -> Question:
    """The question of a search as run.json keeps it (`plan.search.Search.document`)."""
    asked = Question(
        kind=search.kind,
        values=search.values,
        repeats=repeats,
        trials=search.trials or MAXIMUM_TRIALS,
        tolerance=search.tolerance or 0.0,
        seed=seed,
        shuffle=order != "as-written",
    )
    if asked.kind == "bound" and search.trials is None:
        return replace(asked, trials=halving(asked))
    return asked


def decide(question: Question, seen: Sequence[Seen]) -> Probe | None:
    """The next trial, from all finished ones in the order they were run; None when the search has ended."""
    search = _searching(question, seen)
    if search is not None:
        return search
    confirmed = confirm(question, seen)
    if confirmed.candidate is None or confirmed.probe is not None:
        return confirmed.probe
    last_block = 2 + sum(observation.stage == "confirm" for observation in seen)
    return overload(question, seen, confirmed.candidate, last_block)


def _searching(question: Question, seen: Sequence[Seen]) -> Probe | None:
    searched = [observation for observation in seen if observation.stage in SEARCHING]
    if len(searched) >= question.trials:
        return None
    table = Table(question, searched)
    again = table.again()
    if again is not None:
        return Probe(again, table.by_level[again][0].stage, "again")
    return (
        maximum.probe(question, table) if question.kind == "maximum" else maximum.bound_probe(question, table)
    )


def most(question: Question) -> int:
    """More trials than this no search of this question takes."""
    widest, verifying = (3, question.repeats) if question.kind == "maximum" else (2, 0)
    return question.trials + widest * question.repeats * (1 + MOST_MOVES) + verifying + 2 * DESCENTS


def usual(question: Question) -> int:
    """Number of trials it takes when repeats agree with the search, and the search takes all it may."""
    return question.trials + (3 if question.kind == "maximum" else 2) * question.repeats + 2


def halving(question: Question) -> int:
    """Number of trials a bound takes at most to be found: the bracket, then halving the widest gap between
    two of its steps, and a
    few for trials that say nothing."""
    steps = [0]
    while steps[-1] < question.top:
        steps.append(maximum.above(question, steps[-1]))
    widest = max((high - low for low, high in pairwise(steps)), default=1)
    return len(steps) + (widest - 1).bit_length() + SPARE


def answer(question: Question, seen: Sequence[Seen]) -> Answer:
    """The result of the finished trials; for a search that has not ended, the result if it ended now."""
    searched = [observation for observation in seen if observation.stage in SEARCHING]
    table = Table(question, seen)
    lost = tuple(
        level
        for level, observations in table.by_level.items()
        if all(observation.lost for observation in observations)
    )
    confirmed = confirm(question, seen)
    level = confirmed.candidate
    if level is not None and table.value(level) is None:
        level = table.best() if question.kind == "maximum" else maximum.bound_ends(table)[0]
    if level is None or table.value(level) is None:
        measured = any(not observation.lost for observation in seen)
        why: Literal["never-met", "nothing-measured"] = "never-met" if measured else "nothing-measured"
        return Answer(question.kind, None, why, lost=lost, searched=len(searched), spent=len(seen))
    here = [observation for observation in table.by_level[level] if not observation.lost]
    fair = unbiased(question, seen)
    verified = [observation.value for observation in confirmed.verified if observation.value is not None]
    values = verified or fair.values(level) or table.values(level)
    after = [observation for observation in seen if observation.stage == "after"]
    fell = descents(question, seen)
    recovered = any(came_back(question, seen, level, observation) for observation in fell) if fell else None
    here += [observation for observation in after if not observation.lost]
    if recovered is not False:
        values += [observation.value for observation in after if observation.value is not None]
    descended = overload_level(question, seen, level) if after else None
    missed = [
        observation for observation in table.levels if observation > level and not table.met(observation)
    ]
    noise = noise_of(seen) if question.kind == "maximum" else None
    return Answer(
        question.kind,
        level,
        values=tuple(values),
        met=sum(bool(observation.met) for observation in here),
        tried=len(here),
        plateau=maximum.plateau(question, table, level) if question.kind == "maximum" else None,
        alike=indistinguishable(fair, level) if question.kind == "maximum" else None,
        noise=noise.deviation if noise is not None else None,
        limits=_limits(table) if missed or question.kind == "bound" else None,
        missed=missed[0] if missed else None,
        edge=_edge(question, level),
        settled=confirmed.settled,
        overload=descended,
        after=tuple(observation.value for observation in after),
        descents=len(fell),
        recovered=recovered,
        lost=lost,
        searched=len(searched),
        spent=len(seen),
    )


def _limits(table: Table) -> tuple[int | None, int | None]:
    """The levels that the limit of the bounds lies between: the highest up to which every trial met them, and
    the lowest from which none did; None for what there is not.
    """
    verdicts = {
        level: {observation.met for observation in observations if observation.met is not None}
        for level, observations in table.by_level.items()
    }
    met = takewhile(lambda level: False not in verdicts[level], table.levels)
    missed = takewhile(lambda level: True not in verdicts[level], reversed(table.levels))
    return max(met, default=None), min(missed, default=None)


def _edge(question: Question, level: int) -> Literal["", "lowest", "highest"]:
    """True if the answer is an end of the searched range."""
    if level == question.top:
        return "highest"
    return "lowest" if level == 0 else ""


def standing(question: Question, seen: Sequence[Seen]) -> Standing:
    """Where the search stands, for whoever watches."""
    searched = [observation for observation in seen if observation.stage in SEARCHING]
    table = Table(question, [observation for observation in seen if observation.stage != "overload"])
    probe = decide(question, seen)
    best = table.best() if question.kind == "maximum" else maximum.bound_ends(table)[0]
    if probe is None or probe.stage not in SEARCHING:
        best = confirm(question, seen).candidate
    low, high = _between(question, table, best)
    return Standing(
        stage=_stage(probe, seen),
        low=0 if low is None else low,
        high=high,
        best=best,
        best_value=None if best is None else table.value(best),
        remaining=_left(question, seen, searched, probe),
    )


def _between(question: Question, table: Table, best: int | None) -> tuple[int | None, int | None]:
    if question.kind == "bound":
        return maximum.bound_ends(table)
    if best is None or table.value(best) is None:
        return None, None
    return maximum.reach(question, table, best)


def _stage(probe: Probe | None, seen: Sequence[Seen]) -> Stage:
    return probe.stage if probe is not None else seen[-1].stage if seen else "bracket"


def _left(question: Question, seen: Sequence[Seen], searched: Sequence[Seen], probe: Probe | None) -> int:
    """About how many trials are still to come: as many as a search takes that is not contradicted."""
    if probe is None:
        return 0
    if probe.stage in SEARCHING:
        return usual(question) - len(searched)
    if probe.stage in ("overload", "after"):
        return 1 if probe.stage == "after" else 2
    candidate = confirm(question, seen).candidate
    levels = len(adjacent(question, candidate)) if candidate is not None else 0
    repeated = sum(observation.stage == "confirm" for observation in seen)
    incomplete = -repeated % (levels * question.repeats or 1)
    return max(1, incomplete or levels * question.repeats) + 2
