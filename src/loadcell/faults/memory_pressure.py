"""`memory-pressure`: the kernel reclaims memory of the subject, and delays it, but kills nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field

from loadcell.faults.base import CONNECTION_LOST, NO_ANSWER
from loadcell.faults.control_group import ControlGroupFault
from loadcell.linux import limited_groups
from loadcell.model.json import JsonObject
from loadcell.plan.parts import SubjectOptions
from loadcell.plan.units import Size

#: Contents of the files that end the pressure, by name: the first of v2, the second of v1.
_NO_PRESSURE = {"memory.high": "max", "memory.limit_in_bytes": "-1"}


class MemoryPressureOptions(SubjectOptions, use_attribute_docstrings=True):
    """Options of memory pressure."""

    size: Annotated[Size, Field(gt=0)]
    """Memory from which on the kernel reclaims, page cache included."""


class MemoryPressure(ControlGroupFault[MemoryPressureOptions]):
    """Have memory reclaimed that is allocated after the fault: what was allocated before counts for the old
    group.

    v2 delays a process above `size` (memory.high). v1 knows no such limit: where nothing can be reclaimed at
    `size`, a process waits until the undo, because the killing of processes is disabled (memory.oom_control).
    """

    name = "memory-pressure"
    summary = "Reclaim further memory of the subject above `size`, without killing it (cgroup)"
    Options = MemoryPressureOptions
    expected_errors = (*CONNECTION_LOST, *NO_ANSWER)
    controller = ("memory", "memory")

    def limits(self, unified: bool) -> Mapping[str, str]:
        size = str(int(self.options.size))
        if unified:
            return {"memory.high": size}
        return {"memory.oom_control": "1", "memory.limit_in_bytes": size}

    @classmethod
    def undo(cls, arguments: JsonObject) -> None:
        # a process that waits for memory would wait on in its old group
        limited_groups.change(Path(arguments["group"]), _NO_PRESSURE)
        super().undo(arguments)


PART = MemoryPressure
