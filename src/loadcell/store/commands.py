"""Commands about a run for users to type, quoted for a shell."""

from __future__ import annotations

import shlex
from pathlib import Path

#: The command that runs and resumes a plan.
RUN = "loadcell run"


def resume(run: Path | str, *, by: str = RUN) -> str:
    """The command that resumes a run."""
    return f"{by} --resume {quoted(run)}"


def quoted(path: Path | str) -> str:
    """A path as one word of a shell."""
    return shlex.quote(str(path))
