"""Which of several treatments a run tells apart in one figure: Tukey's honestly significant difference.

Of many treatments the highest is chosen by looking at all of them, so it cannot be compared with each of the
others as if it were the only comparison: of 16 identical treatments one would stand out in four of ten runs.
Tukey's test of all pairs (Tukey 1953; Kramer 1956 for unlike numbers of values) keeps the probability of any
false difference at 5 %, however many treatments there are. It is made on logarithms, from which blocks are
taken out: what moves a whole block leaves differences as they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loadcell.analysis.sweep import Figure, fit
from loadcell.analysis.treatments import Treatment
from loadcell.stats import distributions
from loadcell.stats.additive import COVERAGE, Additive


@dataclass(frozen=True, eq=False)
class Separation:
    """Treatments with a value above 0 as rows of a fit, and the smallest difference of logarithms of two
    single values that is none of chance; `least` is None where repeats tell nothing.
    """

    rows: Mapping[str, int]
    fitted: Additive | None
    least: float | None

    def apart(self, treatment: Treatment, other: Treatment) -> bool | None:
        """True if two treatments differ for more than chance; None if repeats tell nothing of them."""
        first, second = self.rows.get(treatment.id), self.rows.get(other.id)
        if first is None or second is None or self.fitted is None or self.least is None:
            return None
        return bool(self.difference(first, second) > 0)

    def difference(self, row: int, other: int) -> float:
        """Excess of the difference of two rows over what chance explains; below 0 where it explains it."""
        assert self.fitted is not None
        assert self.least is not None
        means, counts = self.fitted.rows, self.fitted.counts
        return float(
            abs(means[row] - means[other]) - self.least * math.sqrt(1 / counts[row] + 1 / counts[other])
        )


def of(treatments: Sequence[Treatment], figure: Figure) -> Separation:
    """The separation of the treatments in a metric; all of them count as compared with each other."""
    usable = [item for item in treatments if any(figure(trial) for trial in item.trials)]
    fitted = fit(usable, figure) if usable else None
    return Separation({item.id: row for row, item in enumerate(usable)}, fitted, least_difference(fitted))


def least_difference(fitted: Additive | None) -> float | None:
    """Tukey's least difference of the logarithms of two values of different rows; 0 where all repeats agree,
    None without repeats.
    """
    if fitted is None or fitted.freedom < 1 or len(fitted.rows) < 2:
        return None
    quantile = distributions.range_quantile(COVERAGE, len(fitted.rows), fitted.freedom)
    return quantile * math.sqrt((fitted.variance or 0.0) / 2)
