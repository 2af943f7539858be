"""Capacity: the highest throughput within the bounds, alone and with headroom on n instances.

The bounds are those of a search (`subject to`) or the expectations of the plan. A treatment is within them if
every one of its trials succeeded and met them all. The interval is that of the median over repeats.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loadcell.analysis import sweep
from loadcell.analysis.disturbances import disturbances, warnings
from loadcell.analysis.search import Searched
from loadcell.analysis.treatments import Treatment, short_keys
from loadcell.analysis.validity import check_advice, check_name
from loadcell.model.json import JsonObject
from loadcell.model.message import Count, Message, MessageCode, MessageError, Rate, Share

if TYPE_CHECKING:
    from loadcell.analysis.analyse import Analysis

NO_BOUND = MessageCode("capacity.no-bound")
NOT_COMPARABLE = MessageCode("capacity.not-comparable")
SUSTAINED = MessageCode("capacity.sustained", "info")
_HIGHEST: dict[str, type] = {"capacity_per_s": Rate, "treatment": str, "bounds": list}
CAPACITY = MessageCode("capacity.highest", "good", **_HIGHEST)
CAPACITY_OF = MessageCode("capacity.highest.of", "good", levels=str, **_HIGHEST)
INTERVAL = MessageCode("capacity.interval", "info", low_per_s=Rate, high_per_s=Rate)
RANGE = MessageCode("capacity.range", "caution", low_per_s=Rate, high_per_s=Rate, repeats=Count)
PROVISION = MessageCode(
    "capacity.provision",
    "info",
    total_per_s=Rate,
    each_per_s=Rate,
    instances=Count,
    headroom_share=Share,
    low_per_s=Rate,
    high_per_s=Rate,
)
ASSUMPTION = MessageCode("capacity.assumption", "caution")
OPEN_ENDED = MessageCode("capacity.open-ended", "caution")
NONE_WITHIN = MessageCode("capacity.none-within", "problem", bounds=list)
NONE_WITHIN_OF = MessageCode("capacity.none-within.of", "problem", levels=str, bounds=list)
SOME_MISSED = MessageCode("capacity.some-missed", "caution", met=Count, tried=Count)
DISTURBED = MessageCode("capacity.disturbed", "caution", count=Count, of=Count)
WARNED = MessageCode("capacity.warned", "caution", advice=Message, check=Message, count=Count, of=Count)

#: Statuses of trials whose load was too much or that broke.
_FAILED = ("failed", "timed-out", "aborted")
#: Factors with these keys are the load; all others describe the system that has a capacity.
_LOAD = "load."
#: The offered load, and the clients of a closed loop: where a rate is offered, connections only carry it.
_AMOUNTS = ("load.rate", sweep.LOAD)


class CapacityError(MessageError):
    """A run from which no capacity can be stated."""


@dataclass(frozen=True)
class Provision:
    """Use of a capacity: `headroom` is the share of it that stays free, `instances` are as many systems under
    test, each with the capacity of the one that was measured.
    """

    headroom: float = 0.0
    instances: int = 1

    def of(self, rate: float) -> float:
        """The rate that may be offered to all instances together."""
        return rate * (1 - self.headroom) * self.instances


@dataclass(frozen=True, eq=False)
class Capacity:
    """The capacity of one system: `treatment` has the highest throughput within `bounds`, None without any.

    `levels` are those of the factors that are not load. `open_ended`: no treatment with more load or
    throughput missed a bound, so that the capacity may be higher. `met` of `tried` trials of the treatment
    met the bounds.
    """

    levels: Mapping[str, str]
    bounds: tuple[Message | str, ...]
    treatment: Treatment | None
    open_ended: bool = False
    met: int = 0
    tried: int = 0

    @property
    def rate_per_s(self) -> float | None:
        """The median throughput of the treatment."""
        return None if self.treatment is None else self.treatment.throughput.median

    @property
    def disturbed(self) -> int:
        """Trials of the treatment that the machine disturbed."""
        trials = () if self.treatment is None else self.treatment.trials
        return sum(bool(disturbances(trial)) for trial in trials)

    @property
    def warned(self) -> Mapping[str, int]:
        """Number of trials of the treatment in which a check noticed something else, by check."""
        trials = () if self.treatment is None else self.treatment.trials
        return dict(sorted(Counter(check for trial in trials for check in warnings(trial)).items()))

    def sentences(self, provision: Provision) -> Iterator[Message]:
        """The statement, from the capacity to its assumptions."""
        names = short_keys(list(self.levels))
        levels = ", ".join(f"{names[key]} = {level}" for key, level in self.levels.items())
        bounds = [*self.bounds]
        if self.treatment is None or self.rate_per_s is None:
            yield (NONE_WITHIN_OF if levels else NONE_WITHIN).pick(levels=levels, bounds=bounds)
            return
        rate, repeats = self.rate_per_s, self.treatment.throughput
        yield (CAPACITY_OF if levels else CAPACITY).pick(
            levels=levels, capacity_per_s=rate, treatment=self.treatment.label, bounds=bounds
        )
        low, high = repeats.reach or (rate, rate)
        code = RANGE if repeats.interval is None else INTERVAL
        yield code.pick(low_per_s=low, high_per_s=high, repeats=len(repeats.values))
        yield PROVISION(
            total_per_s=provision.of(rate),
            each_per_s=rate * (1 - provision.headroom),
            instances=provision.instances,
            headroom_share=provision.headroom,
            low_per_s=provision.of(low),
            high_per_s=provision.of(high),
        )
        if self.open_ended:
            yield OPEN_ENDED()
        if self.met < self.tried:
            yield SOME_MISSED(met=self.met, tried=self.tried)
        if disturbed := self.disturbed:
            yield DISTURBED(count=disturbed, of=len(self.treatment.trials))
        for check, count in self.warned.items():
            yield WARNED(
                check=check_name(check),
                advice=check_advice(check),
                count=count,
                of=len(self.treatment.trials),
            )

    def document(self, provision: Provision) -> JsonObject:
        """Plain JSON values; rates per second."""
        rate = self.rate_per_s
        repeats = None if self.treatment is None else self.treatment.throughput
        reach = None if repeats is None else repeats.reach
        low, high = reach or (None, None)
        return {
            "levels": dict(self.levels),
            "disturbed": self.disturbed,
            "warned": dict(self.warned),
            "bounds": [str(bound) for bound in self.bounds],
            "treatment": None if self.treatment is None else self.treatment.id,
            "capacity_per_s": rate,
            "low_per_s": low,
            "high_per_s": high,
            "is_interval": repeats is not None and repeats.interval is not None,
            "open_ended": self.open_ended,
            "trials_within": self.met,
            "trials": self.tried,
            "provisioned_per_s": None if rate is None else provision.of(rate),
            "provisioned_low_per_s": None if low is None else provision.of(low),
            "provisioned_high_per_s": None if high is None else provision.of(high),
        }


def capacities(analysis: Analysis) -> tuple[Capacity, ...]:
    """The capacity of each system that the run measured: a search each, or a combination of levels of all
    factors but the load.

    Raises CapacityError for a run without bounds, and for one whose treatments measure different quantities.
    """
    if not analysis.comparable:
        raise CapacityError(NOT_COMPARABLE())
    bounded = [search for search in analysis.searches if search.bounds or search.question.kind == "bound"]
    if bounded:
        return tuple(_of_search(search, analysis.treatments) for search in bounded)
    if not any(trial.expectations for trial in analysis.trials):
        raise CapacityError(NO_BOUND())
    systems: dict[tuple[tuple[str, str], ...], list[Treatment]] = {}
    for treatment in analysis.treatments:
        levels = tuple(item for item in treatment.levels.items() if not item[0].startswith(_LOAD))
        systems.setdefault(levels, []).append(treatment)
    return tuple(_of_system(dict(levels), treatments) for levels, treatments in systems.items())


def _of_search(search: Searched, treatments: Sequence[Treatment]) -> Capacity:
    wanted = {**search.others, search.key: search.level}
    treatment = next((item for item in treatments if search.level and item.levels == wanted), None)
    level = search.answer.level
    missed_above = any(step.met is False and step.level > level for step in search.steps if level is not None)
    return Capacity(
        search.others,
        search.bounds or (SUSTAINED(),),
        treatment,
        treatment is not None and not missed_above,
        search.answer.met,
        search.answer.tried,
    )


def _of_system(levels: Mapping[str, str], treatments: Sequence[Treatment]) -> Capacity:
    bounds: dict[str, None] = {}
    for treatment in treatments:
        for trial in treatment.trials:
            bounds.update(dict.fromkeys(result.expression for result in trial.expectations))
    within = [treatment for treatment in treatments if _met(treatment) == len(treatment.trials) > 0]
    highest = max(within, key=lambda treatment: treatment.throughput.median or 0.0, default=None)
    if highest is None:
        return Capacity(levels, tuple(bounds), None)
    return Capacity(
        levels,
        tuple(bounds),
        highest,
        not any(_missed(item) and _is_more(item, highest) for item in treatments),
        _met(highest),
        len(highest.trials),
    )


def _missed(treatment: Treatment) -> bool:
    """True if a trial that succeeded missed a bound, or one failed."""
    return any(
        any(result.verdict == "missed" for result in trial.expectations) or trial.status in _FAILED
        for trial in treatment.trials
    )


def _is_more(treatment: Treatment, than: Treatment) -> bool:
    """True of a treatment with more load or more throughput."""
    for key in _AMOUNTS:
        mine, other = sweep.load_of(treatment, key), sweep.load_of(than, key)
        if mine is not None and other is not None and mine != other:
            return mine > other
    return (treatment.throughput.median or 0.0) > (than.throughput.median or 0.0)


def _met(treatment: Treatment) -> int:
    """Trials that succeeded and met every bound."""
    return sum(
        trial.counts and all(result.verdict == "met" for result in trial.expectations)
        for trial in treatment.trials
    )
