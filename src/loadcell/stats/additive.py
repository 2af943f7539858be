"""Measurements as row + block + noise: the residuals of each row without block effects, and the size of the
noise.

Blocks hold every treatment once, so a block that was slow throughout says something of the machine and
nothing of the treatments. On the logarithmic scale, where both act as factors, it is subtracted (Fisher's
randomised blocks). Spread is then pooled over all rows: that is what gives an answer from two or three
repeats, where one row alone gives none. The price is an assumption, that all rows scatter by the same share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loadcell.stats import distributions

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

#: Probability that intervals made from a fit enclose the truth.
COVERAGE = 0.95
#: What a normal variable stays within with `COVERAGE`.
_NORMAL = 1.959963984540054
#: Sweeps over rows and blocks until neither moves any more; one is enough where no trial is missing.
_MOST_ROUNDS = 200
#: Noise below this (as a share) is rounding: there is no spread to reckon with.
LEAST_NOISE = 1e-9


@dataclass(frozen=True, eq=False)
class Additive:
    """`rows` (R,) and `blocks` (B,) are effects, blocks about 0; `residuals` (n,) is the residual of each
    value.

    `counts` (R,) is how many values each row has; `freedom` counts what the residuals can still vary in.
    """

    rows: Floats
    blocks: Floats
    residuals: Floats
    counts: Indices
    freedom: int

    @property
    def variance(self) -> float | None:
        """Variance of one value: None without degrees of freedom, or if every repeat is the same number."""
        if self.freedom < 1:
            return None
        variance = float(np.sum(self.residuals**2)) / self.freedom
        return variance if variance > LEAST_NOISE**2 else None

    @property
    def inflation(self) -> float:
        """Factors for residuals before they are drawn from.

        They are too small by sqrt(freedom / n), as they were fitted; and from few of them the variance itself
        is uncertain, for which Student's quantile stands instead of the normal one.
        """
        n = len(self.residuals)
        return float(np.sqrt(n / self.freedom)) * widened(self.freedom)


def widened(freedom: int) -> float:
    """By how much wider an interval is whose variance is known from `freedom` degrees of freedom only."""
    return distributions.t_quantile(COVERAGE, freedom) / _NORMAL


def fit(values: Floats, row: Indices, block: Indices) -> Additive:
    """Least squares of `values` (n,) on `row` and `block` (n,), whole numbers from 0, each of
    which occurs.
    """
    rows, blocks = int(row.max()) + 1, int(block.max()) + 1
    in_row, in_block = np.bincount(row, minlength=rows), np.bincount(block, minlength=blocks)
    of_row, of_block = np.zeros(rows), np.zeros(blocks)
    for _ in range(_MOST_ROUNDS):
        of_row = np.bincount(row, values - of_block[block], rows) / in_row
        before, of_block = of_block, np.bincount(block, values - of_row[row], blocks) / in_block
        of_block -= of_block.mean()
        if np.abs(of_block - before).max() < 1e-12:
            break
    of_row = np.bincount(row, values - of_block[block], rows) / in_row
    freedom = len(values) - rows - blocks + _islands(row, block, rows, blocks)
    return Additive(of_row, of_block, values - of_row[row] - of_block[block], in_row, max(0, freedom))


def _islands(row: Indices, block: Indices, rows: int, blocks: int) -> int:
    """Number of parts of rows and blocks that share no trial: each part has a separate level."""
    of_row = np.arange(rows)
    while True:
        of_block = np.full(blocks, rows)
        np.minimum.at(of_block, block, of_row[row])
        after = of_row.copy()
        np.minimum.at(after, row, of_block[block])
        if np.array_equal(after, of_row):
            return len(np.unique(of_row))
        of_row = after


def draws(additive: Additive, many: int, chance: np.random.Generator) -> Floats:
    """`many` times (first axis) by how much each row's effect may be off: means of residuals drawn with
    replacement.

    The residual bootstrap (Efron 1979; Davison and Hinkley, *Bootstrap Methods and their Application*, 1997,
    6.2.3).
    """
    pool = additive.residuals * additive.inflation
    return np.stack([pool[chance.integers(0, len(pool), (many, n))].mean(axis=1) for n in additive.counts], 1)


def numbered(names: list[int]) -> Indices:
    """Names (of blocks) as whole numbers from 0."""
    return np.unique(np.array(names, dtype=np.int64), return_inverse=True)[1].astype(np.int64)
