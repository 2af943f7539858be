"""Yuen's and Welch's tests against worked examples."""

from __future__ import annotations

import numpy as np
import pytest

from loadcell.stats.two_samples import means_of_pairs as of_pairs
from loadcell.stats.two_samples import means_of_samples as of_samples

#: Self-awareness of two groups (Dana 1990), the example of Wilcox, *Introduction to Robust Estimation and
#: Hypothesis Testing*, 2012, ch. 5.
FIRST = [77, 87, 88, 114, 151, 210, 219, 246, 253, 262, 296, 299, 306, 376, 428, 515, 666, 1310, 2611]
SECOND = [59, 106, 174, 207, 219, 237, 313, 365, 458, 497, 515, 529, 557, 615, 625, 645, 973, 1065, 3215]


def rows(*values: float) -> np.ndarray:
    return np.array([values], dtype=np.float64)


def test_yuens_test_of_the_textbook() -> None:
    """Trimmed means of 282.7 and 444.8, T = 2.044 with 23.0 degrees of freedom, p = 0.052."""
    result = of_samples(rows(*FIRST), rows(*SECOND))
    assert result.difference[0] == pytest.approx(444.77 - 282.69, abs=0.01)
    assert result.difference[0] / np.sqrt(result.variance[0]) == pytest.approx(2.044, abs=5e-4)
    assert result.freedom[0] == pytest.approx(23.0, abs=0.05)
    assert result.p[0] == pytest.approx(0.0525, abs=1e-4)
    low, high = result.interval(float(result.p[0]))
    assert low[0] == pytest.approx(0, abs=1e-9)
    assert high[0] == pytest.approx(2 * result.difference[0])


def test_of_few_values_none_is_trimmed_and_variances_are_free() -> None:
    """Welch: variances of 1 and 4 over 3 and 4 values, by hand."""
    result = of_samples(rows(1, 2, 3), rows(3, 4, 4, 9))
    variances = 1 / 3, (4 + 1 + 1 + 16) / 3 / 4
    assert result.difference[0] == pytest.approx(3)
    assert result.variance[0] == pytest.approx(sum(variances))
    freedom = sum(variances) ** 2 / (variances[0] ** 2 / 2 + variances[1] ** 2 / 3)
    assert result.freedom[0] == pytest.approx(freedom)


def test_pairs_are_students_until_ten_and_trimmed_from_then_on() -> None:
    few = of_pairs(rows(1, 2, 3, 6))
    assert (few.difference[0], few.freedom[0]) == (3, 3)
    assert few.variance[0] == pytest.approx((4 + 1 + 0 + 9) / 3 / 4)
    wild = of_pairs(rows(*range(1, 10), 1000))
    assert wild.difference[0] == pytest.approx(5.5), "mean of 3 to 8"
    # winsorised: three threes, 4 to 7, three eights
    assert wild.variance[0] == pytest.approx((6 * 2.5**2 + 2 * 1.5**2 + 2 * 0.5**2) / (6 * 5))
    assert wild.freedom[0] == 5


def test_without_scatter_a_difference_is_certain_and_none_is_none() -> None:
    result = of_samples(np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([[1.0, 1.0], [2.0, 2.0]]))
    assert result.p.tolist() == [1, 0]
    assert result.freedom.tolist() == [2, 2]
