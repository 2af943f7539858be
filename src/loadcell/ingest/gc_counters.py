"""Counters of durations by name, for GC logs of any length."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

from loadcell.model.gc_pauses import Durations

#: Names of causes, phases and operations; a damaged log could have any number.
MOST_NAMES: Final = 200

Name = TypeVar("Name", bound=str)


class Counter:
    """Durations that are counted in place."""

    __slots__ = ("count", "longest_line", "longest_ns", "total_ns")

    def __init__(self) -> None:
        self.count = self.total_ns = self.longest_line = 0
        self.longest_ns = -1

    def add(self, duration_ns: int, line: int) -> None:
        """Count one more."""
        if duration_ns > self.longest_ns:
            self.longest_ns, self.longest_line = duration_ns, line
        self.count += 1
        self.total_ns += duration_ns

    def merge(self, other: Counter) -> None:
        """Add those of another counter; of equally long ones that of the first line is the longest."""
        if (-other.longest_ns, other.longest_line) < (-self.longest_ns, self.longest_line):
            self.longest_ns, self.longest_line = other.longest_ns, other.longest_line
        self.count += other.count
        self.total_ns += other.total_ns

    def durations(self) -> Durations:
        """The values so far."""
        return Durations(self.count, self.total_ns, max(0, self.longest_ns), self.longest_line)


class HeapGrowth:
    """Growth of the heap between its collections, and of the old generation in them; None without any."""

    __slots__ = ("_after_bytes", "_end_ns", "_start_ns", "allocated_bytes", "promoted_bytes")

    def __init__(self) -> None:
        self.allocated_bytes: int | None = None
        self.promoted_bytes: int | None = None
        self._after_bytes: int | None = None
        self._start_ns = self._end_ns = 0

    def add(
        self,
        start_ns: int,
        end_ns: int,
        before_bytes: int,
        after_bytes: int,
        allocated_bytes: int,
        promoted_bytes: int | None,
    ) -> None:
        """A collection; what lies before its start and within it was counted with the one within it."""
        earlier_bytes = self._after_bytes
        if earlier_bytes is not None and not start_ns <= self._start_ns < self._end_ns < end_ns:
            if before_bytes > earlier_bytes:
                allocated_bytes += before_bytes - earlier_bytes
            self.allocated_bytes = (self.allocated_bytes or 0) + allocated_bytes
        self._start_ns, self._end_ns, self._after_bytes = start_ns, end_ns, after_bytes
        if promoted_bytes is not None:
            self.promoted_bytes = (self.promoted_bytes or 0) + promoted_bytes


def count(counters: dict[Name, Counter], name: Name, duration_ns: int, line: int) -> None:
    """Count a duration by a name; names beyond the limit are left out."""
    counter = counters.get(name)
    if counter is None:
        if len(counters) >= MOST_NAMES:
            return
        counter = counters[name] = Counter()
    counter.add(duration_ns, line)


def durations_of(counters: Mapping[Name, Counter]) -> dict[Name, Durations]:
    """The values so far by name."""
    return {name: counter.durations() for name, counter in counters.items()}
