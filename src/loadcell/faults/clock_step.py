"""`clock-step`: the wall clock of the subject jumps, and jumps back at the undo."""

from __future__ import annotations

from loadcell.faults.clock_fault import ClockFault, ClockOptions
from loadcell.linux.fault_control import FaultControl


class ClockStep(ClockFault[ClockOptions]):
    """Shift the clock at once."""

    name = "clock-step"
    synonyms = ("clock-jump",)
    summary = "Let the wall clock of the subject jump (`by`, `direction`), never that of the host"
    Options = ClockOptions

    def begin(self, control: FaultControl) -> None:
        control.shift_clock(self.options.shift_ns)


PART = ClockStep
