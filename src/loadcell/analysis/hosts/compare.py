"""Two machines' scores as ratios: how many times as fast the second is in each, and how precisely.

A machine is one run: its repeats give an interval, but no verdict, as of any two runs.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from loadcell.analysis.hosts.facts import Fact, Host, facts
from loadcell.analysis.hosts.scores import Score
from loadcell.stats.two_samples import Effect, of_samples


@dataclass(frozen=True)
class Machine:
    """A machine by what is known of it: its label, its inventory, and what probes found it can do."""

    label: str
    host: Host
    scores: tuple[Score, ...] = ()

    @property
    def distinct(self) -> tuple[Score, ...]:
        """Its scores, each once: of those that the same settings made, the first."""
        ids = {score.id for score in self.scores}
        return tuple(score for score in self.scores if score.same_as not in ids)


@dataclass(frozen=True)
class Times:
    """Number of times as fast the second machine is: above 1 it is faster, whatever the figure's own
    direction.

    `low` and `high` are the interval's ends where there are repeats enough for one (`sure`); else how far the
    repeats that were made lie apart, at most; None where there was one of each.
    """

    value: float
    low: float | None = None
    high: float | None = None
    sure: bool = False


@dataclass(frozen=True)
class Row:
    """One score of both machines; `times` says how the second compares with the first."""

    scores: tuple[Score, Score]
    times: Times

    @property
    def score(self) -> Score:
        """The quantity measured, by the first machine."""
        return self.scores[0]

    @property
    def repeats(self) -> int:
        """Number of repeats on the machine that has fewer."""
        return min(len(score.values) for score in self.scores)


@dataclass(frozen=True)
class Machines:
    """Comparison of two machines.

    `rows` are the scores that both have, the greatest difference first; `alone` those that only the machine
    with this place has; `facts` as `loadcell.analysis.hosts.facts` orders them.
    """

    machines: tuple[Machine, Machine]
    facts: tuple[Fact, ...]
    rows: tuple[Row, ...]
    alone: tuple[tuple[int, Score], ...] = ()

    @property
    def differing(self) -> list[Fact]:
        """The facts in which they differ, as far as both are known."""
        return [fact for fact in self.facts if fact.differs]


def compare(first: Machine, second: Machine) -> Machines:
    """Compare the second with the first."""
    by_identity: tuple[Mapping[str, Score], ...] = tuple(
        {score.id: score for score in machine.scores} for machine in (first, second)
    )
    matches = [
        (item, other)
        for name, item in by_identity[0].items()
        if (other := by_identity[1].get(name)) is not None and other.figure == item.figure
    ]
    matched = {item.id for item, _ in matches}
    rows = [Row(scores, _times(*scores)) for scores in matches if not _is_compared(*scores, matched)]
    alone = [
        (index, score)
        for index, machine in enumerate((first, second))
        for score in machine.distinct
        if score.id not in matched
    ]
    return Machines(
        (first, second),
        tuple(facts(first.host, second.host)),
        tuple(sorted(rows, key=lambda row: -abs(math.log(row.times.value)))),
        tuple(alone),
    )


def _is_compared(score: Score, other: Score, matched: Collection[str]) -> bool:
    """True if both machines made them with the settings of another pair that is compared already."""
    return score.same_as == other.same_as and score.same_as in matched


def _times(score: Score, other: Score) -> Times:
    ratio = of_samples(np.log(np.array(score.values)), np.log(np.array(other.values)))
    if ratio.low is None:
        return _described(ratio, score, other)
    return times_of(ratio, score.higher_is_better)


def times_of(ratio: Effect, higher_is_better: bool) -> Times:
    """An effect B/A as how many times as fast B is."""
    ends = [None if end is None else _turned(end, higher_is_better) for end in (ratio.low, ratio.high)]
    low, high = ends if higher_is_better else reversed(ends)
    return Times(_turned(ratio.ratio, higher_is_better), low, high, sure=ratio.low is not None)


def _described(ratio: Effect, score: Score, other: Score) -> Times:
    """Too few for an interval: from the least that two repeats differ by to the most."""
    better = score.higher_is_better
    value = _turned(ratio.ratio, better)
    if len(score.values) < 2 and len(other.values) < 2:
        return Times(value)
    ends: Sequence[float] = sorted(
        _turned(end, better)
        for end in (min(other.values) / max(score.values), max(other.values) / min(score.values))
    )
    return Times(value, ends[0], ends[1])


def _turned(ratio: float, higher_is_better: bool) -> float:
    return ratio if higher_is_better else 1 / ratio
