"""Sources of a run's trials: all planned when it begins, or, in a search, each decided after those before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from loadcell.design.order import Trial
from loadcell.model.trial_record import TrialRecord


class TrialSource(Protocol):
    """Trials that a runner executes."""

    def __iter__(self) -> Iterator[Trial]:
        """Trials in the order of execution."""

    def ended(self, record: TrialRecord) -> TrialRecord:
        """Take the end of the current trial into account; returns its record as it is to be stored."""


class Known:
    """Trials that are all known when the run begins."""

    def __init__(self, trials: Sequence[Trial]) -> None:
        self.trials = trials

    def __iter__(self) -> Iterator[Trial]:
        return iter(self.trials)

    def ended(self, record: TrialRecord) -> TrialRecord:
        return record
