"""Provenance of a run: the git checkout that its plan lies in, and the files that the plan names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from loadcell.linux.checkout import checkout_of
from loadcell.model.message import Message, MessageCode
from loadcell.model.run_record import RunRecord
from loadcell.plan.load import LoadedPlan
from loadcell.plan.secrets import Secrets
from loadcell.store.copies import LARGE, SECRET, copy_files

FILES_LARGE = MessageCode("run.files-large", "info", files=list)
FILES_SECRET = MessageCode("run.files-secret", "info", files=list)

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
            note(remark(files=[*names[:_MOST_NAMED], *(["…"] if len(names) > _MOST_NAMED else [])]))
    return replace(run, checkout=checkout_of(plan.directory), files=files or None)
