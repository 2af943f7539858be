"""Measurements as row + block + noise: the residuals of each row without block effects, and the size of the
noise.

Blocks hold every treatment once, so a block that was slow throughout says something of the machine and
nothing of the treatments. On the logarithmic scale, where both act as factors, it is subtracted (Fisher's
randomised blocks). Spread is then pooled over all rows: that is what gives an answer from two or three
repeats, where one row alone gives none. The price is an assumption, that all rows scatter by the same share.

Where blocks lack trials, rows are known through the blocks they share with others, and less surely than their
numbers of values say: differences are then solved for, and their errors taken, by the matrix of information
that is left when blocks are accounted for (Searle, *Linear Models*, 1971, ch. 7; John and Williams, *Cyclic
and Computer Generated Designs*, 1995, ch. 1).
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
#: Noise below this (as a share) is rounding: there is no spread to reckon with.
LEAST_NOISE = 1e-9


@dataclass(frozen=True)
class BetweenBlocks:
    """Sum of the `squares` that blocks explain besides rows, on average `freedom` times the variance of one
    value and `weight` times that between blocks (Henderson 1953, method 3).
    """

    squares: float
    freedom: int
    weight: float

    def variance(self, noise: float) -> float:
        """Variance between blocks, without the noise of their trials; 0 where that explains all."""
        return max(0.0, self.squares - self.freedom * noise) / self.weight


@dataclass(frozen=True, eq=False)
class Additive:
    """`rows` (R,) and `blocks` (B,) are effects, blocks about 0; `residuals` (n,) is the residual of each
    value, and `row` and `block` (n,) are where it is.

    `counts` (R,) is how many values each row has; `freedom` counts what the residuals can still vary in.
    `islands` (R,) numbers the parts that share no block: differences between them are those of blocks, too.
    `inverse` (R, R) has the variances of differences of rows, as shares of that of one value; None where they
    are those of independent means, as every row is in every block alike.
    """

    rows: Floats
    blocks: Floats
    residuals: Floats
    row: Indices
    block: Indices
    counts: Indices
    freedom: int
    islands: Indices
    inverse: Floats | None

    @property
    def variance(self) -> float | None:
        """Variance of one value: None without degrees of freedom, or if every repeat is the same number."""
        if self.freedom < 1:
            return None
        variance = float(np.sum(self.residuals**2)) / self.freedom
        return variance if variance > LEAST_NOISE**2 else None

    @property
    def between_blocks(self) -> BetweenBlocks | None:
        """Differences of blocks, rows taken out; None where no two blocks can be compared.

        Two blocks can if a chain of rows joins them. The squares are those that blocks explain besides rows:
        of blocks that lack trials, plain means would differ by the rows they hold (Yates 1940; Searle 1971).
        """
        freedom = len(self.blocks) - int(self.islands.max()) - 1
        if freedom < 1:
            return None
        table = _table(self.row, self.block, len(self.rows), len(self.blocks))
        within_rows = self.blocks[self.block] - (table @ self.blocks / self.counts)[self.row]
        weight = float(len(self.row) - np.sum(table**2 / self.counts[:, None]))
        return BetweenBlocks(float(np.sum(within_rows**2)), freedom, weight)

    @property
    def inflation(self) -> float:
        """Factors for residuals before they are drawn from.

        They are too small by sqrt(freedom / n), as they were fitted; and from few of them the variance itself
        is uncertain, for which Student's quantile stands instead of the normal one.
        """
        n = len(self.residuals)
        return float(np.sqrt(n / self.freedom)) * widened(self.freedom)

    @property
    def effective_count(self) -> float:
        """As many values of each row, every one in every block, would tell rows apart as well on average."""
        if self.inverse is None:
            return len(self.counts) / float(np.sum(1 / self.counts))
        degrees = len(self.counts) - 1
        spread = float(np.trace(self.inverse) - self.inverse.sum() / len(self.counts))
        return degrees / spread if degrees else float(self.counts[0])

    def error(self, weights: Floats) -> float | None:
        """Standard error of the sum of the rows with these weights (R,), in that of one value.

        The weights add up to 0. None where they do not within each island: such a sum says as much of blocks.
        """
        if np.abs(np.bincount(self.islands, weights)).max() > LEAST_NOISE:
            return None
        if self.inverse is None:
            return float(np.sqrt(np.sum(weights**2 / self.counts)))
        return float(np.sqrt(weights @ self.inverse @ weights))

    def error_of_difference(self, row: int, other: int) -> float | None:
        """The same of the difference of two rows."""
        if self.islands[row] != self.islands[other]:
            return None
        if self.inverse is None:
            return float(np.sqrt(1 / self.counts[row] + 1 / self.counts[other])) if row != other else 0.0
        inverse = self.inverse
        variance = inverse[row, row] + inverse[other, other] - 2 * inverse[row, other]
        return float(np.sqrt(max(0.0, variance)))


#: Singular values below this share of the largest are 0.
_ROUNDING = 1e-9
#: Values of a row from which the F distribution describes Levene's statistic; draws where rows have fewer,
#: and the most values that are drawn.
_ENOUGH, _DRAWS, _SEED, _LARGE = 8, 499, 1960, 2000


def row_variances(fitted: Additive) -> Floats:
    """Variance of one value of each row (R,), right on average where rows scatter differently.

    The residuals of a row also hold noise of the others, through the means of blocks. With M the matrix that
    makes residuals of values, the squares of row i add up to the sum over rows k of t(i, k) var(k) on
    average, with t(i, k) the squares of M's elements from values of k to residuals of i. That is solved for
    the variances (Rao 1970). Where every row is in every block, these are the estimates of Grubbs (1948) and
    Shukla (1972).

    An estimate may be negative. NaN where residuals do not tell it: of one value, and of two rows in blocks
    of their own, whose residuals are the same.
    """
    squares = np.bincount(fitted.row, fitted.residuals**2, len(fitted.counts))
    shares = _shares_of_noise(fitted)
    inverse = np.linalg.pinv(shares, rcond=_ROUNDING)
    estimable = np.isclose(np.diagonal(inverse @ shares), 1)
    return np.asarray(np.where(estimable, inverse @ squares, np.nan))


def _shares_of_noise(fitted: Additive) -> Floats:
    """t(i, k): squares of the elements of the residual matrix, summed over two rows' values (R, R)."""
    rows, blocks = len(fitted.counts), len(fitted.blocks)
    if fitted.inverse is None and len(fitted.row) == rows * blocks:  # each row once in each block
        return np.asarray((blocks - 1) * ((1 - 2 / rows) * np.eye(rows) + 1 / rows**2))
    table = _table(fitted.row, fitted.block, rows, blocks)
    normal = np.block([[np.diag(table.sum(axis=1)), table], [table.T, np.diag(table.sum(axis=0))]])
    inverse = np.linalg.pinv(normal, rcond=_ROUNDING)
    # what each value takes from each row's and each block's effect
    of_values = inverse[:, fitted.row] + inverse[:, rows + fitted.block]
    shares = np.empty((rows, rows))
    for row in range(rows):
        places = np.flatnonzero(fitted.row == row)
        elements = -(of_values[row] + of_values[rows + fitted.block[places]])
        elements[np.arange(len(places)), places] += 1
        shares[row] = np.bincount(fitted.row, (elements**2).sum(axis=0), rows)
    return shares


def scatter_p(fitted: Additive) -> float:
    """The probability that rows of one scatter differ in it as far as these: Levene's test (1960).

    Its statistic is the F of rows on the sizes of residuals, which one disturbed value moves less than
    squares. The few residuals of a row depend on each other, so with few values the statistic is compared
    with those of normal noise in the same places.
    """
    measured = float(_levene(np.abs(fitted.residuals)[None], fitted)[0])
    if not np.isfinite(measured):
        return 1.0
    if fitted.counts.min() >= _ENOUGH or len(fitted.residuals) > _LARGE:
        return distributions.f_tail(measured, len(fitted.counts) - 1, fitted.freedom)
    noise = np.random.default_rng(_SEED).normal(size=(_DRAWS, len(fitted.residuals)))
    columns = np.concatenate([_members(fitted.row), _members(fitted.block)], axis=1)
    noise -= (columns @ (np.linalg.pinv(columns) @ noise.T)).T
    return float((1 + (_levene(np.abs(noise), fitted) >= measured).sum()) / (1 + _DRAWS))


def _levene(sizes: Floats, fitted: Additive) -> Floats:
    """The F of rows on sizes of residuals (B, n), for each of B."""
    rows = len(fitted.counts)
    means = sizes @ _members(fitted.row) / fitted.counts
    between = (fitted.counts * (means - sizes.mean(axis=1, keepdims=True)) ** 2).sum(axis=1) / (rows - 1)
    within = ((sizes - means[:, fitted.row]) ** 2).sum(axis=1) / fitted.freedom
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(between / within)


def _members(places: Indices) -> Floats:
    """A column for each place, with 1 where a value is there (n, places)."""
    return np.asarray(places[:, None] == np.arange(int(places.max()) + 1), dtype=np.float64)


def widened(freedom: int) -> float:
    """By how much wider an interval is whose variance is known from `freedom` degrees of freedom only."""
    return distributions.t_quantile(COVERAGE, freedom) / _NORMAL


def fit(values: Floats, row: Indices, block: Indices) -> Additive:
    """Least squares of `values` (n,) on `row` and `block` (n,), whole numbers from 0, each of
    which occurs.
    """
    rows, blocks = int(row.max()) + 1, int(block.max()) + 1
    in_row, in_block = np.bincount(row, minlength=rows), np.bincount(block, minlength=blocks)
    islands, islands_of_blocks = _islands(row, block, rows, blocks)
    inverse = None
    if _is_even(row, block, in_row, in_block):
        of_row = np.bincount(row, values, rows) / in_row
    else:
        inverse = _inverse(row, block, in_row, in_block, islands)
        of_row = inverse @ _without_blocks(values, row, block, in_row, in_block)
    of_block = np.bincount(block, values - of_row[row], blocks) / in_block
    # blocks of each island about 0
    mean = np.bincount(islands_of_blocks, of_block) / np.bincount(islands_of_blocks)
    of_block, of_row = of_block - mean[islands_of_blocks], of_row + mean[islands]
    freedom = len(values) - rows - blocks + int(islands.max()) + 1
    residuals = values - of_row[row] - of_block[block]
    return Additive(of_row, of_block, residuals, row, block, in_row, max(0, freedom), islands, inverse)


def _is_even(row: Indices, block: Indices, in_row: Indices, in_block: Indices) -> bool:
    """True if every block has the same share of each row: then blocks cancel in differences of means."""
    cells, counts = np.unique(row * len(in_block) + block, return_counts=True)
    if len(cells) < len(in_row) * len(in_block):
        return False
    expected = np.outer(in_row, in_block).ravel()
    return bool(np.array_equal(counts * len(row), expected))


def _table(row: Indices, block: Indices, rows: int, blocks: int) -> Floats:
    """Number of values of each row in each block (R, B)."""
    return np.bincount(row * blocks + block, minlength=rows * blocks).reshape(rows, blocks).astype(np.float64)


def _inverse(row: Indices, block: Indices, in_row: Indices, in_block: Indices, islands: Indices) -> Floats:
    """A generalised inverse of the information on rows, diag(r) - N diag(1/k) N'.

    It has the variances of contrasts within islands: adding the islands' ones, to which the information is
    blind, makes it regular and leaves these as they are.
    """
    table = _table(row, block, len(in_row), len(in_block))
    information = np.diag(in_row.astype(np.float64)) - (table / in_block) @ table.T
    information += islands[:, None] == islands[None, :]
    return np.asarray(np.linalg.inv(information))


def _without_blocks(
    values: Floats, row: Indices, block: Indices, in_row: Indices, in_block: Indices
) -> Floats:
    """Sums of each row's values (R,) after each block's mean is subtracted."""
    of_block = np.bincount(block, values, len(in_block)) / in_block
    return np.asarray(np.bincount(row, values - of_block[block], len(in_row)), dtype=np.float64)


def _islands(row: Indices, block: Indices, rows: int, blocks: int) -> tuple[Indices, Indices]:
    """Parts of rows (R,) and blocks (B,) that share no trial, numbered: each part has a separate level."""
    of_row = np.arange(rows)
    while True:
        of_block = np.full(blocks, rows)
        np.minimum.at(of_block, block, of_row[row])
        after = of_row.copy()
        np.minimum.at(after, row, of_block[block])
        if np.array_equal(after, of_row):
            numbers, of_row = np.unique(of_row, return_inverse=True)
            return of_row.astype(np.int64), np.searchsorted(numbers, of_block).astype(np.int64)
        of_row = after


def draws(additive: Additive, many: int, chance: np.random.Generator) -> Floats:
    """`many` times (first axis) by how much each row's effect may be off: fitted to residuals drawn with
    replacement.

    The residual bootstrap (Efron 1979; Davison and Hinkley, *Bootstrap Methods and their Application*, 1997,
    6.2.3).
    """
    pool = additive.residuals * additive.inflation
    if additive.inverse is None:
        return np.stack(
            [pool[chance.integers(0, len(pool), (many, n))].mean(axis=1) for n in additive.counts], 1
        )
    in_block = np.bincount(additive.block)
    island = additive.islands[additive.row]
    sums, means = np.empty((many, len(additive.rows))), np.empty((many, int(island.max()) + 1))
    for at in range(many):
        again = pool[chance.integers(0, len(pool), len(pool))]
        sums[at] = _without_blocks(again, additive.row, additive.block, additive.counts, in_block)
        means[at] = np.bincount(island, again) / np.bincount(island)
    return np.asarray(sums @ additive.inverse + means[:, additive.islands])


def numbered(names: list[int]) -> Indices:
    """Names (of blocks) as whole numbers from 0."""
    return np.unique(np.array(names, dtype=np.int64), return_inverse=True)[1].astype(np.int64)
