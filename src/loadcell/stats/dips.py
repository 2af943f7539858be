"""Dips in a series, whether they come again and again, and what comes with them.

A dip is a stretch clearly below the usual level. Dips whose distances are alike are periodic: checkpoints,
garbage collections, timers. Other series are compared with them: did it happen in the dips more than beside
them, and more so than if the dips had lain elsewhere (shifting them round the series keeps both patterns and
breaks only their meeting)?
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from loadcell.stats.energy import Array

#: A stretch is a dip when it lies below the usual level by this share of it,
LEAST_DEPTH = 0.10
#: and by this many times the usual scatter.
SIGMAS = 4.0
#: Of fewer values there is no usual level to speak of.
FEWEST_VALUES = 16
#: A gap of up to this many values within a dip is part of it.
BRIDGED = 2
#: Dips are periodic when there are this many,
FEWEST = 4
#: and their distances scatter by at most this share of the period: less for few, as four at random are often
#: even. Dips thrown at random pass in 1 to 4 % of cases, five the most often (simulated).
MOST_SCATTER, SCATTER_EACH = 0.25, 0.04
#: A series that is low for a larger share of its time has two levels, not dips.
MOST_LOW = 0.4
#: Values of which means are looked at, one after the other.
WIDTHS = (3, 7, 15, 31)
#: Normal distribution: standard deviation over median absolute deviation.
_MAD = 1.4826
#: Number of shifts tried; the probability of a coincidence is precise to about 1 %.
_SHIFTS = 400


@dataclass(frozen=True)
class Dip:
    """Values `begin` to `end` (exclusive), whose mean is `depth` (a share) below the usual level."""

    begin: int
    end: int
    depth: float


@dataclass(frozen=True)
class Dips:
    """All dips of a series. `period` is in values, None when they are not periodic.

    `lost` is the share of the work that the dips cost: what lies below the usual level, over all there would
    be.
    `width` is how many values' means they were seen in.
    """

    dips: tuple[Dip, ...]
    period: float | None
    lost: float
    width: int

    @property
    def length(self) -> float:
        """The median length, in values."""
        return float(np.median([dip.end - dip.begin for dip in self.dips]))

    @property
    def depth(self) -> float:
        """The median depth, as a share of the usual level."""
        return float(np.median([dip.depth for dip in self.dips]))


def find(series: Array) -> Dips | None:
    """The dips of a series of equal steps; None when there is none, or no level to fall below.

    Shallow dips drown in the scatter of single values and stand out from means of several; so means of
    ever more values are tried until dips are periodic. Otherwise single values decide, compared with the
    total scatter: a series that oscillates slowly has no dips.
    """
    if series.size < FEWEST_VALUES:
        return None
    usual = _usual(series)
    if usual is None:
        return None
    relative = series / usual
    medians = _medians(relative)
    if medians.min() >= 1 - LEAST_DEPTH:  # then no mean of them is lower
        return None
    for width in WIDTHS:
        if width <= max(WIDTHS[0], series.size // 40):
            smooth = _smooth(medians, width)
            dips = _find(relative, smooth, _scatter_near(smooth, width), width)
            if dips is not None and dips.period is not None:
                return dips
    return _find(relative, medians, _scatter(medians - 1), WIDTHS[0])


def _scatter(deviations: Array) -> float:
    return _MAD * float(np.median(np.abs(deviations)))


def _scatter_near(smooth: Array, width: int) -> float:
    """The scatter without slow swings (a recovery, a sawtooth): of values that lie just beyond each other's
    means.
    """
    apart = smooth[2 * width :] - smooth[: -2 * width]
    return min(_scatter(smooth - 1), _scatter(apart) / float(np.sqrt(2)))


def _find(relative: Array, smooth: Array, scatter: float, width: int) -> Dips | None:
    below = smooth < 1 - max(LEAST_DEPTH, SIGMAS * scatter)
    runs = [run for run in _runs(_bridged(below, width)) if run[0] > 0]  # a low beginning is warm-up
    if runs and runs[-1][1] == relative.size:  # so is a low end, unless it is one more of the kind
        typical = float(np.median([end - begin for begin, end in runs]))
        if len(runs) < FEWEST or runs[-1][1] - runs[-1][0] > 2 * typical:
            runs.pop()
    dips = tuple(Dip(begin, end, float(1 - relative[begin:end].mean())) for begin, end in runs)
    low = sum(dip.end - dip.begin for dip in dips)
    if not dips or low > MOST_LOW * relative.size:
        return None
    lost = sum(dip.depth * (dip.end - dip.begin) for dip in dips) / relative.size
    return Dips(dips, _period(dips), lost, width)


def without(series: Array, dips: Dips) -> Array:
    """The series with its dips filled up with what lies beside each."""
    filled = series.copy()
    inside = mask(dips, series.size, reach=dips.width // 2)
    places = np.arange(series.size)
    baseline = _smooth(_medians(series[~inside]), WIDTHS[1])
    filled[inside] = np.interp(places[inside], places[~inside], baseline)
    return filled


def _usual(series: Array) -> Array | None:
    """The usual level all along: the median, or a straight line through medians of thirds where it drifts."""
    thirds = np.array_split(series, 3)
    first, middle, last = (float(np.median(part)) for part in thirds)
    if min(first, middle, last) <= 0:
        return None
    line = np.linspace(1.25 * first - 0.25 * last, 1.25 * last - 0.25 * first, series.size)
    # two thirds must bear a slope out, and it must stay above 0
    sloped = abs(middle - (first + last) / 2) < 0.5 * abs(last - first) and line.min() > 0
    return line if sloped else np.full(series.size, float(np.median(series)))


def _medians(series: Array) -> Array:
    """Running medians of 3: a single odd value is no dip."""
    padded = np.pad(series, 1, mode="edge")
    before, after = padded[:-2], padded[2:]
    medians: Array = np.maximum(
        np.minimum(before, after), np.minimum(np.maximum(before, after), padded[1:-1])
    )
    return medians


def _smooth(medians: Array, width: int) -> Array:
    """Running means of `width` values; of 3, the medians themselves serve."""
    if width == WIDTHS[0]:
        return medians
    padded = np.pad(medians, width // 2, mode="edge")
    averages: Array = np.convolve(padded, np.full(width, 1 / width), mode="valid")
    return averages


def _bridged(below: npt.NDArray[np.bool_], width: int) -> npt.NDArray[np.bool_]:
    """Short gaps within dips closed."""
    closed = below.copy()
    for (_, end), (begin, _) in pairwise(_runs(below)):
        if begin - end <= max(BRIDGED, width // 2):
            closed[end:begin] = True
    return closed


def _runs(mask: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """The stretches where a mask holds: where each begins, and where it has ended."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return [(int(begin), int(end)) for begin, end in edges.reshape(-1, 2)]


def _period(dips: tuple[Dip, ...]) -> float | None:
    """The distance at which dips come again; None when it is not always about the same.

    A dip that is missing makes a distance of twice the period, which counts as two.
    """
    if len(dips) < FEWEST:
        return None
    distances = np.diff([dip.begin for dip in dips]).astype(np.float64)
    typical = float(np.median(distances))
    times = np.maximum(1, np.round(distances / typical))
    if np.count_nonzero(times == 1) < 0.75 * times.size:
        return None
    period = float(distances.sum() / times.sum())
    scatter = float(np.std(distances / times, ddof=1)) / period
    return period if scatter <= min(MOST_SCATTER, SCATTER_EACH * distances.size) else None


def mask(dips: Dips, size: int, reach: int = 0) -> npt.NDArray[np.bool_]:
    """Where the dips are, each made wider by `reach` values on either side."""
    inside = np.zeros(size, dtype=np.bool_)
    for dip in dips.dips:
        inside[max(0, dip.begin - reach) : dip.end + reach] = True
    return inside


@dataclass(frozen=True)
class Meeting:
    """A coincidence with the dips: `times` as much in them as beside them; `p` is its probability
    by chance.
    """

    times: float
    p: float


def meets(where: npt.NDArray[np.bool_], other: Array) -> Meeting | None:
    """Compare `other`, a series of the same steps, inside and outside the dips; None with too few values."""
    finite = np.isfinite(other)
    if finite.sum() < other.size / 2 or not where.any() or where.all():
        return None
    filled = np.where(finite, other, float(other[finite].mean()))
    inside, outside = float(filled[where].mean()), float(filled[~where].mean())
    if inside <= outside or inside <= 0:
        return None
    step = max(1, where.size // _SHIFTS)
    shifts = range(step, where.size, step)
    reached = sum(float(filled[np.roll(where, by)].mean()) >= inside for by in shifts)
    return Meeting(inside / outside if outside > 0 else float("inf"), (1 + reached) / (1 + len(shifts)))
