"""Outcome of each expectation over the trials of a run, with the least favourable value that was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loadcell.analysis.trials import Trial
from loadcell.model.json import JsonObject
from loadcell.model.message import Message, MessageCode
from loadcell.model.trial_record import ExpectationResult
from loadcell.plan.expect import WORST_FIRST, Expectation, Outcome, written

MORE_THAN = MessageCode("found.expect.more-than", "info", value=str)

#: An expression, and the title of the fault whose own expectation it is.
_Key = tuple[str, str | None]


@dataclass(frozen=True)
class ExpectationOutcome:
    """An expectation over all trials that it was applied to.

    `fault` is the title of the fault whose own expectation it is; None for one of the plan. `verdict` is
    `missed` if any trial missed it, `met` if all met it, otherwise `unknown`. `trials` have that verdict.
    `value`, in the metric's own unit, is the least favourable one, of the trial of `treatment` (an id); None
    where no trial has a value, or where that trial only has a lower bound of it, `at_least`.
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
    at_least: float | None = None

    @property
    def value_text(self) -> Message | str:
        """The value with its unit, or its lower bound; empty without one."""
        if self.at_least is not None:
            return MORE_THAN(value=written(self.expression, self.at_least))
        return "" if self.value is None else written(self.expression, self.value)

    def document(self) -> JsonObject:
        """As plain JSON."""
        return {
            "expression": self.expression, "fault": self.fault, "verdict": self.verdict, "met": self.met,
            "missed": self.missed, "unknown": self.unknown, "value": self.value, "at_least": self.at_least,
            "treatment": self.treatment, "trials": [*self.trials],
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
    return max(
        results, key=lambda result: (-WORST_FIRST.index(_verdict(result)), _distance(expectation, result))
    )


def _distance(expectation: Expectation | None, result: ExpectationResult) -> tuple[bool, float]:
    """Rank of a result, the least favourable last; a value without an upper bound is worse than any other."""
    value = result.value if result.at_least is None else result.at_least
    is_open = result.at_least is not None and result.verdict == "missed"
    return is_open, 0.0 if value is None or expectation is None else expectation.distance(value)


def _verdict(result: ExpectationResult) -> Outcome:
    return next((verdict for verdict in WORST_FIRST if verdict == result.verdict), "unknown")


def _outcome(
    expression: str, fault: str | None, judged: Sequence[tuple[Trial, ExpectationResult]]
) -> ExpectationOutcome:
    names: dict[Outcome, list[str]] = {
        verdict: [trial.name for trial, result in judged if result.verdict == verdict]
        for verdict in WORST_FIRST
    }
    verdict: Outcome = next(verdict for verdict in WORST_FIRST if names[verdict])
    expectation = Expectation.recorded(expression)
    valued = [item for item in judged if item[1].value is not None or item[1].at_least is not None]
    worst = max(valued, key=lambda item: _distance(expectation, item[1]), default=None)
    return ExpectationOutcome(
        expression,
        verdict,
        len(names["met"]),
        len(names["missed"]),
        len(names["unknown"]),
        tuple(names[verdict]),
        None if worst is None else worst[1].value,
        None if worst is None else worst[0].treatment,
        fault,
        None if worst is None else worst[1].at_least,
    )
