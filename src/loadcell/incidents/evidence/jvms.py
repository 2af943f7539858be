"""A running JVM as evidence: its counters over an interval, and its objects by class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from loadcell.incidents.evidence.base import Evidence
from loadcell.incidents.evidence.collections import DumpFile


@dataclass(frozen=True)
class JvmCounters(Evidence):
    """Time in collections and the old generation of a JVM.

    `running_s` since its start. Full collections are None where the JVM counts other pauses with them. Sizes
    of the old generation are those after the last collection; its limit is None where the collector has none.
    """

    kind: ClassVar[str] = "jvm"

    pid: int
    running_s: float
    interval_s: float
    collecting_s: float
    collecting_now_s: float
    full: int | None
    full_now: int | None
    old_used_bytes: int
    old_limit_bytes: int | None = None

    @property
    def process(self) -> int:
        """The JVM."""
        return self.pid

    @property
    def start_share(self) -> float:
        """Share of the time since the start in collections."""
        return min(1.0, self.collecting_s / self.running_s) if self.running_s > 0 else 0.0

    @property
    def now_share(self) -> float:
        """Share of the interval in collections."""
        return min(1.0, self.collecting_now_s / self.interval_s) if self.interval_s > 0 else 0.0

    @property
    def occupied_share(self) -> float:
        """Share of the old generation in use."""
        return min(1.0, self.old_used_bytes / self.old_limit_bytes) if self.old_limit_bytes else 0.0


@dataclass(frozen=True, slots=True)
class ClassGrowth:
    """Live objects of a class at two instants, in bytes."""

    name: str
    before_bytes: int
    after_bytes: int

    @property
    def bytes(self) -> int:
        """Growth."""
        return self.after_bytes - self.before_bytes


@dataclass(frozen=True)
class ClassHistograms(Evidence):
    """Classes of a JVM whose live objects grew between two histograms, the largest growth first."""

    kind: ClassVar[str] = "classes"

    pid: int
    interval_s: float
    live_bytes: int
    grown: tuple[ClassGrowth, ...]

    @property
    def process(self) -> int:
        """The JVM."""
        return self.pid


@dataclass(frozen=True)
class EndedJvm(Evidence):
    """Files that a JVM left: the end of its GC log, crash reports as name and text, heap dumps."""

    kind: ClassVar[str] = "ended-jvm"

    pid: int
    command: str
    log_name: str
    log: str
    crashes: tuple[tuple[str, str], ...]
    dumps: tuple[DumpFile, ...]

    @property
    def certain_dumps(self) -> tuple[DumpFile, ...]:
        """Dumps that no other JVM may have written."""
        return tuple(dump for dump in self.dumps if not dump.others)
