"""CPU profiles of JVMs by async-profiler: stacks with Java, native and kernel frames.

perf events (`cpu-clock`) are preferred. Where the kernel excludes itself from them, stacks end at the system
call. Where it allows none, as in many containers, a timer of each thread's CPU time takes the samples
(`ctimer`), or one of the process (`itimer`).

In Linux 6.16 and 6.17, perf events that disable themselves can freeze the machine. async-profiler avoids this
from 4.2.1 on (its issue 1578), so a library that the plan names takes a timer there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from loadcell.linux import procfs, system
from loadcell.plan.profile import JvmCpuProfile
from loadcell.profilers.async_profiler import AsyncSampler, Event
from loadcell.profilers.java_stacks import Stacks

_PARANOID: Final = Path("/proc/sys/kernel/perf_event_paranoid")
#: From this level on, only processes with one of these capabilities sample the kernel (capabilities(7)).
_KERNEL_EXCLUDED: Final = 2
_CAP_SYS_ADMIN: Final = 21
_CAP_PERFMON: Final = 38
#: Kernels that perf events of an early async-profiler can freeze.
_FREEZING: Final = re.compile(r"6\.1[67](?!\d)")


def may_sample_kernel(pid: int, root: Path = procfs.ROOT) -> bool:
    """True if the process may sample functions of the kernel, as far as /proc shows."""
    try:
        if int(_PARANOID.read_text()) < _KERNEL_EXCLUDED:
            return True
    except (OSError, ValueError):
        return True  # the profiler reports what is allowed
    for line in procfs.read_small(f"{root}/proc/{pid}/status").splitlines():
        if line.startswith("CapEff:"):
            capabilities = int(line.split()[1], 16)
            return bool(capabilities >> _CAP_SYS_ADMIN & 1 or capabilities >> _CAP_PERFMON & 1)
    return True


class JvmCpuSampler(AsyncSampler[JvmCpuProfile]):
    """Samples what runs on the CPU."""

    kind = "jvm-cpu"
    ends_in_class = False

    def _events(self, pid: int) -> Sequence[Event]:
        interval = f"interval={10**9 // self.options.frequency}"
        timers = (Event("ctimer", f"event=ctimer,{interval}"), Event("itimer", f"event=itimer,{interval}"))
        if self.options.library_path is not None and _FREEZING.match(system.kernel()):
            return timers
        # async-profiler leaves the kernel out of `cpu-clock` without an error
        complete = (Event("cpu-clock", f"event=cpu-clock,{interval}"),) if may_sample_kernel(pid) else ()
        return (
            *complete,
            Event("cpu-clock:u", f"event=cpu-clock,alluser,{interval}"),
            *timers,
        )

    @property
    def _frequency(self) -> int:
        return self.options.frequency

    def _widths(self, counts: Stacks, totals: Stacks) -> Stacks:  # noqa: ARG002
        return counts

    def _caption(self, samples: int, total: int, event: str) -> str:  # noqa: ARG002
        return f"{samples:,} samples of {event}, {self.options.frequency} a second of CPU time"


SAMPLERS = (("jvm-cpu", JvmCpuSampler),)
