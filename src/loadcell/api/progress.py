"""The display of a run's progress that suits the place: notebook, terminal, or a line per trial."""

from __future__ import annotations

import sys

from loadcell.api import notebook
from loadcell.execution import progress as run_progress
from loadcell.execution import progress_live
from loadcell.plan.problems import Writer


def display(write: Writer, *, quiet: bool = False, verbose: bool = False) -> run_progress.Progress:
    """A display on standard error, or in the present cell of a notebook; `quiet` shows notes only."""
    if quiet:
        return run_progress.Progress(write=write)
    if notebook.is_kernel():
        return notebook.NotebookProgress(write, verbose=verbose)
    if sys.stderr.isatty():
        return progress_live.LiveProgress(write=write, verbose=verbose)
    return run_progress.LineProgress(write=write, verbose=verbose)
