"""The plan of a run that is repeated (`loadcell run RUN_DIRECTORY`) or resumed.

It is loaded from the run directory, with its name, its changes, and the copies of the files that it names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from loadcell import parts
from loadcell.model.run_record import RepeatedRun
from loadcell.plan import load as plan_loader
from loadcell.store import copies, layout

if TYPE_CHECKING:
    from loadcell.plan.load import LoadedPlan
    from loadcell.store.read import StoredRun


@dataclass(frozen=True)
class Again:
    """A run to repeat or resume."""

    stored: StoredRun

    def seed(self, sets: tuple[str, ...]) -> int | None:
        """Its seed, unless `sets` give another."""
        other = any(text.partition("=")[0].strip() == "seed" for text in sets)
        return None if other else self.stored.run.seed

    @property
    def record(self) -> RepeatedRun:
        """The run as the new run records it."""
        return RepeatedRun(self.stored.short_id, str(self.stored.path.absolute()))

    def load(self, sets: tuple[str, ...], only: tuple[str, ...], labels: tuple[str, ...]) -> LoadedPlan:
        """Its plan. `sets` follow its own, `only` replaces its own; labels of its command line are not
        repeated, because they belong to that run.

        Raises StoreError for a file that is damaged, changed or gone, and PlanError.
        """
        run = self.stored.run
        files = copies.to_run_again(self.stored.path, run)
        return self._loaded((*run.sets, *sets), only or run.only, labels, files, begun=False)

    def load_to_resume(
        self, sets: tuple[str, ...], only: tuple[str, ...], labels: tuple[str, ...]
    ) -> LoadedPlan:
        """Its plan as written, to complete the run: with its undamaged copies of files, and other files
        from the plan's directory. Raises PlanError.
        """
        files = copies.undamaged_copies(self.stored.path, self.stored.run)
        return self._loaded(sets, only, labels, files, begun=True)

    def _loaded(
        self,
        sets: tuple[str, ...],
        only: tuple[str, ...],
        labels: tuple[str, ...],
        files: Mapping[str, Path],
        *,
        begun: bool,
    ) -> LoadedPlan:
        run = self.stored.run
        return plan_loader.load_plan(
            self.stored.path / layout.PLAN,
            parts.installed(),
            sets=sets,
            only=only,
            directory=None if run.plan_directory is None else Path(run.plan_directory),
            added_labels=labels,
            copies=files,
            name=run.plan_name,
            begun=begun,
        )
