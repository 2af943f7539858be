"""Connections of a host and open files as evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from loadcell.incidents.evidence.base import Evidence


@dataclass(frozen=True, slots=True)
class Destination:
    """Ephemeral ports in use by connections from a local address to one destination, and those of them in
    TIME_WAIT.
    """

    address: str
    used: int
    waiting: int
    source: str


@dataclass(frozen=True, slots=True)
class ListenQueue:
    """Connections that a server has not accepted, and their limit."""

    port: int
    length: int
    limit: int

    @property
    def is_full(self) -> bool:
        """True if the next connection is dropped (sk_acceptq_is_full)."""
        return self.length > self.limit > 0


@dataclass(frozen=True)
class Connections(Evidence):
    """Connections of a host; `dropped` at listen queues within the interval, `all_dropped` since its start,
    both None where the counter is not readable.

    `tracked` and its limit are those of the packet filter, None without one.
    """

    kind: ClassVar[str] = "connections"

    interval_s: float
    ephemeral_ports: int
    destinations: tuple[Destination, ...]
    waiting: int
    dropped: int | None
    all_dropped: int | None
    queues: tuple[ListenQueue, ...] = ()
    tracked: int | None = None
    most_tracked: int | None = None


@dataclass(frozen=True, slots=True)
class ProcessFiles:
    """Open files of a process and their limit."""

    pid: int
    name: str
    count: int
    limit: int

    @property
    def share(self) -> float:
        """Share of the limit."""
        return self.count / self.limit if self.limit else 0.0


@dataclass(frozen=True)
class OpenFiles(Evidence):
    """Open files of the host and of its processes, the nearest to their limit first; `hidden` could not be
    read.
    """

    kind: ClassVar[str] = "open-files"

    count: int
    limit: int
    processes: tuple[ProcessFiles, ...]
    hidden: int = 0
