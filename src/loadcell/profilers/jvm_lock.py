"""Lock profiles of JVMs by async-profiler: waits for monitors, Reentrant locks and semaphores.

async-profiler adds up the waits of all threads, and samples the one with which their sum reaches the
interval, with its own time. A wait of `d` is sampled with the probability `d / interval`, if shorter than the
interval, so each sample of such waits stands for the interval (Horvitz and Thompson 1952). Longer waits are
all sampled and stand for themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from loadcell.plan.profile import JvmLockProfile
from loadcell.profilers.async_profiler import AsyncSampler, Event
from loadcell.profilers.java_stacks import Stacks

_NS_PER_S = 10**9


class JvmLockSampler(AsyncSampler[JvmLockProfile]):
    """Estimates the time of waits for contended locks; widths are microseconds."""

    kind = "jvm-lock"
    scale = 1000

    @property
    def _interval_ns(self) -> int:
        return max(1, round(self.options.every * _NS_PER_S))

    def _events(self, pid: int) -> Sequence[Event]:  # noqa: ARG002
        return (Event("lock", f"event=lock,lock={self._interval_ns}"),)

    def _widths(self, counts: Stacks, totals: Stacks) -> Stacks:
        """A lower bound where a stack has shorter and longer waits: their times are known as a sum only."""
        return Counter({stack: max(totals[stack], counts[stack] * self._interval_ns) for stack in totals})

    def _caption(self, samples: int, total: int, event: str) -> str:  # noqa: ARG002
        return f"{total / 1e6:.3g} s of waits for locks in all threads, by {samples:,} samples"


SAMPLERS = (("jvm-lock", JvmLockSampler),)
