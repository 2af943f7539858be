"""Question, observations and answer of a search: plain values."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from loadcell.model import trial_record
from loadcell.model.engine_messages import OVERLOADED
from loadcell.model.json import JsonObject

if TYPE_CHECKING:  # the plan language takes a quarter of a second to load, which reports do not need
    from loadcell.plan.search import Search

#: `maximum`: the level with the highest value; `bound`: the highest level that meets every bound
Kind = Literal["maximum", "bound"]
SEARCHING: tuple[trial_record.Stage, ...] = ("bracket", "refine")


@dataclass(frozen=True)
class Question:
    """Goal of a search.

    `values` are the levels as rising numbers; everything else speaks of levels by their index in it. `trials`
    is the most that are spent before confirming, `repeats` how often the candidate and its neighbours are
    measured then. Two throughputs less than `tolerance` (a share) apart count as the same. `seed` orders the
    confirming trials, unless `shuffle` is off.
    """

    kind: Kind
    values: tuple[float, ...]
    repeats: int
    trials: int
    tolerance: float
    seed: int = 0
    shuffle: bool = True

    @property
    def top(self) -> int:
        """The highest level."""
        return len(self.values) - 1

    @cached_property
    def places(self) -> tuple[float, ...]:
        """Where levels stand for the search: on a logarithmic scale, unless one of them is at or
        below zero.
        """
        return tuple(map(math.log, self.values)) if self.values[0] > 0 else self.values

    def position(self, level: int) -> float:
        """Where a level stands."""
        return self.places[level]

    def nearest(self, target: float, low: int, high: int) -> int:
        """The level from `low` to `high` that stands nearest to a place."""
        after = bisect_left(self.places, target, low, high)
        return (
            after
            if after == low or self.places[after] - target < target - self.places[after - 1]
            else after - 1
        )


@dataclass(frozen=True)
class Seen:
    """One finished trial: its level and stage, its value, and whether it met every bound.

    `value` is None when the trial gave none that can be used (it failed, or is invalid); it is then `lost`,
    unless it is known to have been asked too much (`met` is False): that is an answer.
    """

    level: int
    stage: trial_record.Stage
    value: float | None
    met: bool | None

    @classmethod
    def of(cls, observed: trial_record.SearchObservation) -> Seen:
        """From the record of a trial."""
        return cls(observed.level, observed.stage, observed.value, observed.met)

    @property
    def lost(self) -> bool:
        """True if it says nothing of its level."""
        return self.met is None


@dataclass(frozen=True)
class Probe:
    """The next trial: its level, what it is for, and why there.

    `block` counts passes of confirming trials from 2; all before are 1.
    """

    level: int
    stage: trial_record.Stage
    why: trial_record.Why
    block: int = 1


@dataclass(frozen=True)
class Standing:
    """Where the search stands: the stage, the levels the answer lies between, the best level so far, and the
    greatest possible number of further trials.

    `low` is the highest level known to be too low (the lowest level before any is), `high` the lowest known
    to be too high (None before any is).
    """

    stage: trial_record.Stage
    low: int
    high: int | None
    best: int | None
    best_value: float | None
    remaining: int


@dataclass(frozen=True)
class Answer:
    """Answer of a search; `level` is None when no level was found: then `nothing` says why.

    `values` are those of its repeats, the ones after an overload among them unless the target did not
    recover; those of the search only where there are no repeats, as the search chose the level for them.
    `met` of all `tried` trials at the level met every bound, those after an overload among them. A maximum
    has a `plateau`: the lowest and highest of the levels round it that were measured and lie within the
    tolerance of it; `alike` are those that the noise of repeats (`noise`, a standard deviation as a share)
    leaves indistinguishable from it, too. `missed`
    is the lowest level above that was measured and misses the bounds; their limit lies between `limits`: the
    highest level up to which every trial met them, and the lowest from which none did. `edge` says that
    the answer is the lowest or highest level there is, so that the true one may lie beyond. `settled` is
    False when repeats went on contradicting what came before.

    `overload` is the level that was run before the answer was measured again, `after` what it then gave. The
    last `descents` of these followed an overload: a trial that met every bound of a bound's search was none.
    `recovered` is whether they gave what the level gave before (None: not checked, as there are none).
    `lost` are levels none of whose trials could be used: the search took them for too high. `searched` trials
    found the candidate, `spent` were run in all.
    """

    kind: Kind
    level: int | None
    nothing: Literal["", "nothing-measured", "never-met"] = ""
    values: tuple[float, ...] = ()
    met: int = 0
    tried: int = 0
    plateau: tuple[int, int] | None = None
    alike: tuple[int, int] | None = None
    noise: float | None = None
    limits: tuple[int | None, int | None] | None = None
    missed: int | None = None
    edge: Literal["", "lowest", "highest"] = ""
    settled: bool = True
    overload: int | None = None
    after: tuple[float | None, ...] = ()
    descents: int = 0
    recovered: bool | None = None
    lost: tuple[int, ...] = ()
    searched: int = 0
    spent: int = 0


@dataclass(frozen=True)
class Table:
    """Trials put together by level, for whoever decides."""

    question: Question
    seen: Sequence[Seen]
    by_level: Mapping[int, tuple[Seen, ...]] = field(init=False)

    def __post_init__(self) -> None:
        by_level: dict[int, list[Seen]] = {}
        for observation in self.seen:
            if observation.stage != "after":
                by_level.setdefault(observation.level, []).append(observation)
        object.__setattr__(self, "by_level", {level: tuple(by_level[level]) for level in sorted(by_level)})

    @property
    def levels(self) -> tuple[int, ...]:
        """Levels that were measured, from the lowest."""
        return tuple(self.by_level)

    def values(self, level: int) -> list[float]:
        """Observations of the trials of a level."""
        return [
            observation.value for observation in self.by_level.get(level, ()) if observation.value is not None
        ]

    def value(self, level: int) -> float | None:
        """The median value of a level that meets the bounds; None of any other."""
        values = sorted(self.values(level))
        if not values or not self.met(level):
            return None
        middle = len(values) // 2
        return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2

    def met(self, level: int) -> bool:
        """True if more than half of a level's trials met the bounds; those that say nothing count only when
        all are such.
        """
        verdicts = [
            observation.met for observation in self.by_level.get(level, ()) if observation.met is not None
        ]
        return 2 * sum(verdicts) > len(verdicts)

    def again(self) -> int | None:
        """The level whose only trial says nothing, if there is one: it gets a second chance."""
        return next(
            (
                level
                for level, observations in self.by_level.items()
                if len(observations) == 1 and observations[0].lost
            ),
            None,
        )

    def best(self) -> int | None:
        """The level with the highest value."""
        worth = {level: value for level in self.levels if (value := self.value(level)) is not None}
        return max(worth, key=lambda level: (worth[level], -level), default=None)


def document(answer: Answer, labels: Sequence[str]) -> JsonObject:
    """An answer as plain JSON, levels by their labels."""

    def label(level: int | None) -> str | None:
        return None if level is None else labels[level]

    return {
        "level": label(answer.level),
        "nothing": answer.nothing or None,
        "values": list(answer.values),
        "met": answer.met,
        "tried": answer.tried,
        "plateau": None if answer.plateau is None else [label(level) for level in answer.plateau],
        "alike": None if answer.alike is None else [label(level) for level in answer.alike],
        "noise": answer.noise,
        "limits": None if answer.limits is None else [label(level) for level in answer.limits],
        "missed": label(answer.missed),
        "edge": answer.edge or None,
        "settled": answer.settled,
        "overload": label(answer.overload),
        "after": list(answer.after),
        "descents": answer.descents,
        "recovered": answer.recovered,
        "lost": [label(level) for level in answer.lost],
        "searched": answer.searched,
        "spent": answer.spent,
    }


#: The share of the offered load that must be completed for a rate to be sustained, in a search and in the
#: findings on an open loop: what is under way at the window's ends, and the chance in Poisson arrivals, are
#: the rest.
SUSTAINED_SHARE = 0.98


def observed(
    search: Search,
    group: int,
    probe: Probe,
    record: trial_record.TrialRecord,
    figures: Mapping[str, float | None],
) -> trial_record.SearchObservation:
    """Observation of a finished trial; `figures` are its metrics by key.

    `met` is None when the trial says nothing about its level, `value` None when it has no usable value.
    """
    observation = trial_record.SearchObservation(
        group, probe.level, search.labels[probe.level], probe.stage, probe.why
    )
    if record.reason_code in OVERLOADED:  # an answer, and no accident
        return replace(observation, met=False, kept_up=False)
    value = figures.get(search.metric)
    if record.status is not trial_record.Status.OK or not value:
        return observation
    bounds = tuple(bound.judge(figures).result(bound.text) for bound in search.bounds)
    observation = replace(observation, bounds=bounds)
    if any(bound.verdict == "unknown" for bound in bounds):
        return observation
    sustained = _sustained(figures) if search.keeping_up else None
    met = all(bound.verdict == "met" for bound in bounds) and sustained is not False
    return replace(observation, value=value, met=met, kept_up=sustained)


def _sustained(figures: Mapping[str, float | None]) -> bool | None:
    offered, achieved = figures.get("offered"), figures.get("throughput")
    return None if not offered or achieved is None else achieved >= SUSTAINED_SHARE * offered
