"""Tukey's and Kramer's test against worked examples, and where it says nothing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest

from loadcell.analysis.tukey import UNLIKE_LEVEL, TukeyTest
from loadcell.stats import additive

#: Strontium in five bodies of water, and weights of pigs by feed (Zar, *Biostatistical Analysis*).
STRONTIUM = [
    [28.2, 33.2, 36.4, 34.6, 29.1, 31.0], [39.6, 40.8, 37.9, 37.1, 43.6, 42.4],
    [46.3, 42.1, 43.5, 48.8, 43.7, 40.1], [41.0, 44.1, 46.4, 40.2, 38.6, 36.3],
    [56.3, 54.1, 59.4, 62.7, 60.0, 57.3],
]  # fmt: skip
PIGS = [
    [60.8, 57.0, 65.0, 58.6, 61.7], [68.7, 67.7, 74.0, 66.3, 69.8], [102.6, 102.1, 100.2, 96.5],
    [87.9, 84.2, 83.1, 85.7, 90.3],
]  # fmt: skip


def one_block(rows: Sequence[Sequence[float]]) -> TukeyTest:
    """A test of rows that share one block: one-way analysis of variance."""
    values = np.array([value for row in rows for value in row])
    row = np.repeat(np.arange(len(rows)), [len(items) for items in rows])
    return TukeyTest(additive.fit(values, row, np.zeros(len(values), dtype=np.int64)))


def test_tukeys_test_of_the_textbook() -> None:
    """Error mean square 9.7652 with 25 degrees of freedom; the middle three are alike."""
    test = one_block(STRONTIUM)
    assert test.fitted.freedom == 25
    assert test.fitted.variance == pytest.approx(9.7652, abs=5e-5)
    assert test.least_difference is not None
    assert test.least_difference * np.sqrt(2 / 6) == pytest.approx(4.153 * np.sqrt(9.7652 / 6), rel=1e-3)
    alike = [pair for pair in combinations(range(5), 2) if not test.differ(*pair)]
    assert alike == [(1, 2), (1, 3), (2, 3)]


def test_kramers_test_of_the_textbook() -> None:
    """Feed 3 has four pigs: its error against feed 1 is sqrt(8.557 / 2 (1/4 + 1/5)) = 1.388, q = 28.6."""
    test = one_block(PIGS)
    fitted = test.fitted
    assert fitted.variance == pytest.approx(8.557, abs=1e-3)
    error = fitted.error_of_difference(2, 0)
    assert error is not None
    standard = np.sqrt(8.557 / 2) * error
    assert standard == pytest.approx(1.388, abs=1e-3)
    assert (fitted.rows[2] - fitted.rows[0]) / standard == pytest.approx(28.6, abs=0.1)
    assert test.least_difference is not None
    assert test.least_difference * error == pytest.approx(4.076 * standard, rel=1e-3)
    assert all(test.differ(*pair) for pair in combinations(range(4), 2))


def test_without_repeats_it_says_nothing() -> None:
    test = one_block([[1.0], [2.0]])
    assert test.least_difference is None
    assert test.differ(0, 1) is None


def test_repeats_that_agree_make_every_difference_one() -> None:
    test = one_block([[1.0, 1.0], [2.0, 2.0], [2.0, 2.0]])
    assert test.least_difference == 0
    assert (test.differ(0, 1), test.differ(1, 2)) == (True, False)


def test_rows_that_no_blocks_join_are_not_called_different() -> None:
    """However far apart: they may differ by their blocks alone."""
    row, block = np.array([0, 0, 1, 1, 2, 2, 3, 3]), np.array([0, 1, 0, 1, 2, 3, 2, 3])
    test = TukeyTest(additive.fit(np.array([1, 1.1, 3, 3.11, 90, 90.1, 93, 93.12]), row, block))
    assert test.differ(0, 1)
    assert test.differ(0, 2) is False


def test_what_the_scatter_of_two_rows_explains_is_no_difference() -> None:
    """Two rows scatter ten times as much as six others, which make the pooled error too small for these."""
    quiet = [[0.1, -0.1, 0.05, -0.05, 0.1, -0.1, 0.08, -0.08]] * 6
    loud = [[1.0, -1.2, 0.9, -0.8, 1.1, -1.0, 1.2, -0.7], [1.9, -0.2, 1.8, 0.1, 2.0, -0.1, 2.1, 0.3]]
    pooled, alone = one_block([*quiet, *loud]), one_block(loud)
    assert alone.differ(0, 1) is False
    assert pooled.least_difference is not None
    assert abs(np.diff(pooled.fitted.rows[6:])[0]) > pooled.least_difference * np.sqrt(2 / 8)
    assert pooled.differ(6, 7) is False
    assert one_block([*quiet, [value + 1 for value in quiet[0]], loud[0]]).differ(0, 6)


def test_a_row_that_scatters_much_in_few_blocks_is_guarded_though_levenes_test_sees_nothing() -> None:
    """By the pooled scatter the first row would differ from the third."""
    values = np.array([[0.0, 0.9, -0.9], [0.2, 0.25, 0.15], [-1.6, -1.5, -1.55], [0.1, 0.05, 0.15]])
    row, block = (places.ravel() for places in np.indices(values.shape))
    test = TukeyTest(additive.fit(values.ravel(), row, block))
    assert additive.scatter_p(test.fitted) > UNLIKE_LEVEL
    error = test.fitted.error_of_difference(0, 2)
    assert test.least_difference is not None
    assert error is not None
    assert abs(test.fitted.rows[0] - test.fitted.rows[2]) > test.least_difference * error
    assert test.differ(0, 2) is False
    assert test.differ(1, 2) is True


def test_where_the_scatter_of_both_rows_is_estimated_below_0_the_pooled_one_counts() -> None:
    values = np.array([[1.0, -1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, -1.0]])
    row, block = (places.ravel() for places in np.indices(values.shape))
    test = TukeyTest(additive.fit(values.ravel(), row, block))
    estimates = additive.row_variances(test.fitted)
    variances, freedoms = test._scatter
    below = estimates <= 0
    assert below.any()
    assert variances[below] == pytest.approx(test.fitted.variance)
    assert set(freedoms[below]) == {test.fitted.freedom}
    assert variances[~below] == pytest.approx(estimates[~below])
