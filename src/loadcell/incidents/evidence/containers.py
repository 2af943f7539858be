"""Control groups with limits as evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from loadcell.incidents.evidence.base import Evidence


@dataclass(frozen=True, slots=True)
class CpuLimit:
    """A group with a processor limit: its periods, and those in which it was stopped, within the interval and
    since its start. `throttled_s` is None where the time was not recorded.
    """

    group: str
    cores: float
    periods: int
    throttled: int
    throttled_s: float | None
    all_periods: int
    all_throttled: int

    @property
    def share(self) -> float:
        """Share of the periods of the interval."""
        return min(1.0, self.throttled / self.periods) if self.periods else 0.0

    @property
    def total_share(self) -> float:
        """Share of all periods."""
        return min(1.0, self.all_throttled / self.all_periods) if self.all_periods else 0.0


@dataclass(frozen=True, slots=True)
class MemoryLimit:
    """A group with a memory limit: kills, and how often it reached the limit within the interval."""

    group: str
    limit_bytes: int
    used_bytes: int
    all_kills: int
    kills: int
    reached: int


@dataclass(frozen=True)
class ControlGroups(Evidence):
    """Limited groups of a host over an interval."""

    kind: ClassVar[str] = "control-groups"

    interval_s: float
    cpu: tuple[CpuLimit, ...]
    memory: tuple[MemoryLimit, ...]
