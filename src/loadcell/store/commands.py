"""Commands about a run that a person is told to type, as a shell takes them."""

from __future__ import annotations

import shlex
from pathlib import Path

#: What runs a plan, and goes on with it.
RUN = "loadcell run"


def resume(run: Path | str, *, by: str = RUN) -> str:
    """The command that goes on with a run."""
    return f"{by} --resume {quoted(run)}"


def quoted(path: Path | str) -> str:
    """A path as one word of a shell."""
    return shlex.quote(str(path))
