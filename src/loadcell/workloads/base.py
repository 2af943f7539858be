"""What every workload of the engine gives: its data, and what the engine is told to do with it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

from loadcell.plan.parts import Advice, Options

Opts = TypeVar("Opts", bound=Options)

#: The seed that data sets are loaded with: never a run's own, so that equal descriptions give equal rows.
DATA_SEED = 1


class Workload(ABC, Generic[Opts]):
    """A workload of the engine, as one treatment sets it."""

    name: ClassVar[str]
    summary: ClassVar[str]
    Options: ClassVar[type[Options]]
    #: names of the targets this workload can be run on
    targets: ClassVar[tuple[str, ...]]

    def __init__(self, options: Opts) -> None:
        self.options = options

    @abstractmethod
    def data(self) -> dict[str, Any] | None:
        """What the data set depends on, as plain JSON values; None when the workload needs no data.

        Two workloads with equal `data()` can share a data set. The dict is also the `workload` the
        engine is given to load the data.
        """

    @property
    @abstractmethod
    def changes_data(self) -> bool:
        """Whether running it leaves the data set other than it was loaded."""

    @abstractmethod
    def engine(self) -> dict[str, Any]:
        """The `workload` section of the engine's specification."""

    def advice(self) -> list[Advice]:
        """Remarks on these options (paths relative to the workload's own section)."""
        return []
