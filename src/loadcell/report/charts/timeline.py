"""Rows and axes of charts over time: columns of client groups, labels of time, and series of short trials."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np

from loadcell.report.context import ReportContext
from loadcell.store.frames import Frame, matching_rows, taken

#: Values of a group over time.
THROUGHPUT, TAIL = "throughput_per_s", "response_p99_ms"


def column(figure: str, group: str) -> str:
    """The column of a group's value."""
    return f"{figure}:{group}"


def names(context: ReportContext) -> list[str]:
    """Groups of all trials; none where plans have one workload."""
    every = (name for record in context.stored.trials for name in record.groups or ())
    return list(dict.fromkeys(every))


def with_groups(load: Frame, intervals: Frame, groups: list[str]) -> Frame:
    """The load's rows, with throughput and p99 of each group in the same interval."""
    if not groups or not intervals.has("trial", "mono_ns", "operation", THROUGHPUT, TAIL):
        return load
    columns = {}
    for group in groups:
        of_group = intervals.take(intervals.text("operation").isin(group))
        rows = matching_rows(load, of_group, "trial", "mono_ns")
        for metric in (THROUGHPUT, TAIL):
            columns[column(metric, group)] = taken(of_group.numbers(metric), rows)
    return load.adding(columns)


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
    return clock_between(first, max(_extreme(np.fmax, frame) for frame in frames.values()))


def clock_between(first: float, last: float) -> Clock:
    """The same for times from `first` to `last`, in seconds from the measurement's start."""
    if last <= MINUTES_FROM:
        return Clock("axis.time")
    step = next((step for step in TICK_STEPS if last / step <= TICKS), TICK_STEPS[-1])
    ticks = tuple(range(math.ceil(first / step) * step, math.floor(last / step) * step + 1, step))
    if last <= HOURS_FROM:
        return Clock("axis.time.minutes", "format(datum.value / 60, ',~r')", ticks)
    sign = "(datum.value < 0 ? '-' : '')"
    hours, minutes = "floor(abs(datum.value) / 3600)", "floor(abs(datum.value) % 3600 / 60)"
    return Clock("axis.time.hours", f"{sign} + {hours} + ':' + format({minutes}, '02d')", ticks)


def axis(clock: Clock, *, labels: bool = True) -> alt.Axis:
    """The axis of time, written as the clock says."""
    if clock.label is None:
        return alt.Axis(
            labels=labels, ticks=labels, grid=False, format=",~r", tickMinStep=0.1, labelSeparation=6
        )
    values = list(clock.ticks or ())
    return alt.Axis(labels=labels, ticks=labels, grid=False, labelExpr=clock.label, values=values)


def _extreme(function: np.ufunc, frame: Frame) -> float:
    """First or last time of a frame; 0 where it has none."""
    return float(function.reduce(frame.numbers("t_s"), initial=np.nan)) if frame.has_values("t_s") else 0.0


#: A piece of an interval shorter than this share of a whole one holds too few requests to stand beside it.
PIECE = 0.25
#: Rows that a line needs.
FEWEST_ROWS = 2
#: Digits behind the point of a second: the fewest, and those of a source of which no two rows are near each
#: other.
FEWEST_DIGITS, MOST_DIGITS = 1, 3


def without_pieces(frame: Frame) -> Frame:
    """Intervals without the short pieces that a warm-up or a measurement ended with; those with errors stay
    where no whole interval of
    their trial has any."""
    if not frame.has("trial", "duration_s", "failed"):
        return frame
    groups, duration_s = frame.groups("trial"), frame.numbers("duration_s")
    short = duration_s < groups.max(duration_s)[groups.index] * PIECE
    failing = frame.numbers("failed") > 0
    failing_at_length = np.bincount(groups.index, failing & ~short, minlength=len(groups)) > 0
    return frame.take(~short | (failing & ~failing_at_length[groups.index]))


def drawable(frames: Mapping[str, Frame]) -> dict[str, Frame]:
    """The sources that a line can be drawn of: those with two rows or more of some trial."""
    return {
        name: frame
        for name, frame in frames.items()
        if max(frame.groups("trial").sizes, default=0) >= FEWEST_ROWS
    }


def alone(frame: Frame) -> bool:
    """True if there is a trial with one row only, of which a line shows nothing."""
    return bool(min(frame.groups("trial").sizes, default=0) == 1)


def point(base: alt.Chart, **where: Any) -> alt.Chart:
    """The mark of a value that is alone in its trial."""
    counted = base.transform_joinaggregate(rows="count()", groupby=["name"])
    points: alt.Chart = (
        counted.transform_filter("datum.rows === 1").mark_point(filled=True, size=30).encode(**where)
    )
    return points


def digits(frame: Frame) -> int:
    """Number of digits of a second tell neighbouring rows of a trial apart, and show where between them each
    lies.
    """
    ordered = frame.sorted_by("trial", "t_s")
    within_trial = np.diff(ordered.text("trial").codes) == 0
    gaps = np.diff(ordered.numbers("t_s"))[within_trial]
    gaps = gaps[~np.isnan(gaps)]
    gap = float(np.median(gaps)) if len(gaps) else 0.0
    if gap <= 0:
        return MOST_DIGITS
    return min(MOST_DIGITS, max(FEWEST_DIGITS, math.ceil(-math.log10(gap)) + 1))
