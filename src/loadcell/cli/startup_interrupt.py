"""The start of a run, before its directory exists: an interrupt gets a message about that."""

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
