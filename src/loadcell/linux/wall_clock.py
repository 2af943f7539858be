"""The wall clock against the steady clock of the kernel."""

from __future__ import annotations

import time


def realtime_offset_ns() -> int:
    """CLOCK_REALTIME minus CLOCK_MONOTONIC_RAW: it moves only when the wall clock is set, or slewed (at most
    0.5 ms/s).
    """
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    now = time.clock_gettime_ns(time.CLOCK_REALTIME)
    after = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    return now - (before + after) // 2
