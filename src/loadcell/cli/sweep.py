"""`python -m loadcell.cli.sweep HOME`: removes the remains of killed runs; started by a run's guardian."""

from __future__ import annotations

import sys
from pathlib import Path

from loadcell import parts
from loadcell.execution import workdir


def release(work: Path) -> None:
    """Free what the targets of a killed run hold outside its work directory."""
    for name, part in parts.installed().targets.items():
        part.release(work / name)


if __name__ == "__main__":
    workdir.sweep_after_kill(Path(sys.argv[1]), release)
