"""Registry of systems, workloads, monitors and faults: the built-in ones and those of entry points.

A built-in part is found by scanning: each module of `workloads`, `monitors` and `faults`, and in each package
of `systems` the modules `target`, `workload`, `monitor` and `faults`. A module registers by defining
`PART = TheClass`.
"""

from __future__ import annotations

import importlib.util
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from itertools import chain
from types import ModuleType
from typing import Any

from loadcell import faults, monitors, systems, workloads
from loadcell.linux.cpu import topology
from loadcell.linux.system import usable_bytes
from loadcell.model import extensions, metrics
from loadcell.plan.parts import Parts


class PartTable(Mapping[str, type[Any]]):
    """Parts of one kind by name, each imported when it is first used: a plan names few of them.

    A part with the name of its module, or of its system's package, is imported alone. Other names, and
    iteration, import the parts of all modules and of entry points in `group`; of two parts with one name the
    built-in one counts. Raises ExtensionError, and what the import of a part raises.
    """

    def __init__(self, modules: Callable[[], Iterator[tuple[str, str]]], group: str) -> None:
        self._find_modules = modules
        self._group = group

    def __getitem__(self, name: str) -> type[Any]:
        part = _part(self._modules[name]) if name in self._modules else None
        return part if part is not None and part.name == name else self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def load(self) -> None:
        """Import every part."""
        self._all  # noqa: B018 - its first use imports them

    @cached_property
    def _modules(self) -> dict[str, str]:
        return dict(self._find_modules())

    @cached_property
    def _all(self) -> dict[str, type[Any]]:
        built_in = (_part(module) for module in self._modules.values())
        parts: dict[str, type[Any]] = {part.name: part for part in built_in if part is not None}
        for part in extensions.load_all(self._group):
            parts.setdefault(part.name, part)
        return parts


@cache
def _part(module: str) -> type[Any] | None:
    part: type[Any] | None = getattr(importlib.import_module(module), "PART", None)
    return part


def _modules(package: ModuleType) -> Iterator[tuple[str, str]]:
    """Names of the modules in a package, short and full."""
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        yield module.name.rpartition(".")[2], module.name


def _system_modules(name: str) -> Iterator[tuple[str, str]]:
    """Names of the packages of `systems` that have a module `name`, each with that of the module."""
    for system in pkgutil.iter_modules(systems.__path__):
        module = f"{systems.__name__}.{system.name}.{name}"
        if system.ispkg and importlib.util.find_spec(module) is not None:
            yield system.name, module


@cache
def installed() -> Parts:
    """All parts of this installation."""
    targets = PartTable(lambda: _system_modules("target"), extensions.TARGETS)
    workload_parts = PartTable(
        lambda: chain(_modules(workloads), _system_modules("workload")), extensions.WORKLOADS
    )
    monitor_parts = PartTable(
        lambda: chain(_modules(monitors), _system_modules("monitor")), extensions.MONITORS
    )
    fault_parts = PartTable(lambda: chain(_modules(faults), _system_modules("faults")), extensions.FAULTS)
    for table in (targets, workload_parts, monitor_parts, fault_parts):
        metrics.add_source(table.load)
    return Parts(targets, workload_parts, monitor_parts, topology, usable_bytes, fault_parts)
