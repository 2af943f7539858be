"""The beginning of a run, before there is anything of it: who interrupts it there is told so."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from loadcell.execution import runner as execution


@contextlib.contextmanager
def beginning() -> Iterator[None]:
    """A KeyboardInterrupt in here gets a note that nothing is left; the root command prints it."""
    try:
        yield
    except KeyboardInterrupt as error:
        error.add_note(execution.NOTHING_LEFT)
        raise
