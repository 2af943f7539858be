"""Extensions: installed packages that add parts by entry points; and the capabilities by which parts fit.

The value of an entry point is a class, an object, or a module whose import declares what it adds. A target
offers capabilities, a workload or monitor needs them; neither knows the other's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from loadcell.model.message import ForeignText, MessageCode, MessageError


@dataclass(frozen=True, slots=True)
class Capability:
    """A protocol, or another ability of a target. Capabilities of one name are equal, whoever declares them.

    The name of a protocol is that of the engine's endpoints (`protocol`).
    """

    name: str


POSTGRES, MYSQL, RESP, HTTP, STREAM, STORE, DUCKDB, FILES, HOST = map(
    Capability, ("postgres", "mysql", "resp", "http", "stream", "store", "duckdb", "files", "host")
)
#: The target is a JVM, or starts one.
JVM = Capability("jvm")
#: The target makes a database for the data of a workload, and removes it.
DATABASES = Capability("databases")


@dataclass(frozen=True, slots=True)
class TargetKind:
    """A target as workloads know it: its name, for messages, and what it offers."""

    name: str
    offers: frozenset[Capability] = field(default_factory=frozenset)


TARGETS: Final = "loadcell.targets"
WORKLOADS: Final = "loadcell.workloads"
MONITORS: Final = "loadcell.monitors"
FAULTS: Final = "loadcell.faults"
READERS: Final = "loadcell.readers"
PANELS: Final = "loadcell.panels"
CLIENT_PROGRAMS: Final = "loadcell.client_programs"
FINDINGS: Final = "loadcell.findings"
INCIDENTS: Final = "loadcell.incidents"

EXTENSION_BROKEN = MessageCode("extension.broken", package=str, entry=str, error=ForeignText)


class ExtensionError(MessageError):
    """An installed extension cannot be imported."""


@cache
def entries(group: str) -> Mapping[str, EntryPoint]:
    """Entry points of a group by name."""
    return {entry.name: entry for entry in entry_points(group=group)}


def load(entry: EntryPoint) -> Any:
    """The object that the entry point names. Raises ExtensionError."""
    try:
        return entry.load()
    except Exception as error:
        package = entry.dist.name if entry.dist is not None else entry.module
        message = EXTENSION_BROKEN(
            package=package, entry=entry.value, error=f"{type(error).__name__}: {error}"
        )
        raise ExtensionError(message) from error


def load_all(group: str) -> tuple[Any, ...]:
    """The objects that all entry points of a group name, in the order of their names.

    Raises ExtensionError.
    """
    return tuple(load(entry) for _, entry in sorted(entries(group).items()))
