"""Allocation profiles of JVMs by async-profiler: bytes by call stack and class, from samples."""

from __future__ import annotations

from collections.abc import Sequence

from loadcell.model import numbers
from loadcell.plan.profile import JvmAllocationProfile
from loadcell.profilers.async_profiler import AsyncSampler, Event


class JvmAllocationSampler(AsyncSampler[JvmAllocationProfile]):
    """Samples an allocation after a number of allocated bytes."""

    kind = "jvm-allocation"

    def _events(self, pid: int) -> Sequence[Event]:  # noqa: ARG002
        return (Event("alloc", f"event=alloc,alloc={int(self.options.every)}"),)

    def _caption(self, samples: int, total: int, event: str) -> str:  # noqa: ARG002
        return f"{numbers.size(total)} allocated, by {samples:,} samples"


SAMPLERS = (("jvm-allocation", JvmAllocationSampler),)
