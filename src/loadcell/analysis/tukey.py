"""Tukey's test of all pairs of treatments: which of them differ in one figure by more than chance.

Of many treatments the highest is chosen by looking at all of them, so it cannot be compared with each of the
others as if it were the only comparison: of 16 identical treatments one would stand out in four of ten runs.
Tukey's test (Tukey 1953; Kramer 1956 for unlike numbers of values) keeps the probability of any false
difference at 5 %, however many treatments there are. It is made on logarithms after block effects are
removed: what moves a whole block leaves differences as they are.

It takes all treatments to scatter alike. Near saturation some scatter several times as much as others, and
one of 16 identical treatments would then be called different from the highest in 14 to 25 % of runs. So of
three treatments and more, a difference must also exceed what the scatter of these two alone explains: by
Welch's t test, and by Games and Howell's test (1976) where the scatter of treatments differs by Levene's
test, which sees little of that in fewer than eight blocks.

Together they call 2 to 16 identical treatments different in at most 5.3 % of tables of three and more
independent blocks, if one scatters three to ten times as much as the others; their power is in `MATH.md`.
Two blocks show nothing of the scatter of one treatment: there Tukey's test stands alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from loadcell.analysis.sweep import Figure, fit
from loadcell.analysis.treatments import Treatment
from loadcell.stats import additive, distributions
from loadcell.stats.additive import COVERAGE, Additive, Floats

#: Treatments count as scattering differently when chance makes them so in fewer than this share of runs. That
#: takes only power from differences, so it is not rare.
UNLIKE_LEVEL = 0.15
#: Level of the t test of a pair by the scatter of these two alone: so much for each value of the treatment
#: that has fewer, and at most 5 %. The number of treatments does not count, as most false differences are
#: those of the wildest. Set by simulation: the fewer blocks, the less Levene's test sees.
PAIR_LEVEL_PER_VALUE, PAIR_LEVEL = 0.005, 0.05
#: With two treatments, residuals of both are the same.
FEWEST_UNLIKE = 3
#: Two values of a treatment tell too little of its scatter: the guard would leave half of the power.
FEWEST_VALUES = 3


@dataclass(frozen=True, eq=False)
class TukeyTest:
    """The test of all pairs of rows of a fit."""

    fitted: Additive

    @cached_property
    def least_difference(self) -> float | None:
        """The least significant difference of the logarithms of two single values of different rows; 0 where
        all repeats agree, None without repeats.
        """
        freedom, rows = self.fitted.freedom, len(self.fitted.rows)
        if freedom < 1 or rows < 2:
            return None
        quantile = distributions.range_quantile(COVERAGE, rows, freedom)
        return quantile * math.sqrt((self.fitted.variance or 0.0) / 2)

    def differ(self, row: int, other: int) -> bool | None:
        """True if the means of two rows differ by more than chance; None without repeats.

        False, too, where no chain of blocks joins the two: they might differ by their blocks alone.
        """
        if self.least_difference is None:
            return None
        error = self.fitted.error_of_difference(row, other)
        if error is None:
            return False
        size = float(abs(self.fitted.rows[row] - self.fitted.rows[other]))
        return size > self.least_difference * error and not self._explained(size, row, other, error)

    @cached_property
    def _scatter_differs(self) -> bool:
        return additive.scatter_p(self.fitted) < UNLIKE_LEVEL

    @cached_property
    def _scatter(self) -> tuple[Floats, Floats]:
        """Variance of one value of each row (R,), and its degrees of freedom (R,).

        The pooled ones where the row's is unknown, or is estimated at 0 or below.
        """
        estimates = additive.row_variances(self.fitted)
        usable = estimates > 0
        freedom = np.where(usable, np.maximum(1, self.fitted.counts - 1), self.fitted.freedom)
        return np.where(usable, estimates, self.fitted.variance or 0.0), freedom

    def _explained(self, size: float, row: int, other: int, error: float) -> bool:
        """True if the scatter of two rows alone explains a difference of their means.

        Welch's degrees of freedom.
        """
        pair = [row, other]
        if len(self.fitted.rows) < FEWEST_UNLIKE or self.fitted.variance is None:
            return False
        if self.fitted.counts[pair].min() < FEWEST_VALUES:
            return False
        variances, freedoms = self._scatter
        counts = self.fitted.counts[pair]
        shares = variances[pair] / counts
        freedom = float(shares.sum() ** 2 / np.sum(shares**2 / freedoms[pair]))
        level = min(PAIR_LEVEL, PAIR_LEVEL_PER_VALUE * (1 + float(freedoms[pair].min())))
        quantile = distributions.t_quantile(1 - level, freedom)
        if self._scatter_differs:
            of_all = distributions.range_quantile(COVERAGE, len(self.fitted.rows), max(1, int(freedom)))
            quantile = max(quantile, of_all / math.sqrt(2))
        # as much larger as missing trials make the error of the difference
        variance = float(shares.sum()) * error**2 / float(np.sum(1 / counts))
        return size <= quantile * math.sqrt(variance)


@dataclass(frozen=True, eq=False)
class TreatmentTest:
    """The test of all pairs of treatments; `rows` are those of the treatments that have a value above 0."""

    rows: Mapping[str, int]
    test: TukeyTest | None

    def differ(self, treatment: Treatment, other: Treatment) -> bool | None:
        """True if two treatments differ by more than chance; None where there are no repeats to tell it."""
        first, second = self.rows.get(treatment.id), self.rows.get(other.id)
        if first is None or second is None or self.test is None:
            return None
        return self.test.differ(first, second)


def of(treatments: Sequence[Treatment], figure: Figure) -> TreatmentTest:
    """The test of treatments in a metric; all of them count as compared with each other."""
    usable = [item for item in treatments if any(figure(trial) for trial in item.trials)]
    fitted = fit(usable, figure) if usable else None
    test = None if fitted is None else TukeyTest(fitted)
    return TreatmentTest({item.id: row for row, item in enumerate(usable)}, test)
