"""Work directories of runs whose process has ended."""

from __future__ import annotations

import json
from pathlib import Path

from loadcell.execution import workdir

#: An id above the kernel's highest.
NOBODY = 2**22 + 1


def dead_run(home: Path, name: str) -> Path:
    """The work directory of a run whose process is gone."""
    path = workdir.make_directory(name, home)
    end_owner(path)
    return path


def end_owner(path: Path, pid: int = NOBODY) -> None:
    """Record another process, which is gone, as the owner of a work directory."""
    owner = path / "owner.json"
    owner.write_text(json.dumps(json.loads(owner.read_text()) | {"pid": pid, "pid_start_time": 1}))
