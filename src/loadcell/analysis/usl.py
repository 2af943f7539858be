"""The Universal Scalability Law fitted to a sweep over load, with intervals, or the reason why it is *not
identified*.

    X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)),   0 <= sigma <= 1,  kappa >= 0

(Gunther, *Guerrilla Capacity Planning*, 2007): lambda is what one client alone gets done, sigma the share of
the work that waits its turn, kappa what pairs of clients cost each other. Its peak is at N* = sqrt((1 -
sigma) / kappa).
`docs/reference/methods/saturation.md` derives the fit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from loadcell.analysis.sweep import Sweep
from loadcell.analysis.tukey import TukeyTest
from loadcell.stats import additive, distributions
from loadcell.stats.additive import COVERAGE, Additive, Floats

#: Three parameters can be bent through any three points; from six loads on a fit can also be wrong (Gunther
#: 2007).
FEWEST_LOADS = 6
#: With fewer degrees of freedom among repeats, Student's quantile makes every interval meaningless (t_2 =
#: 4.3).
FEWEST_FREEDOM = 3
#: A curve that misses a load by more than this, and by more than noise explains, does not describe the
#: system.
MOST_MISSED = 0.10
#: Chance at which a curve counts as missing the points for more than noise.
SURPRISE = 0.05
#: Chance below which a peak is not believed to the curve alone: throughput must be measured to fall.
DOUBT = 0.25
#: A curve is bent when the last load is this much below what it would be in proportion, (sigma + kappa N) (N
#: - 1).
LEAST_BEND = 0.1
#: Resamples: each end of a 95 % interval then has 25 values beyond it.
RESAMPLES = 1000
#: Points at which the curve and its band are worked out: evenly spaced, and again by even multiples.
CURVE_POINTS = 40
_ROUNDS, _SETTLED = 12, 1e-6

#: Why a peak is not identified; "" where it is.
Reason = Literal[
    "",
    "few-loads",
    "one-repeat",
    "no-spread",
    "misfit",
    "straight",
    "mixed",
    "no-peak",
    "no-fall",
    "beyond",
    "falling",
]


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval; an end is None if there is none, `high` if it is open."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, eq=False)
class Usl:
    """A fit. `reason` says why the peak is not identified; values that the data do not support are None.

    Intervals of sigma, kappa and N* are of the curve's shape, from which blocks are taken out; those of rates
    hold what blocks differ by, too. `rate` is lambda (per second), `peak_load` N* (clients),
    `peak_throughput` X(N*), `ceiling` lambda / sigma, which throughput cannot pass when kappa is 0. `missed`
    is the largest share by which the curve misses a load. `curve` has columns load, throughput, low, high
    (the band is NaN without repeats); it is empty where nothing was fitted.
    """

    reason: Reason
    loads: int
    rate: Estimate | None = None
    sigma: Estimate | None = None
    kappa: Estimate | None = None
    peak_load: Estimate | None = None
    peak_throughput: Estimate | None = None
    ceiling: Estimate | None = None
    missed: float | None = None
    curve: Floats | None = None

    @property
    def identified(self) -> bool:
        """True if the peak is."""
        return not self.reason


def throughput(loads: Floats, parameters: Floats) -> Floats:
    """X(N) for loads (L,) and parameters (..., 3) as `fit` gives them: (..., L)."""
    times: Floats = parameters @ _basis(loads).T
    return np.asarray(loads / times)


def _basis(loads: Floats) -> Floats:
    return np.stack([np.ones_like(loads), loads, loads * (loads - 1)], axis=1)


def fit(loads: Floats, speeds: Floats, weights: Floats) -> Floats:
    """The law through `speeds` (B, L) at `loads` (L,), each of weight `weights` (L,), for all B at once.

    Gives (B, 3): p = (1 - sigma) / lambda, q = sigma / lambda, c = kappa / lambda, all >= 0, in which the
    time each client needs for a transaction is linear: N / X = p + q N + c N (N - 1). What is made least is
    the sum of squared *relative* errors, by reweighting (a gamma model with identity link; McCullagh and
    Nelder 1989, ch. 8).
    """
    basis = _basis(loads)
    scale = basis[-1]
    basis = basis / scale
    times = loads / speeds
    fitted = times
    fits = np.zeros((len(speeds), 3))
    for _ in range(_ROUNDS):
        before, fits = fits, _nonnegative(basis, times, weights / fitted**2)
        fitted = np.asarray(fits @ basis.T)
        if np.abs(fits - before).max() < _SETTLED * np.abs(fits).max():
            break
    return np.asarray(fits / scale)


#: Which of p, q, c may differ from 0 when not all do: c alone is no law, as it lets one client take no time.
_FEWER = [(0, 1), (0, 2), (1, 2), (0,), (1,)]


def _nonnegative(basis: Floats, times: Floats, weights: Floats) -> Floats:
    """Weighted least squares with no coefficient below 0: of a convex problem, the best of all feasible
    faces.
    """
    products = (weights @ (basis[:, :, None] * basis[:, None, :]).reshape(len(basis), 9)).reshape(-1, 3, 3)
    aims = (weights * times) @ basis
    best = np.linalg.solve(products, aims[:, :, None])[..., 0]
    outside = np.flatnonzero((best < 0).any(axis=1))
    if len(outside):
        best[outside] = _on_faces(products[outside], aims[outside])
    return np.asarray(best)


def _on_faces(products: Floats, aims: Floats) -> Floats:
    """The same for problems whose free solution is not feasible."""
    best = np.zeros_like(aims)
    least = np.full(len(aims), np.inf)
    for free in _FEWER:
        face = np.ix_(range(len(aims)), free, free)
        solved = np.linalg.solve(products[face], aims[:, free, None])[..., 0]
        # the sum of squares less that of the times themselves, which all faces share
        cost = -(solved * aims[:, free]).sum(axis=1)
        better = (solved >= 0).all(axis=1) & (cost < least)
        least[better] = cost[better]
        best[better] = 0.0
        best[np.ix_(better, free)] = solved[better]
    return best


def judge(sweep: Sweep, seed: int = 0) -> Usl:
    """Fit a sweep and say what of it is identified. `seed` makes the resampling repeatable."""
    speed, loads = sweep.speed, sweep.loads
    if speed is None or len(loads) < FEWEST_LOADS:
        return Usl("few-loads", len(loads))
    weights = speed.counts.astype(np.float64)
    parameters = fit(loads, np.exp(speed.rows)[None], weights)[0]
    fitted = np.log(throughput(loads, parameters))
    missed = speed.rows - fitted
    worst = float(np.abs(np.expm1(missed)).max())
    spaced = [space(loads[0], loads[-1], CURVE_POINTS) for space in (np.linspace, np.geomspace)]
    grid = np.unique(np.concatenate(spaced))
    if speed.variance is None or speed.freedom < FEWEST_FREEDOM:
        reason: Reason = "no-spread" if speed.freedom >= FEWEST_FREEDOM else "one-repeat"
        return _without_intervals(reason, loads, parameters, grid, worst)
    chance = np.random.default_rng(seed)
    surprise = _surprise(missed, speed)
    unexplained = surprise < SURPRISE
    if unexplained and worst > MOST_MISSED:
        return _without_intervals("misfit", loads, parameters, grid, worst)
    noise = _curve_noise(missed, chance) if unexplained else additive.draws(speed, RESAMPLES, chance)
    resampled = fit(loads, np.exp(fitted + noise), weights)
    fit_of_law = _with_intervals(loads, parameters, resampled, grid, worst, _level_noise(speed, chance))
    if fit_of_law.identified and surprise < DOUBT and not _falls(speed):
        return replace(fit_of_law, reason="no-fall", peak_load=None, peak_throughput=None)
    return fit_of_law


def _falls(speed: Additive) -> bool:
    """True if throughput at some load past the highest is significantly lower.

    A closed network that only rises to its ceiling bends otherwise than the law, which then fits it best with
    a peak that is not there.
    """
    test, top = TukeyTest(speed), int(speed.rows.argmax())
    return any(test.differ(row, top) for row in range(top + 1, len(speed.rows)))


def _level_noise(speed: Additive, chance: np.random.Generator) -> Floats:
    """Draws of the factor by which the whole curve may be off, as blocks (the machine from one hour to the
    next) differ.
    """
    blocks = len(speed.blocks)
    if blocks < 2:
        return np.ones(RESAMPLES)
    freedom = blocks - 1
    error = float(np.sqrt(np.sum(speed.blocks**2) / freedom / blocks))
    return np.exp(chance.normal(0, error * additive.widened(freedom), RESAMPLES))


def _surprise(missed: Floats, speed: Additive) -> float:
    """The probability that repeats alone make the curve miss the loads so far: the F test for lack of fit."""
    assert speed.variance is not None
    freedom = len(missed) - 3
    f = float(np.sum(speed.counts * missed**2)) / freedom / speed.variance
    return distributions.f_tail(f, freedom, speed.freedom)


def _curve_noise(missed: Floats, chance: np.random.Generator) -> Floats:
    """Draws of the lack of fit: that, and not the scatter of repeats, is then what is uncertain."""
    loads = len(missed)
    freedom = loads - 3
    pool: Floats = missed * np.sqrt(loads / freedom) * additive.widened(freedom)
    return pool[chance.integers(0, loads, (RESAMPLES, loads))]


def _without_intervals(reason: Reason, loads: Floats, parameters: Floats, grid: Floats, worst: float) -> Usl:
    """The curve for the eye, and no figure from it."""
    none = np.full_like(grid, np.nan)
    curve = np.stack([grid, throughput(grid, parameters), none, none], axis=1)
    return Usl(reason, len(loads), missed=worst, curve=curve)


def _with_intervals(
    loads: Floats, parameters: Floats, resampled: Floats, grid: Floats, worst: float, level: Floats
) -> Usl:
    rate = _interval(_rate(parameters), _rate(resampled) * level)
    sigma, kappa = (_interval(of(parameters), of(resampled)) for of in (_sigma, _kappa))
    low, high = np.quantile(throughput(grid, resampled), _ENDS, axis=0)
    curve = np.stack([grid, throughput(grid, parameters), low, high], axis=1)
    fit = Usl("", len(loads), rate, sigma, kappa, missed=worst, curve=curve)
    peak = _interval(_peak(parameters), _peak(resampled))
    if not kappa.low:
        losses = (_sigma(resampled) + _kappa(resampled) * loads[-1]) * (loads[-1] - 1)
        bent = float(np.mean(losses > LEAST_BEND)) > COVERAGE
        straight = not sigma.low
        ceiling = None if straight else _interval(_ceiling(parameters), _ceiling(resampled) * level)
        reason: Reason = "no-peak" if not straight else "mixed" if bent else "straight"
        return replace(fit, reason=reason, ceiling=ceiling)
    if peak.value > loads[-1]:
        return replace(fit, reason="beyond")
    if peak.value < loads[0]:
        return replace(fit, reason="falling")
    at_peak = np.maximum(_peak(resampled), 1.0)
    tops = at_peak / np.einsum("bj,bj->b", resampled, _basis(at_peak))
    top = float(throughput(np.array([peak.value]), parameters)[0])
    return replace(fit, reason="", peak_load=peak, peak_throughput=_interval(np.array(top), tops * level))


_ENDS = ((1 - COVERAGE) / 2, (1 + COVERAGE) / 2)


def _interval(value: Floats, resampled: Floats) -> Estimate:
    """The percentile interval: an end that is infinite is open."""
    low, high = np.quantile(resampled, _ENDS, method="nearest")
    return Estimate(float(value), float(low), float(high) if np.isfinite(high) else None)


def _rate(parameters: Floats) -> Floats:
    return np.asarray(1 / (parameters[..., 0] + parameters[..., 1]))


def _sigma(parameters: Floats) -> Floats:
    return np.asarray(parameters[..., 1] * _rate(parameters))


def _kappa(parameters: Floats) -> Floats:
    return np.asarray(parameters[..., 2] * _rate(parameters))


def _peak(parameters: Floats) -> Floats:
    """N*: infinite without kappa."""
    p, c = parameters[..., 0], parameters[..., 2]
    return np.asarray(np.sqrt(np.divide(p, c, out=np.full(np.shape(p), np.inf), where=c > 0)))


def _ceiling(parameters: Floats) -> Floats:
    q = parameters[..., 1]
    return np.asarray(np.divide(1.0, q, out=np.full(np.shape(q), np.inf), where=q > 0))
