"""Memory of processes by NUMA node as evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from loadcell.incidents.evidence.base import Evidence


@dataclass(frozen=True, slots=True)
class NodeMemory:
    """A process that runs on one node: its memory, and that on other nodes."""

    pid: int
    name: str
    node: int
    total_bytes: int
    far_bytes: int

    @property
    def far_share(self) -> float:
        """Share of its memory on other nodes."""
        return self.far_bytes / self.total_bytes if self.total_bytes else 0.0


@dataclass(frozen=True)
class NumaMemory(Evidence):
    """Large processes of a machine, and the number of its nodes."""

    kind: ClassVar[str] = "numa"

    nodes: int
    processes: tuple[NodeMemory, ...] = ()
