"""Gathers every target, workload and monitor there is: the built-in ones and those of entry points."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoints, entry_points
from types import ModuleType
from typing import Any

from loadcell import monitors, targets, workloads
from loadcell.host.topology import topology
from loadcell.plan.parts import Parts


def _found_in(
    package: ModuleType, registered: Callable[..., EntryPoints], group: str
) -> dict[str, type[Any]]:
    """Every class a module of `package` offers as `PART`, and every one an entry point of `group` names."""
    found: dict[str, type[Any]] = {}
    for module_info in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        part = getattr(importlib.import_module(module_info.name), "PART", None)
        if part is not None:
            found[part.name] = part
    for entry in registered(group=group):
        part = entry.load()
        found.setdefault(part.name, part)
    return found


@cache
def installed() -> Parts:
    """All parts of this installation. A module registers by defining `PART = TheClass`."""
    registered = entry_points().select  # reads a file of every package there is
    return Parts(
        targets=_found_in(targets, registered, "loadcell.targets"),
        workloads=_found_in(workloads, registered, "loadcell.workloads"),
        monitors=_found_in(monitors, registered, "loadcell.monitors"),
        topology=topology,
    )
