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


@dataclass(frozen=True, slots=True)
class NumaAllocations:
    """Memory that the kernel allocated within a window (numastat(8)): on the node of the processor that
    requested it, and on others. `missed_bytes` were to be on a node that had no free memory.

    `past_share` is the share on other nodes since the start of the kernel; None where it is not known.
    """

    window_s: float
    local_bytes: float
    other_bytes: float
    missed_bytes: float
    past_share: float | None = None

    @property
    def total_bytes(self) -> float:
        """All memory that was allocated."""
        return self.local_bytes + self.other_bytes

    @property
    def other_share(self) -> float:
        """Share on other nodes."""
        return self.other_bytes / self.total_bytes if self.total_bytes else 0.0


@dataclass(frozen=True)
class NumaMemory(Evidence):
    """Large processes of a machine, the number of its nodes, and what was allocated on them in a window.

    `processes` is None where they were not inspected.
    """

    kind: ClassVar[str] = "numa"

    nodes: int
    processes: tuple[NodeMemory, ...] | None = ()
    allocations: NumaAllocations | None = None
