"""Charts over time of short trials: partial intervals, single samples, fractions of a second."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np

from loadcell.store.frames import Frame

#: A piece of an interval shorter than this share of a whole one holds too few requests to stand beside it.
PIECE = 0.25
#: Rows that a line needs.
FEWEST_ROWS = 2
#: Digits behind the point of a second: the fewest, and those of a source of which no two rows are near each
#: other.
FEWEST_DIGITS, MOST_DIGITS = 1, 3


def whole(frame: Frame) -> Frame:
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
