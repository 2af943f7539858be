"""Tukey's test of all pairs of treatments: which of them differ in one figure by more than chance.

Of many treatments the highest is chosen by looking at all of them, so it cannot be compared with each of the
others as if it were the only comparison: of 16 identical treatments one would stand out in four of ten runs.
Tukey's test (Tukey 1953; Kramer 1956 for unlike numbers of values) keeps the probability of any false
difference at 5 %, however many treatments there are. It is made on logarithms after block effects are
removed: what moves a whole block leaves differences as they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from loadcell.analysis.sweep import Figure, fit
from loadcell.analysis.treatments import Treatment
from loadcell.stats import distributions
from loadcell.stats.additive import COVERAGE, Additive


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
        means = self.fitted.rows
        return error is not None and bool(abs(means[row] - means[other]) > self.least_difference * error)


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
