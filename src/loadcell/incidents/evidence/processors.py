"""Processors of a host as evidence: use, queue and pressure over an interval, and who uses them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from loadcell.incidents.evidence.base import Evidence

#: Least share of all processors of a name that is worth showing.
LEAST_SHARE: Final = 0.01


@dataclass(frozen=True, slots=True)
class ProcessorUse:
    """All processes of one name: their number, and the share of all processors that they used."""

    name: str
    processes: int
    share: float


@dataclass(frozen=True)
class Processors(Evidence):
    """Use of all processors over an interval, and the median number of runnable threads in it.

    `steal_share` is time that a hypervisor gave to other machines. `waited_share` is the share of the last
    10 s in which a thread waited for a processor; None where the kernel does not measure it. `busiest` are
    the processes with the largest use; none where no name has `LEAST_SHARE`.
    """

    kind: ClassVar[str] = "processors"

    interval_s: float
    cores: int
    busy_share: float
    steal_share: float = 0.0
    runnable: int = 0
    waited_share: float | None = None
    busiest: tuple[ProcessorUse, ...] = ()
