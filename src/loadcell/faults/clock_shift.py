"""`clock-shift`: the wall clock of the subject runs fast or slow until it is off by `by`."""

from __future__ import annotations

import time
from typing import Annotated

from pydantic import Field, model_validator

from loadcell.faults.clock_fault import LARGEST_SHIFT_S, ClockFault, ClockOptions
from loadcell.linux.fault_control import FaultControl
from loadcell.model.message import MessageCode
from loadcell.plan.problems import SettingError
from loadcell.plan.units import Duration

CLOCK_RUNS_BACK = MessageCode("fault.clock-runs-back", by=str, over=str)


class ClockShiftOptions(ClockOptions, use_attribute_docstrings=True):
    """Difference to the clock of the host, and the time in which it comes about."""

    over: Annotated[Duration, Field(gt=0, le=LARGEST_SHIFT_S)]
    """Time in which the clock is shifted evenly; it keeps the difference afterwards."""

    @model_validator(mode="after")
    def _runs_forward(self) -> ClockShiftOptions:
        if self.direction == "backward" and self.by >= self.over:
            raise SettingError(CLOCK_RUNS_BACK(by=self.by.text, over=self.over.text))
        return self


class ClockShift(ClockFault[ClockShiftOptions]):
    """Shift the clock evenly; at the undo it jumps back to that of the host."""

    name = "clock-shift"
    synonyms = ("clock-skew", "skew", "drift")
    summary = "Let the wall clock of the subject run fast or slow until it is off by `by`"
    Options = ClockShiftOptions

    def begin(self, control: FaultControl) -> None:
        control.shift_clock(self.options.shift_ns, time.monotonic_ns(), self.options.over.ns)


PART = ClockShift
