"""Capabilities: a target offers them, a workload or monitor needs them; neither knows the other's name."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Capability:
    """A protocol, or another ability of a target. Capabilities of one name are equal, whoever declares them.

    The name of a protocol is that of the engine's endpoints (`protocol`).
    """

    name: str


POSTGRES, MYSQL, RESP, HTTP, STORE, DUCKDB, HOST = map(
    Capability, ("postgres", "mysql", "resp", "http", "store", "duckdb", "host")
)
#: The target makes a database for the data of a workload, and removes it.
DATABASES = Capability("databases")


@dataclass(frozen=True, slots=True)
class TargetKind:
    """A target as workloads know it: its name, for messages, and what it offers."""

    name: str
    offers: frozenset[Capability] = field(default_factory=frozenset)
