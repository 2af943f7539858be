"""Processes of the run in which a host is examined: those of its target and of its tools."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from loadcell.linux import procfs

#: Name of the process of a run (`execution/machine_watch.py`).
RUN_NAME: Final = "loadcell-run"


def of_run(pids: Iterable[int], root: Path = procfs.ROOT, caller: int | None = None) -> frozenset[int]:
    """Those of the processes that descend from the run of the caller; none without such a run."""
    ancestors = _ancestors(os.getpid() if caller is None else caller, root)
    run = next((stat.pid for stat in ancestors if stat.name == RUN_NAME), None)
    if run is None:
        return frozenset()
    return frozenset(pid for pid in pids if any(stat.pid == run for stat in _ancestors(pid, root)))


def _ancestors(pid: int, root: Path) -> Iterator[procfs.ProcessStat]:
    """A process, its parent, and so on."""
    while pid > 0 and (stat := procfs.process_stat(root, pid)) is not None:
        yield stat
        pid = stat.parent
