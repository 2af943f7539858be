"""CPU profiles of JVMs by async-profiler: stacks with Java, native and kernel frames.

perf events (`cpu-clock`) are preferred. Where the kernel excludes itself from them, stacks end at the system
call. Where it allows none, as in many containers, a timer of each thread's CPU time takes the samples
(`ctimer`), or one of the process (`itimer`).
"""

from __future__ import annotations

from collections.abc import Sequence

from loadcell.plan.profile import JvmCpuProfile
from loadcell.profilers.async_profiler import AsyncSampler, Event


class JvmCpuSampler(AsyncSampler[JvmCpuProfile]):
    """Samples what runs on the CPU."""

    kind = "jvm-cpu"
    ends_in_class = False

    def _events(self) -> Sequence[Event]:
        interval = f"interval={10**9 // self.options.frequency}"
        return (
            Event("cpu-clock", f"event=cpu-clock,{interval}"),
            Event("cpu-clock:u", f"event=cpu-clock,alluser,{interval}"),
            Event("ctimer", f"event=ctimer,{interval}"),
            Event("itimer", f"event=itimer,{interval}"),
        )

    @property
    def _frequency(self) -> int:
        return self.options.frequency

    def _caption(self, samples: int, total: int, event: str) -> str:  # noqa: ARG002
        return f"{samples:,} samples of {event}, {self.options.frequency} a second of CPU time"


SAMPLER = ("jvm-cpu", JvmCpuSampler)
