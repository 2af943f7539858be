"""Lock profiles of JVMs by async-profiler: waits for monitors and locks of java.util.concurrent."""

from __future__ import annotations

from collections.abc import Sequence

from loadcell.plan.profile import JvmLockProfile
from loadcell.profilers.async_profiler import AsyncSampler, Event

_NS_PER_S = 10**9


class JvmLockSampler(AsyncSampler[JvmLockProfile]):
    """Times the waits for contended locks; widths are microseconds."""

    kind = "jvm-lock"
    scale = 1000

    def _events(self, pid: int) -> Sequence[Event]:  # noqa: ARG002
        return (Event("lock", f"event=lock,lock={max(1, round(self.options.least * _NS_PER_S))}"),)

    def _caption(self, samples: int, total: int, event: str) -> str:  # noqa: ARG002
        return f"{samples:,} waits for locks, {total / 1e6:.3g} s in all threads"


SAMPLER = ("jvm-lock", JvmLockSampler)
