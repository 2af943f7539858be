"""Steady state of a trial: from a series of throughput per second to a judgement.

At most 43.5 % of pairs of virtual machine and benchmark reach a steady state (Barrett et al. 2017, *Virtual
Machine Warmup Blows Hot and Cold*), so *no steady state* is an answer here, and *too short to tell* is
another.

The warm-up is cut off by MSER-5. That removes bias and makes the remainder less precise. MSER cuts where the
mean of the remainder is surest by its own scatter,

    d* = argmin over d of  sum over i > d of (y_i - mean_d)^2 / (n - d)^2 ,

on means of 5 neighbouring values, and looks only at the first half: a minimum beyond it says that the series
has not come to rest (White 1997; White, Cobb and Spratt 2000). Where the minimum lies is a matter of chance
in a series that is at rest, so a cut counts only when what it cuts off differs from the rest, by more than
chance and by enough to matter. A series with a minimum beyond the middle has come to rest nevertheless if
the values between the minimum of its first half and that one do not differ from the rest.

How precise the mean over time is, where one second depends on the previous one, follows from batch means.
Neighbouring seconds of one trial are alike, so a thousand of them tell less than a thousand independent ones
would. The means of batches that are longer than the dependence are nearly independent; their scatter says how
sure the mean of all is, and how many independent seconds would be as sure: the effective sample size
(Schmeiser 1982; batches of length sqrt(n), as Jones, Haran, Caffo and Neath (2006) show to be consistent).
This speaks of the mean *within one trial*. It is never an interval for a treatment: the unit of that is the
trial.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from loadcell.stats import dips as dip_search
from loadcell.stats import distributions
from loadcell.stats.autocorrelation import LINE, effective_count, lag_1
from loadcell.stats.dips import Dips
from loadcell.stats.energy import Array

#: Fewer values than this give fewer than four batches of four: nothing can be said of their scatter.
FEWEST_FOR_SCATTER = 16
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Within:
    """`mean` of `values` values; `half_width` of its 95 % interval, and `effective` independent values it is
    worth.
    """

    mean: float
    half_width: float
    effective: float
    values: int

    @property
    def error_share(self) -> float | None:
        """The half width as a share of the mean; None when that is 0."""
        return self.half_width / abs(self.mean) if self.mean else None


def batch_means(values: Array, size: int) -> Array:
    """Means of complete batches of `size` neighbours; the remainder at the beginning is dropped."""
    count = values.size // size
    batches: Array = values[values.size - count * size :].reshape(count, size).mean(axis=1)
    return batches


def mean_of(values: Array) -> Within | None:
    """The mean and how sure it is; None with fewer than `FEWEST_FOR_SCATTER` values.

    Of few values, batches are shorter than a long dependence and see only part of it; the correlation of
    neighbours, taken as that of a first-order process, sees it. The more careful of the two counts.
    """
    if values.size < FEWEST_FOR_SCATTER:
        return None
    size = math.isqrt(values.size)
    batches = batch_means(values, size)
    mean, variance = float(values.mean()), float(values.var(ddof=1))
    if variance <= (1e-12 * mean) ** 2:
        return Within(mean, 0.0, float(values.size), values.size)
    r = lag_1(values - mean).positive
    between = float(
        batches.var(ddof=1)
    )  # none where values come round within each batch: a load of a constant rate
    effective = min(
        float(values.size),
        variance / (size * between / values.size) if between else float(values.size),
        effective_count(values.size, r) if r > 2 / math.sqrt(values.size) else float(values.size),
    )
    quantile = distributions.t_quantile(CONFIDENCE, max(1.0, min(batches.size, effective) - 1))
    return Within(mean, quantile * math.sqrt(variance / effective), effective, values.size)


#: The 5 of MSER-5.
BATCH = 5
#: Batches there must be: fewer have no first half to speak of.
FEWEST_BATCHES = 8
#: A beginning that differs by less than this share of the level does no harm.
NOTABLE = 0.02
#: Beyond the middle, where the end of a steady series is soon cut off by chance, less than this is let pass.
NOTABLE_LATE = 0.05
#: Half widths of the level's 95 % interval that a beginning must differ by: about four standard errors.
SURE = 2.0


@dataclass(frozen=True)
class Cut:
    """The first `values` values are warm-up; `settled` is true if the remainder is steady.

    `difference` is the difference between the means of the cut part and the remainder, as a share of the
    latter.
    """

    values: int
    settled: bool
    difference: float


def mser(series: Array, most: int | None = None) -> int:
    """Number of batches MSER cuts off, at most `most`.

    The last few are never left alone: of two values that are alike, nothing is learnt.
    """
    n = series.size
    remaining = n - np.arange(n)
    # sums over the remainder after cutting d, from running sums from the end
    total = series[::-1].cumsum()[::-1]
    squares = (series**2)[::-1].cumsum()[::-1]
    scatter = np.maximum(squares - total**2 / remaining, 0.0) / remaining.astype(np.float64) ** 2
    return int(np.argmin(scatter[: (n - BATCH if most is None else most) + 1]))


def cut(series: Array) -> Cut | None:
    """The warm-up of a series; None when it is too short to tell."""
    size = BATCH
    count = series.size // size
    if count < FEWEST_BATCHES:
        return None
    batches = batch_means(series, size)
    centred = batches - batches.mean()
    dropped = series.size - count * size
    late, early = (_begin(mser(centred, most), dropped) for most in (None, count // 2))
    if late > early:
        unsettled = _difference(series[early:], late - early)
        if unsettled is not None and abs(unsettled) >= NOTABLE_LATE:
            difference = _difference(series, late)
            return Cut(late, settled=False, difference=unsettled if difference is None else difference)
    difference = _difference(series, early)
    if difference is None:
        return Cut(0, settled=True, difference=0.0)
    return Cut(early, settled=True, difference=difference)


def _begin(batches: int, dropped: int) -> int:
    """Number of values before the remainder if this many batches are cut off, after `dropped` values."""
    return dropped + batches * BATCH if batches else 0


def _difference(series: Array, begins: int) -> float | None:
    """Relative difference of the beginning from the remainder; None if it is chance, or does not matter."""
    head, tail = series[:begins], series[begins:]
    level = mean_of(tail)
    if not head.size or level is None or level.mean == 0:
        return None
    difference = float(head.mean() / level.mean - 1)
    # the beginning is as unsure as its share of the independent values makes it
    unsure = (level.error_share or 0.0) * math.sqrt(1 + tail.size / head.size)
    return difference if abs(difference) > max(NOTABLE, SURE * unsure) else None


#: Points a line is put through: longer series are joined to this many.
POINTS = 60
#: With fewer points there is no judging a line.
FEWEST = 8


@dataclass(frozen=True)
class Trend:
    """`change` from the line's first to its last value, as a share of the mean; `p` is how likely chance
    makes it.
    """

    change: float
    p: float


def find(series: Array) -> Trend | None:
    """The trend along a series of equal steps; None when it is too short, or 0 on average."""
    if series.size < FEWEST:
        return None
    joined = batch_means(series, -(-series.size // POINTS)) if series.size > POINTS else series
    mean, n = float(joined.mean()), joined.size
    if mean == 0 or n < FEWEST:
        return None
    x = np.arange(n) - (n - 1) / 2
    slope = float((x * joined).sum() / (x**2).sum())
    residuals = joined - mean - slope * x
    left_over = float((residuals**2).sum())
    change = slope * (n - 1) / mean
    if left_over <= (1e-12 * mean) ** 2 * n:
        return Trend(change, 0.0 if abs(change) > 1e-9 else 1.0)
    effective = effective_count(n, lag_1(residuals, LINE).positive)
    if effective <= 3:
        return Trend(change, 1.0)
    error = math.sqrt(left_over / (effective - 2) / float((x**2).sum()))
    return Trend(change, float(2 * distributions.student_cdf(effective - 2, -abs(slope) / error)))


#: A trend counts when chance makes it in fewer than this share of trials,
LEVEL = 0.01
#: and when it moves the throughput by at least this share over the measurement.
NOTABLE_TREND = 0.05
#: Independent values that a judgement needs: with fewer, a slow swing looks like anything.
FEWEST_EFFECTIVE = 8.0

#: Values that a judgement needs.
FEWEST_VALUES = BATCH * FEWEST_BATCHES

State = Literal["steady", "never-settled", "trend", "too-short", "too-dependent"]


@dataclass(frozen=True)
class Steadiness:
    """Steadiness of the throughput of one trial.

    `state` says it in a word. `settled_after` is how many values at the beginning were still warm-up (0:
    none).
    `within` is the mean of the rest, `trend` its trend, `dips` its dips. `first` is how far the warm-up's
    mean lay from the rest's, as a share.
    """

    state: State
    settled_after: int = 0
    first: float = 0.0
    within: Within | None = None
    trend: Trend | None = None
    dips: Dips | None = None

    @property
    def steady(self) -> bool | None:
        """True if a steady state was reached; None if undecided."""
        return None if self.state.startswith("too-") else self.state == "steady"


def judge(series: Array) -> Steadiness:
    """Judge a series of throughputs of equal steps, without missing values.

    Dips that pass are no warm-up and no trend: both are looked for with the dips filled up. The mean and how
    sure it is are of the series as it was.
    """
    dips = dip_search.find(series)
    level = series if dips is None else dip_search.without(series, dips)
    warmup = cut(level)
    if warmup is None:
        return Steadiness("too-short", within=mean_of(series), dips=dips)
    within, trend = mean_of(series[warmup.values :]), find(level[warmup.values :])
    state: State = "steady"
    if not warmup.settled:
        state = "never-settled"
    elif (
        trend is not None
        and trend.p < LEVEL
        and abs(trend.change) * series.size / (series.size - warmup.values) >= NOTABLE_TREND
    ):
        # a change that continues at the same pace after the cut was no warm-up before it
        return Steadiness("trend", 0, 0.0, mean_of(series), find(level), dips)
    elif (dips is None or dips.period is None) and (within is None or within.effective < FEWEST_EFFECTIVE):
        state = "too-dependent"
    return Steadiness(state, warmup.values, warmup.difference, within, trend, dips)
