"""A plan that has been read and found right: what every later step works from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from loadcell.plan.expect import Expectation
from loadcell.plan.factors import Factor
from loadcell.plan.model import DesignName, Limits, OrderName, Resolved
from loadcell.plan.parts import Options
from loadcell.plan.problems import PlanError, Problem, in_order
from loadcell.plan.profile import CpuProfile
from loadcell.plan.search import Search
from loadcell.plan.treatment import Table, Treatment


@dataclass(frozen=True)
class LoadedPlan:
    """A plan with its factors, and its treatments for the asking.

    `directory` is where files are that it names (absolute); `text` is the file as written; `name` is safe in
    a path; `base` is the plan's own settings without any factor (in a full design whose plan leaves a setting
    to a factor: with that factor's first level); in a `search` the last factor is the one searched, and its
    treatments are those that may be measured; `seed` is None when it is to be drawn for each run; `profile`
    says what is sampled after the ordinary trials; `sets` and `only` are what the command line changed.
    """

    path: Path
    directory: Path
    text: str
    name: str
    title: str
    question: str
    base: Resolved
    factors: tuple[Factor, ...]
    design: DesignName | Literal["search"]
    search: Search | None
    repeats: int
    order: OrderName
    seed: int | None
    expect: tuple[Expectation, ...]
    profile: CpuProfile | None
    sets: tuple[str, ...]
    only: tuple[str, ...]
    _table: Table = field(repr=False)

    @property
    def monitors(self) -> Mapping[str, Options]:
        """Monitors by name, with the options the plan itself gives them."""
        return self.base.monitors

    @property
    def limits(self) -> Limits:
        """The plan's own time limits."""
        return self.base.limits

    @property
    def treatment_count(self) -> int:
        """Number of treatments there are, without building any."""
        return len(self._table)

    def size(self) -> int:
        """Number of trials a run has, without building any."""
        return self.treatment_count * self.repeats

    def treatment(self, index: int) -> Treatment:
        """The treatment with this number (from 0) in the order of the plan.

        Raises PlanError when it proves to be wrong.
        """
        treatment, problems = self._table.build(index)
        if treatment is None:
            raise PlanError(in_order(problems))
        return treatment

    @cached_property
    def treatments(self) -> tuple[Treatment, ...]:
        """Every treatment, in the order of the plan.

        Raises PlanError when one of very many proves to be wrong.
        """
        problems: list[Problem] = []
        built: list[Treatment] = []
        for index in range(self.treatment_count):
            treatment, problem = self._table.build(index)
            problems.extend(problem)
            if treatment is not None:
                built.append(treatment)
        if problems:
            raise PlanError(in_order(problems))
        return tuple(built)
