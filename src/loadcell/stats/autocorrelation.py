"""Dependence of consecutive values: an estimate of the lag-1 autocorrelation, and a test of whole blocks.

The estimate is r = sum of e(t) e(t+1) / sum of e(t)^2, with e the residuals of a fit. It is too low: for a
first-order process of correlation rho, n values in k stretches, and p coefficients fitted to them in all,

    E r = rho - (p (1 + rho) + (k + 2) rho) / n + o(1/n).

Of one mean (p = k = 1) that is (1 + 4 rho) / n (Kendall 1954; Marriott and Pope 1954), of one line (p = 2)
(2 + 5 rho) / n. MATH.md derives it.

The test asks whether neighbouring blocks are more alike than the same blocks in other orders. What all
treatments of a block have in common may differ from block to block, but must not depend on the block before.
It compares the lag-1 products of whole blocks with those of shuffled blocks, which is exact whatever the
trials of a block share (Wald and Wolfowitz 1943). Of 6 to 10 blocks it finds a correlation of 0.5 in 16 to
36 % only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

#: Terms of a fit: a mean alone, and a straight line.
MEAN, LINE = 1, 2
#: Correlations above it would leave next to no independent values.
HIGHEST = 0.99


@dataclass(frozen=True)
class Lag1:
    """Correlation of neighbouring values: as `measured` from residuals, and `corrected` for its bias (-1 to
    `HIGHEST`).
    """

    measured: float
    corrected: float

    @property
    def positive(self) -> float:
        """The corrected estimate, 0 where it is negative: values that alternate count as independent."""
        return max(0.0, self.corrected)


def lag_1(residuals: Array, terms: int = MEAN) -> Lag1:
    """The correlation of neighbours in one series, by residuals (n,) of a fit of `terms` coefficients."""
    return of_stretches([residuals], terms)


def of_stretches(stretches: Sequence[Array], terms: int = MEAN) -> Lag1:
    """The same of several stretches, each with residuals about its own fit; 0 where all residuals are 0."""
    squares = sum(float(values @ values) for values in stretches)
    if squares == 0:
        return Lag1(0.0, 0.0)
    measured = sum(float(values[1:] @ values[:-1]) for values in stretches) / squares
    count, fitted = sum(values.size for values in stretches), terms * len(stretches)
    bias = (fitted * (1 + measured) + (len(stretches) + 2) * measured) / count
    return Lag1(measured, max(-1.0, min(HIGHEST, measured + bias)))


def effective_count(count: int, correlation: float) -> float:
    """Number of independent values whose mean is as precise as that of `count` values of a first-order
    process (Bayley and Hammersley 1946).
    """
    return count * (1 - correlation) / (1 + correlation)


#: Orders that are tried, from a fixed seed: p is known to 0.01 at 0.05.
ORDERS, SEED = 1999, 1943
#: Blocks without which no order is rare enough.
FEWEST_BLOCKS = 5


def consecutive_alike(residuals: Array) -> float | None:
    """Probability that chance makes consecutive blocks as alike as these; None with too few.

    `residuals` has a row a block, in the order they ran, and a column a treatment: deviations from the
    treatment's level, 0 where there is no trial.
    """
    blocks = residuals.shape[0]
    products = residuals @ residuals.T
    if blocks < FEWEST_BLOCKS or not products.any():
        return None
    orders = np.random.default_rng(SEED).permuted(np.tile(np.arange(blocks), (ORDERS, 1)), axis=1)
    sums = products[orders[:, 1:], orders[:, :-1]].sum(axis=1)
    as_measured = products[np.arange(1, blocks), np.arange(blocks - 1)].sum()
    least = as_measured - 1e-9 * abs(products).sum()
    return float((1 + (sums >= least).sum()) / (1 + ORDERS))
