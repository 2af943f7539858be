"""Metrics of the memory of tests, which the pytest plugin measures."""

from __future__ import annotations

from typing import Final

from loadcell.model.message import MessageCode
from loadcell.model.metrics import declare

#: Largest size of the objects that a test allocates, in an extra call.
PEAK_ALLOCATION: Final = "test.peak_allocation"
#: Growth of the resident set during the call phase.
MEMORY_GROWTH: Final = "test.memory_growth"

PEAK_ALLOCATION_MEANING = MessageCode("metric-meaning.test.peak_allocation", "info")
MEMORY_GROWTH_MEANING = MessageCode("metric-meaning.test.memory_growth", "info")

declare(PEAK_ALLOCATION, "size", PEAK_ALLOCATION_MEANING(), "lower", additive=False, per_group=False)
declare(MEMORY_GROWTH, "size", MEMORY_GROWTH_MEANING(), "lower", additive=False, per_group=False)
