"""Labels of a time axis: in seconds, minutes, or hours and minutes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from loadcell.store.frames import Frame


@dataclass(frozen=True)
class Clock:
    """Its title, the expression of a label, and where labels stand (None: anywhere)."""

    title: str
    label: str | None = None
    ticks: tuple[int, ...] | None = None


#: Trials longer than these (in seconds) are read in minutes, and in hours and minutes.
MINUTES_FROM, HOURS_FROM = 600, 3 * 3600
#: Steps between ticks, in seconds, and about how many ticks there are room for.
TICK_STEPS, TICKS = (60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400), 12


def clock_of(frames: Mapping[str, Frame]) -> Clock:
    """Seconds, minutes, or hours and minutes, as the longest trial asks for."""
    first = min(_extreme(np.fmin, frame) for frame in frames.values())
    last = max(_extreme(np.fmax, frame) for frame in frames.values())
    if last <= MINUTES_FROM:
        return Clock("axis.time")
    step = next((step for step in TICK_STEPS if last / step <= TICKS), TICK_STEPS[-1])
    ticks = tuple(range(math.ceil(first / step) * step, math.floor(last / step) * step + 1, step))
    if last <= HOURS_FROM:
        return Clock("axis.time.minutes", "format(datum.value / 60, ',~r')", ticks)
    sign = "(datum.value < 0 ? '-' : '')"
    hours, minutes = "floor(abs(datum.value) / 3600)", "floor(abs(datum.value) % 3600 / 60)"
    return Clock("axis.time.hours", f"{sign} + {hours} + ':' + format({minutes}, '02d')", ticks)


def _extreme(function: np.ufunc, frame: Frame) -> float:
    """First or last time of a frame; 0 where it has none."""
    return float(function.reduce(frame.numbers("t_s"), initial=np.nan)) if frame.has_values("t_s") else 0.0
