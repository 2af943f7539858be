"""Contract of the options of every probe."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from loadcell.model.json import JsonObject
from loadcell.plan.parts import Advice, Misfit, Options
from loadcell.plan.workload import declare_unit

if TYPE_CHECKING:
    from loadcell.plan.model import Load

#: What the throughput of most probes counts.
PASS = declare_unit("pass")


class Section(Options):
    """One probe's options. Paths of remarks and misfits are relative to them."""

    @property
    def unit(self) -> str:
        """Unit of throughput: passes, each of the work that is timed as one."""
        return PASS

    @property
    def pipeline(self) -> int:
        """Number of transactions a client has in progress at the most."""
        return 1

    @property
    def lays_out(self) -> bool:
        """True if files are made before anything is measured."""
        return False

    @abstractmethod
    def engine(self) -> JsonObject:
        """The section for the engine."""

    def notes(self) -> tuple[str, ...]:
        """By which definition it measures: keys of `note.*` in the report's texts."""
        return ()

    def advice(self) -> list[Advice]:
        """Remarks on options that are valid but unwise."""
        return []

    def misfits(self, load: Load) -> list[Misfit]:  # noqa: ARG002
        """Reasons that the probe is impossible under that load."""
        return []
