"""Throughput of the same work on one NUMA node and on all processors, as evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from loadcell.incidents.evidence.base import Evidence


@dataclass(frozen=True)
class Placements(Evidence):
    """Throughput of the repeats on one node (`pinned`) and on all processors (`spread`) of a machine.

    `far_share` is the share of the memory of the spread processes on other nodes than their threads, by
    numa_maps (`loadcell.linux.numa_maps.far_share`); None where that was not recorded.
    `is_on_one_node`: no sample has memory on a second node.
    """

    kind: ClassVar[str] = "placements"

    factor: str
    nodes: int
    pinned: tuple[float, ...]
    spread: tuple[float, ...]
    far_share: float | None = None
    is_on_one_node: bool = False
