"""Outcome of each expectation over the trials of a run, with the least favourable value that was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from loadcell.analysis.trials import Trial
from loadcell.model.json import JsonObject
from loadcell.model.trial_record import ExpectationResult
from loadcell.plan.expect import Expectation, Outcome, written


@dataclass(frozen=True)
class ExpectationOutcome:
    """An expectation over all trials that it was applied to.

    `verdict` is `missed` if any trial missed it, `met` if all met it, otherwise `unknown`. `trials` have that
    verdict. `value`, in the metric's own unit, is the least favourable one, of the trial of `treatment` (an
    id); None where no trial has a value.
    """

    expression: str
    verdict: Outcome
    met: int
    missed: int
    unknown: int
    trials: tuple[str, ...]
    value: float | None
    treatment: str | None

    @property
    def value_text(self) -> str:
        """The value with its unit; empty without one."""
        return "" if self.value is None else written(self.expression, self.value)

    def document(self) -> JsonObject:
        """As plain JSON."""
        return {
            "expression": self.expression, "verdict": self.verdict, "met": self.met, "missed": self.missed,
            "unknown": self.unknown, "value": self.value, "treatment": self.treatment,
            "trials": [*self.trials],
        }  # fmt: skip


def outcomes(trials: Sequence[Trial]) -> tuple[ExpectationOutcome, ...]:
    """Outcomes in the order of the plan."""
    results: dict[str, list[tuple[Trial, ExpectationResult]]] = {}
    for trial in trials:
        for result in trial.expectations:
            results.setdefault(result.expression, []).append((trial, result))
    return tuple(_outcome(expression, judged) for expression, judged in results.items())


def _outcome(expression: str, judged: Sequence[tuple[Trial, ExpectationResult]]) -> ExpectationOutcome:
    names: dict[Outcome, list[str]] = {
        verdict: [trial.name for trial, result in judged if result.verdict == verdict]
        for verdict in get_args(Outcome)
    }
    order: tuple[Outcome, ...] = ("missed", "unknown", "met")
    verdict: Outcome = next(verdict for verdict in order if names[verdict])
    expectation = Expectation.recorded(expression)
    valued = [(result.value, trial.treatment) for trial, result in judged if result.value is not None]
    value, treatment = max(
        valued, key=lambda pair: expectation.distance(pair[0]) if expectation else 0.0, default=(None, None)
    )
    return ExpectationOutcome(
        expression,
        verdict,
        len(names["met"]),
        len(names["missed"]),
        len(names["unknown"]),
        tuple(names[verdict]),
        value,
        treatment,
    )
