"""Control groups that loadcell makes for processes under test, with limits, and removes again.

v1 has a hierarchy per controller, v2 one for all; either may carry a controller (cgroups(7)). A new group is
made below that of the process in v1, below the root in v2, whose inner groups have no processes; it then
takes over the limits of that of the process. Groups of others are never changed.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from loadcell.linux import procfs

if TYPE_CHECKING:
    from loadcell.linux.process_tree import ProcessRoot

_HOME = Path("sys/fs/cgroup")
_PREFIX = "loadcell-"
#: Limits of v2 groups with one value. Those of devices and of processors are not taken over.
_SIZES_AND_RATES = ("cpu.max", "memory.high", "memory.max", "memory.swap.max", "pids.max")
_UNLIMITED = "max"
#: Files with processes move in a moment after these are gone.
_REMOVE_LIMIT_S = 5.0


@dataclass(frozen=True)
class Hierarchy:
    """A hierarchy with the controller: its directory, and whether it is v2."""

    directory: Path
    unified: bool


def hierarchy(controller: str, unified_name: str = "", root: Path = procfs.ROOT) -> Hierarchy | None:
    """Where groups of a controller can be made; None where they cannot. `unified_name` is its name in v2."""
    v1 = root / _HOME / controller
    if (v1 / "cgroup.procs").exists() and not (v1 / "cgroup.controllers").exists():
        return Hierarchy(v1, False) if os.access(v1, os.W_OK) else None
    for v2 in (root / _HOME, root / _HOME / "unified"):
        enabled = procfs.text(v2 / "cgroup.subtree_control").split()
        if (unified_name or controller) in enabled and os.access(v2, os.W_OK):
            return Hierarchy(v2, True)
    return None


def present_group(hierarchy: Hierarchy, pid: int, root: Path = procfs.ROOT) -> Path:
    """The group of a process in that hierarchy."""
    controller = "" if hierarchy.unified else hierarchy.directory.name
    for row in procfs.text(root / "proc" / str(pid) / "cgroup").splitlines():
        _, _, groups = row.partition(":")
        controllers, _, path = groups.partition(":")
        if (controller in controllers.split(",")) if controller else not controllers:
            return hierarchy.directory / path.strip("/")
    return hierarchy.directory


def new_name() -> str:
    """Name of a new group."""
    return f"{_PREFIX}{os.getpid()}-{time.monotonic_ns()}"


def is_ours(group: Path) -> bool:
    """True if loadcell made the group."""
    return group.name.startswith(_PREFIX)


def group_of(hierarchy: Hierarchy, pid: int, name: str) -> Path:
    """Path of a group for a process; it is not made yet."""
    parent = hierarchy.directory if hierarchy.unified else present_group(hierarchy, pid)
    return parent / name


def with_present_limits(hierarchy: Hierarchy, group: Path, limits: Mapping[str, str]) -> dict[str, str]:
    """The limits of a new group of v2, with those of the present group of its processes and of the groups
    above it, from which they move away; of two limits of one resource the smaller one.
    """
    smallest = dict(limits)
    folders = (group, *group.parents) if hierarchy.unified else ()
    for folder in folders:
        if folder == hierarchy.directory:
            break
        for name in _SIZES_AND_RATES:
            present = procfs.line(folder / name)
            if present is not None and _amount(present) < _amount(smallest.get(name, _UNLIMITED)):
                smallest[name] = present
    return smallest


def _amount(limit: str) -> float:
    """The amount of a limit: a size, a number, or a quota over its period."""
    quota, *period = limit.split()
    return inf if quota == _UNLIMITED else int(quota) / int(*period or (1,))


def move(group: Path, pids: Iterable[int]) -> int:
    """Move processes into a group; the number of those that lived."""
    moved = 0
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            (group / "cgroup.procs").write_text(str(pid))
            moved += 1
    return moved


def move_verified(group: Path, back: Path, processes: Iterable[ProcessRoot]) -> None:
    """Move processes into a group; one that got the id of another is moved `back`."""
    for process in processes:
        if procfs.started(process.pid) != process.started:
            continue
        move(group, [process.pid])
        if procfs.started(process.pid) not in (process.started, None):
            move(back, [process.pid])


def make(group: Path, limits: Mapping[str, str]) -> None:
    """Make a group with limits, by file name. Raises OSError."""
    group.mkdir()
    for name, value in limits.items():
        (group / name).write_text(value)


def change(group: Path, limits: Mapping[str, str]) -> None:
    """Change limits of a group that `make` made, as far as it and their files exist. Raises OSError."""
    if not is_ours(group):
        raise ValueError(group)
    for name, value in limits.items():
        if (group / name).exists():
            with contextlib.suppress(FileNotFoundError):
                (group / name).write_text(value)


def members(group: Path) -> list[int]:
    """Processes in a group."""
    return [int(word) for word in procfs.text(group / "cgroup.procs").split()]


def remove(group: Path, back: Path) -> None:
    """Move the processes of a group that `make` made back, and remove it. Raises OSError."""
    if not is_ours(group):
        raise ValueError(group)
    deadline = time.monotonic() + _REMOVE_LIMIT_S
    while group.exists():
        move(back if back.exists() else group.parent, members(group))
        try:
            group.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
