"""Base of faults of the subject's wall clock."""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

from pydantic import Field

from loadcell.faults.base import EndedEarlyError
from loadcell.faults.preload_fault import PreloadFault
from loadcell.model.message import MessageCode
from loadcell.plan.parts import SubjectOptions
from loadcell.plan.units import Duration

CLOCK_NOT_READ = MessageCode("fault.clock-not-read", subject=str)

#: Ten years: dates stay within those that programs can represent.
LARGEST_SHIFT_S = 3650 * 86400


class ClockOptions(SubjectOptions, use_attribute_docstrings=True):
    """Difference to the clock of the host."""

    by: Annotated[Duration, Field(gt=0, le=LARGEST_SHIFT_S)]
    """Difference of the clock to that of the host."""
    direction: Literal["forward", "backward"] = "forward"
    """Direction of the difference."""

    @property
    def shift_ns(self) -> int:
        """Difference with its sign."""
        return self.by.ns if self.direction == "forward" else -self.by.ns


OptionsT = TypeVar("OptionsT", bound=ClockOptions)


class ClockFault(PreloadFault[OptionsT]):
    """Shifts CLOCK_REALTIME of the processes; CLOCK_MONOTONIC and the clock of the host stay."""

    part = "clock"

    def restore(self) -> None:
        self._control.end("clock")
        if not self._control.clock_was_read():
            raise EndedEarlyError(CLOCK_NOT_READ(subject=self.subject.name))
