"""Registry of targets, workloads and monitors: the built-in ones and those of entry points.

A built-in part is found by scanning: each module of `workloads` and `monitors`, and in each package of
`systems` the modules
`target`, `workload` and `monitor`. A module registers by defining `PART = TheClass`.
"""

from __future__ import annotations

import importlib.util
import pkgutil
from collections.abc import Iterable, Iterator
from functools import cache
from types import ModuleType
from typing import Any

from loadcell import monitors, systems, workloads
from loadcell.linux.cpu import topology
from loadcell.model import extensions
from loadcell.plan.parts import Parts


def _modules(package: ModuleType) -> Iterator[str]:
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        yield module.name


def _system_modules(name: str) -> Iterator[str]:
    """Modules called `name` in the packages of `systems`."""
    for system in pkgutil.iter_modules(systems.__path__, systems.__name__ + "."):
        module = f"{system.name}.{name}"
        if system.ispkg and importlib.util.find_spec(module) is not None:
            yield module


def _registered(modules: Iterable[str], group: str) -> dict[str, type[Any]]:
    """Classes by name: the `PART` of each module, then each that an entry point of `group` names."""
    parts: dict[str, type[Any]] = {}
    for name in modules:
        part = getattr(importlib.import_module(name), "PART", None)
        if part is not None:
            parts[part.name] = part
    for part in extensions.load_all(group):
        parts.setdefault(part.name, part)
    return parts


@cache
def installed() -> Parts:
    """All parts of this installation."""
    workload_modules = [*_modules(workloads), *_system_modules("workload")]
    monitor_modules = [*_modules(monitors), *_system_modules("monitor")]
    return Parts(
        targets=_registered(_system_modules("target"), extensions.TARGETS),
        workloads=_registered(workload_modules, extensions.WORKLOADS),
        monitors=_registered(monitor_modules, extensions.MONITORS),
        topology=topology,
    )
