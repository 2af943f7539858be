"""A plan's search as trials, one decided after the other: one search for each treatment of the other factors,
in turns.

The turns are rounds: every search that has not ended gives one trial, in shuffled order, so that whatever
drifts on a machine hits all of them alike, as it does in the blocks of other designs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from loadcell.design.order import DIGITS_AT_LEAST, Trial, blocks
from loadcell.design.search import decide, model, most, question, standing, usual
from loadcell.design.search.model import Probe, Seen, Standing
from loadcell.plan.load import LoadedPlan
from loadcell.plan.search import Search
from loadcell.plan.treatment import Treatment

if TYPE_CHECKING:
    from loadcell.model.trial_record import SearchObservation, TrialRecord


def count(plan: LoadedPlan) -> int:
    """Number of searches a plan asks for: one a treatment of its other factors."""
    assert plan.search is not None
    return plan.treatment_count // len(plan.search.labels)


def trials(plan: LoadedPlan) -> tuple[int, int]:
    """Number of trials all searches of a plan usually take at most, and when repeats contradict them."""
    assert plan.search is not None
    asked = question(plan.search.record(), plan.repeats, 0, plan.order)
    return usual(asked) * count(plan), most(asked) * count(plan)


@dataclass(frozen=True)
class Step:
    """A trial, which search it is for, and what for."""

    trial: Trial
    group: int
    probe: Probe


class Searches:
    """The trials of a search, one at a time: `following`, then `learn` what it gave, and so on."""

    def __init__(self, plan: LoadedPlan, seed: int) -> None:
        """`plan` is one whose design is a search."""
        assert plan.search is not None
        self.search: Search = plan.search
        self._plan = plan
        self._seed = seed
        self.question = question(self.search.record(), plan.repeats, seed, plan.order)
        self.seen: list[list[Seen]] = [[] for _ in range(count(plan))]
        self._digits = max(DIGITS_AT_LEAST, len(str(trials(plan)[1])))
        self._number = 0
        self._often: dict[str, int] = {}
        self._places: dict[str, int] = {}
        self._turns = self._rounds()

    def following(self) -> Step | None:
        """The next trial; None when every search has ended.

        Raises PlanError when its level proves to be wrong.
        """
        for group in self._turns:
            probe = decide(self.question, self.seen[group])
            if probe is not None:
                return self._step(group, probe)
        return None

    def observed(
        self, step: Step, record: TrialRecord, figures: Mapping[str, float | None]
    ) -> SearchObservation:
        """Observation of a finished trial; `figures` are its metrics by key."""
        return model.observed(self.search, step.group, step.probe, record, figures)

    def learn(self, step: Step, observed: SearchObservation) -> None:
        """Take a trial's observation into account."""
        self.seen[step.group].append(Seen.of(observed))

    def standing(self, group: int) -> Standing:
        """Where one of the searches stands."""
        return standing(self.question, self.seen[group])

    def remaining(self) -> int:
        """About how many trials are still to come in all."""
        return sum(self.standing(group).remaining for group in range(len(self.seen)))

    def treatment(self, levels: Mapping[str, str]) -> Treatment | None:
        """The treatment with these levels of all factors, as run.json has them; None when there is none."""
        label = levels.get(self.search.key)
        others = {key: level for key, level in levels.items() if key != self.search.key}
        if label in self.search.labels:
            for group in range(len(self.seen)):
                if self.others(group) == others:
                    return self._plan.treatment(self._index(group, self.search.labels.index(label)))
        return None

    def position(self, treatment: str) -> int:
        """Where a treatment that has been measured stands in the order of the plan."""
        return self._places[treatment]

    def others(self, group: int) -> dict[str, str]:
        """The levels of the other factors that a search is for."""
        levels = self._plan.treatment(self._index(group, 0)).levels
        return {key: label for key, label in levels.items() if key != self.search.key}

    def _rounds(self) -> Iterator[int]:
        groups = list(range(len(self.seen)))
        turn = 0
        while any(decide(self.question, seen) is not None for seen in self.seen):
            turn += 1
            yield from next(islice(blocks(groups, turn, self._plan.order, self._seed), turn - 1, None))

    def _index(self, group: int, level: int) -> int:
        """The searched factor is the plan's last one, which changes fastest."""
        return group * len(self.search.labels) + level

    def _step(self, group: int, probe: Probe) -> Step:
        index = self._index(group, probe.level)
        treatment = self._plan.treatment(index)
        self._places[treatment.id] = index
        self._number += 1
        repeat = self._often[treatment.id] = self._often.get(treatment.id, 0) + 1
        name = f"{self._number:0{self._digits}d}-{treatment.id}-r{repeat}"
        return Step(Trial(self._number, treatment, repeat, probe.block, name), group, probe)
