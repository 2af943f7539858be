"""Provenance of a run: the git checkout that its plan lies in, and the files that the plan names. A resumed
run has the same files; its trials would be of different ones under one hash otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from loadcell.execution.resume import PlanChangedError
from loadcell.linux.checkout import checkout_of
from loadcell.model.message import Message, MessageCode
from loadcell.model.run_record import Checkout, RunRecord
from loadcell.plan.load import LoadedPlan
from loadcell.plan.secrets import Secrets
from loadcell.store.copies import LARGE, SECRET, changed_files, changed_programs, copy_files

FILES_LARGE = MessageCode("run.files-large", "info", files=list)
FILES_SECRET = MessageCode("run.files-secret", "info", files=list)
RESUME_FILE = MessageCode("resume.file", file=str, path=str)
RESUME_PROGRAMS = MessageCode("resume.programs", "info", programs=list)
RESUME_CHECKOUT = MessageCode("resume.checkout", "info", before=str, now=str)

#: Files that a remark names.
_MOST_NAMED = 5


def of_plan(
    run: RunRecord, plan: LoadedPlan, directory: Path, secrets: Secrets, note: Callable[[Message], object]
) -> RunRecord:
    """The record with its provenance; the plan's files are copied into the run directory. Raises StoreError.

    `note` gets a remark on files without a copy, which a repetition of the run needs where they are.
    """
    files = copy_files(directory, plan.files, secrets.values_in("\n".join((plan.text, *plan.sets))))
    for why_not, remark in ((LARGE, FILES_LARGE), (SECRET, FILES_SECRET)):
        names = [file.file for file in files if file.why_not == why_not]
        if names:
            note(remark(files=_some(names)))
    return replace(run, checkout=checkout_of(plan.directory), files=files or None)


def of_resumption(run: RunRecord, plan: LoadedPlan, note: Callable[[Message], object]) -> Checkout | None:
    """The checkout with which a run is resumed. `note` gets remarks on programs that changed, and on another
    commit.

    Raises PlanChangedError for files that have other contents than at the run's beginning.
    """
    if run.anonymous:
        return None
    changed = changed_files(run, plan.files.named)
    if changed:
        paths = plan.files.named
        raise PlanChangedError([RESUME_FILE(file=name, path=paths[name].absolute()) for name in changed])
    if programs := changed_programs(run):
        note(RESUME_PROGRAMS(programs=_some(programs)))
    checkout = checkout_of(plan.directory)
    before = run.checkouts[-1] if run.checkouts else None
    if before is not None and checkout is not None and before.name != checkout.name:
        note(RESUME_CHECKOUT(before=before.name, now=checkout.name))
    return checkout


def _some(names: list[str]) -> list[str]:
    return [*names[:_MOST_NAMED], *(["…"] if len(names) > _MOST_NAMED else [])]
