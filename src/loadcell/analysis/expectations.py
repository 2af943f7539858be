"""Outcome of each expectation over the trials of a run, with the least favourable value that was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loadcell.analysis.trials import Trial
from loadcell.model.json import JsonObject
from loadcell.model.trial_record import ExpectationResult
from loadcell.plan.expect import Expectation, Outcome, written

#: An expression, and the title of the fault whose own expectation it is.
_Key = tuple[str, str | None]
#: From the worst to the best.
_ORDER: tuple[Outcome, ...] = ("missed", "unknown", "met")


@dataclass(frozen=True)
class ExpectationOutcome:
    """An expectation over all trials that it was applied to.

    `fault` is the title of the fault whose own expectation it is; None for one of the plan. `verdict` is
    `missed` if any trial missed it, `met` if all met it, otherwise `unknown`. `trials` have that verdict.
    `value`, in the metric's own unit, is the least favourable one, of the trial of `treatment` (an id); None
    where no trial has a value.
    """

    expression: str
    verdict: Outcome
    met: int
    missed: int
    unknown: int
    trials: tuple[str, ...]
    value: float | None
    treatment: str | None
    fault: str | None = None

    @property
    def value_text(self) -> str:
        """The value with its unit; empty without one."""
        return "" if self.value is None else written(self.expression, self.value)

    def document(self) -> JsonObject:
        """As plain JSON."""
        return {
            "expression": self.expression, "fault": self.fault, "verdict": self.verdict, "met": self.met,
            "missed": self.missed, "unknown": self.unknown, "value": self.value, "treatment": self.treatment,
            "trials": [*self.trials],
        }  # fmt: skip


def outcomes(trials: Sequence[Trial]) -> tuple[ExpectationOutcome, ...]:
    """Outcomes in the order of the plan. A trial with several faults of one title counts once."""
    results: dict[_Key, list[tuple[Trial, ExpectationResult]]] = {}
    for trial in trials:
        for key, of_trial in by_fault(trial).items():
            results.setdefault(key, []).append((trial, _worst(of_trial)))
    return tuple(_outcome(*key, judged) for key, judged in results.items())


def by_fault(trial: Trial) -> dict[_Key, list[ExpectationResult]]:
    """The results of a trial by expression and the title of the fault, None for expectations of the plan."""
    results: dict[_Key, list[ExpectationResult]] = {}
    for result in trial.expectations:
        number = result.fault
        fault = trial.faults[number] if number is not None and number < len(trial.faults) else None
        results.setdefault((result.expression, fault), []).append(result)
    return results


def _worst(results: Sequence[ExpectationResult]) -> ExpectationResult:
    """The least favourable of the results of one expectation in a trial."""
    expectation = Expectation.recorded(results[0].expression)

    def distance(result: ExpectationResult) -> tuple[int, float]:
        far = 0.0 if result.value is None or expectation is None else expectation.distance(result.value)
        return -_ORDER.index(_verdict(result)), far

    return max(results, key=distance)


def _verdict(result: ExpectationResult) -> Outcome:
    return next((verdict for verdict in _ORDER if verdict == result.verdict), "unknown")


def _outcome(
    expression: str, fault: str | None, judged: Sequence[tuple[Trial, ExpectationResult]]
) -> ExpectationOutcome:
    names: dict[Outcome, list[str]] = {
        verdict: [trial.name for trial, result in judged if result.verdict == verdict] for verdict in _ORDER
    }
    verdict: Outcome = next(verdict for verdict in _ORDER if names[verdict])
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
        fault,
    )
