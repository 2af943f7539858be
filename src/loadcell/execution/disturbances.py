"""Watches over a load what would spoil it: CPU time stolen by the hypervisor, and the wall clock being set.

Runs beside every load, whatever monitors the plan names, as the trial's checks rest on it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from loadcell.execution.checks import CLOCK_STEP_LIMIT_S
from loadcell.monitors.base import difference


def wall_offset_ns() -> int:
    """CLOCK_REALTIME minus CLOCK_MONOTONIC: both are slewed alike, so only setting the clock moves it."""
    before = time.monotonic_ns()
    now = time.time_ns()
    return now - (before + time.monotonic_ns()) // 2


@dataclass
class DisturbanceWatch:
    """`steps_s` are the clock's steps since `begin`; `steal_share` is of all CPU time since then."""

    root: Path = Path("/")
    offset_ns: Callable[[], int] = wall_offset_ns
    steps_s: list[float] = field(default_factory=list)
    _offset_ns: int | None = None
    _cpu: list[int] = field(default_factory=list)

    def begin(self) -> None:
        """The measurement begins now: what was before does not count."""
        self._cpu = self._read_cpu()

    def tick(self) -> float | None:
        """Look at the clock; returns the step in seconds when it was set since the last look."""
        now = self.offset_ns()
        step_s = 0.0 if self._offset_ns is None else (now - self._offset_ns) / 1e9
        self._offset_ns = now
        if abs(step_s) > CLOCK_STEP_LIMIT_S:
            self.steps_s.append(step_s)
            return step_s
        return None

    def steal_share(self) -> float | None:
        """Stolen CPU time as a share of all, from `begin` to now; None when it cannot be known."""
        now = self._read_cpu()
        if not self._cpu or not now:
            return None
        ticks = [difference(old, new) for old, new in zip(self._cpu, now, strict=True)]
        return ticks[7] / sum(ticks) if sum(ticks) else None

    def _read_cpu(self) -> list[int]:
        try:
            first = (self.root / "proc" / "stat").read_text().partition("\n")[0].split()
        except OSError:
            return []
        return [int(value) for value in first[1:9]] if len(first) >= 9 else []
