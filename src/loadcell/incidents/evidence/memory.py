"""Memory of a host as evidence: swapping and pressure over an interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from loadcell.incidents.evidence.base import Evidence


@dataclass(frozen=True)
class Memory(Evidence):
    """Swapped bytes per second over an interval, and sizes at its end.

    Shares of the last 10 s in which some or all processes waited (pressure stall information); None where
    the kernel does not measure it.
    """

    kind: ClassVar[str] = "memory"

    total_bytes: int
    available_bytes: int
    swap_bytes: int
    swap_used_bytes: int
    swapped_in_bytes_per_s: float
    swapped_out_bytes_per_s: float
    memory_full_share: float | None = None
    memory_some_share: float | None = None
    io_some_share: float | None = None
    cpu_some_share: float | None = None
