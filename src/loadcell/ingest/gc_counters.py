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
        self.count = self.total_ns = self.longest_ns = self.longest_line = 0

    def add(self, duration_ns: int, line: int) -> None:
        """Count one more."""
        if not self.count or duration_ns > self.longest_ns:
            self.longest_ns, self.longest_line = duration_ns, line
        self.count += 1
        self.total_ns += duration_ns

    def merge(self, other: Counter) -> None:
        """Add those of another counter; of equally long ones that of the first line is the longest."""
        is_longer = not self.count or (-other.longest_ns, other.longest_line) < (
            -self.longest_ns,
            self.longest_line,
        )
        if is_longer:
            self.longest_ns, self.longest_line = other.longest_ns, other.longest_line
        self.count += other.count
        self.total_ns += other.total_ns

    def durations(self) -> Durations:
        """The values so far."""
        return Durations(self.count, self.total_ns, self.longest_ns, self.longest_line)


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
