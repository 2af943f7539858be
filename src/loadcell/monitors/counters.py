"""Differences of running counters: what /proc gives are totals since boot, which wrap, and are now and then
reset.
"""

from __future__ import annotations

_WRAP_32 = 1 << 32
_WRAP_64 = 1 << 64


def difference(before: int, now: int) -> int:
    """Increase of a counter, never negative.

    A fall of more than half the range is a wrap: 64 bits where the old value needed them, else 32 (the
    milliseconds of /proc/diskstats are 32 bits wide). Any other fall is a reset, or one of the small steps
    back that the kernel documents for iowait and steal (proc(5)), and counts as nothing.
    """
    if now >= before:
        return now - before
    fall = before - now
    if before >= _WRAP_32:
        return _WRAP_64 - fall if fall > _WRAP_64 // 2 else 0
    return _WRAP_32 - fall if fall > _WRAP_32 // 2 else 0


def rate(before: int | None, now: int | None, elapsed_s: float) -> float | None:
    """A counter's mean rate per second; None when either reading is missing."""
    if before is None or now is None or elapsed_s <= 0:
        return None
    return difference(before, now) / elapsed_s
