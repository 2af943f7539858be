"""`loadcell.check`: what a plan would run, and its mistakes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from loadcell import parts
from loadcell.api.plans import Plan, load_plan
from loadcell.design.estimate import estimate
from loadcell.execution import profiler_packages
from loadcell.plan import remarks as plan_remarks
from loadcell.plan.load import LoadedPlan
from loadcell.plan.parts import Parts
from loadcell.plan.problems import PlanError, Problem
from loadcell.plan.remarks import Remark
from loadcell.plan.treatment import Treatment

#: Treatments that a text lists.
_LISTED = 20


@dataclass(frozen=True)
class Checked:
    """A checked plan: its mistakes (`problems`), or what it would run with `remarks` on it.

    `expected_s` is the expected duration without loading of data, and `trials` the number of trials.
    """

    problems: tuple[Problem, ...] = ()
    remarks: tuple[Remark, ...] = ()
    name: str = ""
    title: str = ""
    treatments: tuple[Treatment, ...] = ()
    repeats: int = 0
    trials: int = 0
    expected_s: float = 0.0

    @property
    def ok(self) -> bool:
        """True without mistakes."""
        return not self.problems

    def raise_problems(self) -> None:
        """Raise PlanError if the plan has mistakes."""
        if self.problems:
            raise PlanError(self.problems)

    def __str__(self) -> str:
        if self.problems:
            return str(PlanError(self.problems))
        ids = [treatment.id for treatment in self.treatments]
        listed = [*ids[:_LISTED], *(["..."] if len(ids) > _LISTED else [])]
        return "\n".join(
            [
                f"{self.title}: {self.trials} trials, about {self.expected_s:.0f} s",
                *(f"  {name}" for name in listed),
                *(f"{remark.path}: {remark.text}" for remark in self.remarks),
            ]
        )

    def __repr__(self) -> str:
        return str(self)


def check(
    plan: Plan,
    *,
    overrides: Mapping[str, object] | None = None,
    only: Mapping[str, object] | None = None,
    repeats: int | None = None,
) -> Checked:
    """Check a plan without running it, as `loadcell check` does.

    `plan` is the path of a plan, the name of a built-in one, or a dictionary with its content. `overrides`
    changes settings by their paths (`{"load.duration": "5s"}`), `only` selects levels by factor
    (`{"load.clients": [1, 8]}`). Mistakes are in the result; nothing is raised.
    """
    try:
        loaded = load_plan(plan, overrides=overrides, only=only, repeats=repeats)
        expected = estimate(loaded)
        return Checked(
            remarks=tuple(remarks(loaded)),
            name=loaded.name,
            title=loaded.title,
            treatments=loaded.treatments,
            repeats=loaded.repeats,
            trials=expected.trials,
            expected_s=expected.total_s,
        )
    except PlanError as error:
        return Checked(problems=error.problems)


def remarks(plan: LoadedPlan) -> list[Remark]:
    """Remarks on a valid plan: on its settings, and on profilers of this machine."""
    installed = parts.installed()
    return [*plan_remarks.remarks(plan, installed), *_profilers(plan, installed)]


def _profilers(plan: LoadedPlan, installed: Parts) -> Iterator[Remark]:
    """Remarks on profilers that this machine lacks, or that will be downloaded."""
    lacks = profiler_packages.lacks_of_workloads(plan, installed)
    for message in itertools.chain(profiler_packages.remarks(plan.profiles), lacks):
        yield Remark("profile", message, plan.treatment(0).id, plan.treatment_count - 1)
