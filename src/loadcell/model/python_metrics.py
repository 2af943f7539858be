"""Metrics of calls of Python functions, by the names that the load reports them by."""

from __future__ import annotations

from typing import Final

from loadcell.model.message import MessageCode
from loadcell.model.metrics import Direction, Kind, declare

CALL_TIME: Final = "python.call_time"
CALLS_PER_SAMPLE: Final = "python.calls_per_sample"
LOOP_OVERHEAD: Final = "python.loop_overhead"
MEMORY_START: Final = "python.memory.start"
MEMORY_PEAK: Final = "python.memory.peak"
MEMORY_GROWTH: Final = "python.memory.growth"
RESULT_SIZE: Final = "python.result_size"
#: Of the trial with the memory profile: no other trial has it.
ALLOCATED_PEAK: Final = "python.memory.allocated_peak"

_KINDS: Final[dict[str, tuple[Kind, Direction]]] = {
    CALL_TIME: ("time", "lower"),
    CALLS_PER_SAMPLE: ("count", "neither"),
    LOOP_OVERHEAD: ("time", "neither"),
    MEMORY_START: ("size", "neither"),
    MEMORY_PEAK: ("size", "lower"),
    MEMORY_GROWTH: ("size", "lower"),
    RESULT_SIZE: ("size", "neither"),
    ALLOCATED_PEAK: ("size", "lower"),
}

for _key, (_kind, _better) in _KINDS.items():
    declare(
        _key,
        _kind,
        MessageCode(f"metric-meaning.{_key}", "info")(),
        _better,
        per_group=False,
        headline=_key == CALL_TIME,
    )
