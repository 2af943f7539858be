"""Capacity: the highest throughput within the bounds, alone and with headroom on n instances.

The bounds are those of a search (`subject to`) or the expectations of the plan. A treatment is within them if
every one of its trials succeeded and met them all, and counts if no treatment with less load missed them: a
service that fails at a rate has its capacity below. The interval is that of the median over repeats.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loadcell.analysis import sweep
from loadcell.analysis.disturbances import disturbances, warnings
from loadcell.analysis.search import Searched
from loadcell.analysis.treatments import Treatment, short_keys
from loadcell.analysis.validity import check_advice, check_name
from loadcell.model.json import JsonObject
from loadcell.model.message import Count, Message, MessageCode, MessageError, Rate, Share, as_written
from loadcell.plan.expect import Expectation

if TYPE_CHECKING:
    from loadcell.analysis.analyse import Analysis

NO_BOUND = MessageCode("capacity.no-bound")
NOT_COMPARABLE = MessageCode("capacity.not-comparable")
SUSTAINED = MessageCode("capacity.sustained", "info")
_HIGHEST: dict[str, type] = {"capacity_per_s": Rate, "treatment": Message, "bounds": list}
AT_CLIENTS = MessageCode("capacity.at-clients", "info", clients=Count)
AT_RATE = MessageCode("capacity.at-rate", "info", rate=str)
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
#: Loads within the bounds above one that missed them, which do not count.
PASSED_OVER = MessageCode("capacity.passed-over", "caution", missed=list, met=list)
NONE_BELOW = MessageCode("capacity.none-below", "problem", bounds=list)
NONE_BELOW_OF = MessageCode("capacity.none-below.of", "problem", levels=str, bounds=list)
#: A search for the highest throughput does not measure every load: its answer may lie above one that missed.
MISSED_BELOW = MessageCode("capacity.missed-below", "caution", missed=list)
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
    met the bounds. `missed_below` are loads that missed the bounds below others that met them: those that
    are `passed_over`, or else the treatment itself.
    """

    levels: Mapping[str, str]
    bounds: tuple[Message | str, ...]
    treatment: Treatment | None
    open_ended: bool = False
    met: int = 0
    tried: int = 0
    missed_below: tuple[str, ...] = ()
    passed_over: tuple[str, ...] = ()

    @property
    def rate_per_s(self) -> float | None:
        """The median throughput of the treatment."""
        return None if self.treatment is None else self.treatment.throughput.median

    @property
    def system(self) -> str:
        """The system's levels with the names of their factors."""
        names = short_keys(list(self.levels))
        return ", ".join(f"{names[key]} = {level}" for key, level in self.levels.items())

    def _place(self, treatment: Treatment) -> Message:
        """Its levels besides the system's; without any, its load."""
        names = short_keys(list(treatment.levels))
        levels = {names[key]: level for key, level in treatment.levels.items() if key not in self.levels}
        if levels:
            return as_written(", ".join(f"{name} = {level}" for name, level in levels.items()))
        load = treatment.described.settings.get("load")
        rate, clients = (load.get("rate"), load.get("clients")) if isinstance(load, dict) else (None, None)
        if rate is not None:
            return AT_RATE(rate=str(rate))
        return AT_CLIENTS(clients=clients) if isinstance(clients, int) else as_written(treatment.label)

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
        levels, bounds = self.system, [*self.bounds]
        if self.treatment is None or self.rate_per_s is None:
            yield from self.cautions()
            return
        rate, repeats = self.rate_per_s, self.treatment.throughput
        yield (CAPACITY_OF if levels else CAPACITY).pick(
            levels=levels, capacity_per_s=rate, treatment=self._place(self.treatment), bounds=bounds
        )
        low, high = repeats.reach or (rate, rate)
        if repeats.interval is not None:
            yield INTERVAL(low_per_s=low, high_per_s=high)
        cautions = list(self.cautions())
        yield from (caution for caution in cautions if caution.code == RANGE.code)
        yield PROVISION(
            total_per_s=provision.of(rate),
            each_per_s=rate * (1 - provision.headroom),
            instances=provision.instances,
            headroom_share=provision.headroom,
            low_per_s=provision.of(low),
            high_per_s=provision.of(high),
        )
        yield from (caution for caution in cautions if caution.code != RANGE.code)

    def cautions(self) -> Iterator[Message]:
        """The lack of a capacity, and all that lowers the trust in the rate or in its reach."""
        treatment, rate, levels = self.treatment, self.rate_per_s, self.system
        if treatment is None or rate is None:
            none = (NONE_BELOW, NONE_BELOW_OF) if self.passed_over else (NONE_WITHIN, NONE_WITHIN_OF)
            yield none[bool(levels)].pick(levels=levels, bounds=[*self.bounds])
        elif treatment.throughput.interval is None:
            low, high = treatment.throughput.reach or (rate, rate)
            yield RANGE(low_per_s=low, high_per_s=high, repeats=len(treatment.throughput.values))
        if self.passed_over:
            yield PASSED_OVER(missed=[*self.missed_below], met=[*self.passed_over])
        elif self.missed_below:
            yield MISSED_BELOW(missed=[*self.missed_below])
        if self.open_ended:
            yield OPEN_ENDED()
        if self.met < self.tried:
            yield SOME_MISSED(met=self.met, tried=self.tried)
        if treatment is None:
            return
        if disturbed := self.disturbed:
            yield DISTURBED(count=disturbed, of=len(treatment.trials))
        for check, count in self.warned.items():
            yield WARNED(
                check=check_name(check), advice=check_advice(check), count=count, of=len(treatment.trials)
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
            "missed_below": [*self.missed_below],
            "passed_over": [*self.passed_over],
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
    measured: dict[int, list[bool]] = {}
    for step in search.steps:
        if step.met is not None:
            measured.setdefault(step.level, []).append(step.met)
    missed_below = [
        item
        for item, verdicts in sorted(measured.items())
        if level is not None and item < level and 2 * sum(verdicts) <= len(verdicts)
    ]
    return Capacity(
        search.others,
        search.bounds or (SUSTAINED(),),
        treatment,
        treatment is not None and not missed_above,
        search.answer.met,
        search.answer.tried,
        tuple(f"{search.factor} = {search.labels[item]}" for item in missed_below),
    )


def _of_system(levels: Mapping[str, str], treatments: Sequence[Treatment]) -> Capacity:
    bounds: dict[str, None] = {}
    for treatment in treatments:
        for trial in treatment.trials:
            bounds.update(dict.fromkeys(result.expression for result in trial.expectations))
    within = [treatment for treatment in treatments if _met(treatment) == len(treatment.trials) > 0]
    missed = [treatment for treatment in treatments if _missed(treatment)]
    overloaded = [treatment for treatment in missed if _missed(treatment, besides=_is_floor)]
    counting = [item for item in within if not any(_is_below(below, item) for below in overloaded)]
    highest = max(counting, key=_rate, default=None)
    passed_over = [
        item for item in within if item not in counting and (highest is None or _rate(item) > _rate(highest))
    ]
    missed_below = [item for item in overloaded if any(_is_below(item, above) for above in passed_over)]
    return Capacity(
        levels,
        tuple(bounds),
        highest,
        highest is not None and not any(_is_more(item, highest) for item in missed),
        0 if highest is None else _met(highest),
        0 if highest is None else len(highest.trials),
        tuple(item.label for item in missed_below),
        tuple(item.label for item in passed_over),
    )


def _rate(treatment: Treatment) -> float:
    return treatment.throughput.median or 0.0


def _missed(treatment: Treatment, besides: Callable[[str], bool] = lambda _: False) -> bool:
    """True if a trial that succeeded missed a bound, `besides` some, or one failed."""
    return any(
        any(result.verdict == "missed" and not besides(result.expression) for result in trial.expectations)
        or trial.status in _FAILED
        for trial in treatment.trials
    )


def _is_floor(expression: str) -> bool:
    """True of a least throughput, which a low load misses without any fault of the system."""
    expectation = Expectation.recorded(expression)
    return expectation is not None and expectation.is_floor


def _is_below(treatment: Treatment, other: Treatment) -> bool:
    """True of a treatment that differs in the load alone and has less of it."""
    for key in _AMOUNTS:
        mine, its = sweep.load_of(treatment, key), sweep.load_of(other, key)
        if mine is not None and its is not None:
            return mine < its and all(
                treatment.levels.get(name) == level for name, level in other.levels.items() if name != key
            )
    return False


def _is_more(treatment: Treatment, than: Treatment) -> bool:
    """True of a treatment with more load or more throughput."""
    for key in _AMOUNTS:
        mine, other = sweep.load_of(treatment, key), sweep.load_of(than, key)
        if mine is not None and other is not None and mine != other:
            return mine > other
    return _rate(treatment) > _rate(than)


def _met(treatment: Treatment) -> int:
    """Trials that succeeded and met every bound."""
    return sum(
        trial.counts and all(result.verdict == "met" for result in trial.expectations)
        for trial in treatment.trials
    )
