"""`memory-limit`: the subject and the page cache of its files get no more memory than that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from loadcell.faults.base import CONNECTION_LOST, NO_ANSWER, SERVER_ENDED
from loadcell.faults.control_group import ControlGroupFault
from loadcell.plan.parts import SubjectOptions
from loadcell.plan.units import Size


class MemoryLimitOptions(SubjectOptions, use_attribute_docstrings=True):
    """Options of a memory limit."""

    size: Annotated[Size, Field(gt=0)]
    """Memory that the processes may allocate from then on, page cache included."""


class MemoryLimit(ControlGroupFault[MemoryLimitOptions]):
    """Limit memory that is allocated after the fault: what was allocated before counts for the old group.

    A process that cannot be given memory is killed by the kernel.
    """

    name = "memory-limit"
    synonyms = ("oom",)
    summary = "Limit further memory of the subject, page cache included (cgroup)"
    Options = MemoryLimitOptions
    expected_errors = (*CONNECTION_LOST, *NO_ANSWER, *SERVER_ENDED)
    controller = ("memory", "memory")

    def limits(self, unified: bool) -> Mapping[str, str]:
        return {"memory.max" if unified else "memory.limit_in_bytes": str(int(self.options.size))}


PART = MemoryLimit
