"""Values that a test reads from its fixture."""

from __future__ import annotations

import math
import statistics

import pytest

from loadcell.pytest_plugin.fixtures import FunctionStats
from loadcell.pytest_plugin.timing import Sample


def test_values_are_those_of_the_samples() -> None:
    seconds = [0.004, 0.001, 0.002, 0.008, 0.003]
    stats = FunctionStats([Sample(10, second * 10 * 1e9) for second in seconds])
    assert (stats.rounds, stats.iterations) == (5, 10)
    assert stats["mean"] == pytest.approx(statistics.fmean(seconds))
    assert stats.median == pytest.approx(0.003)
    assert stats.stddev == pytest.approx(statistics.stdev(seconds))
    first, _, third = statistics.quantiles(seconds, n=4, method="inclusive")
    assert (stats.q1, stats.q3, stats.iqr) == pytest.approx((first, third, third - first))
    assert (stats.min, stats.max, stats.total) == pytest.approx((0.001, 0.008, 0.018))
    assert stats.ops == pytest.approx(1 / stats.mean)
    with pytest.raises(KeyError):
        stats["nothing"]


def test_values_of_no_samples_are_not_numbers() -> None:
    stats = FunctionStats([])
    assert all(math.isnan(value) for value in (stats.mean, stats.median, stats.min, stats.q1))
    assert stats.stddev == 0
