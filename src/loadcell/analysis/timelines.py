"""Time series of a trial on one even grid: throughput, and whatever may explain it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loadcell.model.panels import DipCause
from loadcell.stats.energy import Array
from loadcell.store.frames import Frame

#: An interval shorter than this share of the usual length is a remainder, whose rate is mostly chance.
COMPLETE_SHARE = 0.5
#: A record with a larger share of the measurement missing is not judged as a series.
MOST_MISSING = 0.02


@dataclass(frozen=True)
class Timeline:
    """The measured part of one trial: value i is the throughput from `i` to `i + 1` times `step_s` after its
    start.
    """

    trial: str
    step_s: float
    throughput: Array

    @property
    def length_s(self) -> float:
        """Duration in seconds."""
        return self.step_s * self.throughput.size

    def on_grid(self, t_s: Array, values: Array) -> Array:
        """Samples taken at `t_s` (each standing for the time that ended there) as means on the same grid; NaN
        without any.
        """
        places = np.ceil(t_s / self.step_s).astype(int) - 1
        inside = (places >= 0) & (places < self.throughput.size) & np.isfinite(values)
        count = np.bincount(places[inside], minlength=self.throughput.size)
        total = np.bincount(places[inside], weights=values[inside], minlength=self.throughput.size)
        averages: Array = np.divide(total, count, out=np.full(count.size, np.nan), where=count > 0)
        return averages

    def place_of(self, t_s: float) -> float:
        """Where on the grid an instant lies; it may be outside."""
        return t_s / self.step_s


def of_trials(intervals: Frame) -> dict[str, Timeline]:
    """The timeline of every trial whose intervals are even and (nearly) all there."""
    numbers = ("t_s", "duration_s", "throughput_per_s")
    if not intervals.has("trial", "phase", "operation", *numbers):
        return {}
    measured = intervals.text("operation").isin("transaction") & intervals.text("phase").isin("measure")
    for name in numbers:
        measured &= ~np.isnan(intervals.numbers(name))
    frame = intervals.select("trial", *numbers).take(measured).sorted_by("trial", "t_s")
    groups = frame.groups("trial")
    lines = {}
    for trial, rows in zip(frame.text("trial")[groups.first].tolist(), groups.parts(), strict=True):
        line = _timeline(str(trial), *(frame.numbers(name)[rows] for name in numbers))
        if line is not None:
            lines[line.trial] = line
    return lines


def _timeline(trial: str, begin: Array, lengths: Array, rates: Array) -> Timeline | None:
    step_s = float(np.median(lengths))
    complete = (lengths >= COMPLETE_SHARE * step_s) & np.isfinite(rates)
    if step_s <= 0 or not complete.any():
        return None
    spanned = float(begin[complete][-1] - begin[complete][0]) + step_s
    if complete.sum() * step_s < (1 - MOST_MISSING) * spanned:
        return None
    return Timeline(trial, step_s, np.ascontiguousarray(rates[complete]))


def samples_of(frame: Frame, cause: DipCause) -> dict[str, tuple[Array, Array]]:
    """Trial -> (t_s, values) of a column of a monitor's samples; empty where these lack it."""
    if cause.total is not None and frame.has(cause.total):
        frame = frame.take(frame.numbers(cause.total) == 0)
    if not frame.has("t_s", cause.column):
        return {}
    timed = frame.take(~np.isnan(frame.numbers("t_s")))
    groups, trials = timed.groups("trial"), timed.text("trial")
    t_s, values = timed.numbers("t_s"), timed.numbers(cause.column)
    return {
        str(trial): (t_s[rows], values[rows])
        for trial, rows in zip(trials[groups.first].tolist(), groups.parts(), strict=True)
    }
