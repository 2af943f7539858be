"""The trials ahead of a run: all known when it begins; or, in a search, each decided when those before it have ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from loadcell.design.order import Trial


class Ahead(Protocol):
    """What a runner works through."""

    def __iter__(self) -> Iterator[Trial]:
        """The trials in the order they are run."""

    def ended(self, document: dict[str, Any]) -> dict[str, Any]:
        """Take notice of how the present trial ended; returns its trial.json as it is to be kept."""


class Known:
    """Trials that were all known when the run began."""

    def __init__(self, trials: Sequence[Trial]) -> None:
        self.trials = trials

    def __iter__(self) -> Iterator[Trial]:
        return iter(self.trials)

    def ended(self, document: dict[str, Any]) -> dict[str, Any]:
        return document
