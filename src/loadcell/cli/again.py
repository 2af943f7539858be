"""The run whose directory a command line has in place of a plan."""

from __future__ import annotations

from pathlib import Path

from loadcell.api.again import Again
from loadcell.cli import language
from loadcell.cli.streams import echo
from loadcell.model.message import MessageCode
from loadcell.store import copies, layout
from loadcell.store import read as stored_runs

NOT_AGAIN_IMPORTED = MessageCode("again.imported", path=str)
NOT_AGAIN_ANONYMOUS = MessageCode("again.anonymous", path=str)
PROGRAMS_CHANGED = MessageCode("again.programs-changed", "info", programs=list)
PLAN_OF_RUN = MessageCode("again.plan", "info", run=str)
NOT_AGAIN_NO_PLAN = MessageCode("again.no-plan", path=str)


def of(plan: str | None) -> Again | None:
    """The run whose directory was given in place of a plan; None for a plan. Prints a line on that run, and
    one on changed programs. Raises StoreError for a run that cannot be repeated.
    """
    if plan is None or not layout.is_run(Path(plan)):
        return None
    stored = stored_runs.read_run(Path(plan))
    if stored.run.imported is not None:
        raise layout.StoreError(NOT_AGAIN_IMPORTED(path=plan))
    if stored.run.anonymous:
        raise layout.StoreError(NOT_AGAIN_ANONYMOUS(path=plan))
    if not (stored.path / layout.PLAN).is_file():
        raise layout.StoreError(NOT_AGAIN_NO_PLAN(path=stored.path / layout.PLAN))
    echo(language.written(PLAN_OF_RUN(run=stored.short_id)), err=True)
    if changed := copies.changed_programs(stored.run):
        echo(language.written(PROGRAMS_CHANGED(programs=changed)), err=True)
    return Again(stored)
