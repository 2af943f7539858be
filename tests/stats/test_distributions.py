"""Quantiles and tails against published tables, and against scipy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy

from loadcell.stats import distributions
from loadcell.stats.distributions import dunnett_quantile, f_tail, range_quantile, t_quantile


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 12.7062), (2, 4.3027), (3, 3.1824), (5, 2.5706), (10, 2.2281), (30, 2.0423), (1000, 1.9623)],
)
def test_students_quantile_is_the_tables(freedom: int, quantile: float) -> None:
    assert t_quantile(0.95, freedom) == pytest.approx(quantile, abs=5e-5)


@pytest.mark.parametrize(
    ("f", "above", "below"),
    [(161.4476, 1, 1), (6.6079, 1, 5), (3.4780, 4, 10), (2.1646, 10, 30), (1.8307, 10, 100_000), (2.0970, 8,
    60)],
)  # fmt: skip
def test_fishers_critical_values_have_a_tail_of_a_twentieth(f: float, above: int, below: int) -> None:
    assert f_tail(f, above, below) == pytest.approx(0.05, abs=5e-5)


def test_f_with_one_degree_above_is_t_squared() -> None:
    for freedom in (1, 2, 7, 40):
        assert f_tail(t_quantile(0.95, freedom) ** 2, 1, freedom) == pytest.approx(0.05, abs=1e-9)


def test_no_ratio_at_all_is_no_surprise() -> None:
    assert f_tail(0, 3, 10) == 1


@pytest.mark.parametrize(
    ("count", "freedom", "quantile"),
    [
        (2, 1, 17.97), (3, 1, 26.98), (10, 1, 49.07), (2, 2, 6.085), (10, 2, 13.99), (3, 5, 4.602),
        (3, 10, 3.877), (5, 10, 4.654), (10, 20, 5.008), (20, 20, 5.714), (4, 60, 3.737), (10, 120, 4.560),
    ],
)  # fmt: skip
def test_the_studentised_range_is_the_tables(count: int, freedom: int, quantile: float) -> None:
    """Upper 5 % points (Harter 1960; Pearson and Hartley, *Biometrika Tables*, table 29)."""
    assert range_quantile(0.95, count, freedom) == pytest.approx(quantile, rel=2e-4)


@pytest.mark.parametrize(
    ("count", "freedom", "quantile"),
    [
        (1, 5, 2.57), (2, 5, 3.03), (3, 5, 3.29), (9, 5, 3.97), (2, 10, 2.57), (4, 10, 2.89), (9, 10, 3.24),
        (2, 20, 2.38), (5, 20, 2.73), (9, 20, 2.95), (3, 60, 2.41), (9, 60, 2.77),
    ],
)  # fmt: skip
def test_dunnetts_quantile_is_the_tables(count: int, freedom: int, quantile: float) -> None:
    """Two-sided 5 % points for `count` treatments and a control (Dunnett 1964, table II)."""
    assert dunnett_quantile(0.95, count, freedom) == pytest.approx(quantile, abs=0.0051)


@pytest.mark.parametrize(
    ("count", "freedom"), [(2, 3), (6, 2), (16, 4), (40, 3), (50, 1), (60, 10), (100, 30), (200, 1), (200, 5)]
)
def test_the_studentised_range_is_scipys(count: int, freedom: int) -> None:
    quantile = range_quantile(0.95, count, freedom)
    assert scipy.stats.studentized_range.sf(quantile, count, freedom) == pytest.approx(0.05, abs=2e-6)


@pytest.mark.parametrize("quantile", [range_quantile, dunnett_quantile])
@pytest.mark.parametrize(
    ("count", "freedom"),
    [
        (3, 1), (16, 1), (50, 1), (200, 1), (16, 2), (200, 2), (1000, 2), (20, 3), (200, 3), (1000, 5),
        (20, 1000), (1000, 1000),
    ],
)  # fmt: skip
def test_twice_as_many_nodes_change_nothing(
    quantile: Callable[[float, int, int], float], count: int, freedom: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = quantile(0.95, count, freedom)
    nodes = distributions._nodes
    monkeypatch.setattr(distributions, "_nodes", lambda *of: 2 * nodes(*of))
    again = quantile.__wrapped__(0.95, count, freedom)  # type: ignore[attr-defined]  # past the cache
    assert again == pytest.approx(before, rel=1e-6)


@pytest.mark.parametrize(("correlation", "quantile"), [(0.5, 2.652), (0.25, 2.711), (0.0, 2.727)])
def test_dunnetts_quantile_is_the_least_of_those_at_lower_correlations(
    correlation: float, quantile: float
) -> None:
    shared, apart = np.sqrt(correlation), np.sqrt(1 - correlation)

    def share_within(c: float) -> float:
        """Probability that 8 normal variables with this correlation lie within c."""
        z = np.linspace(-9, 9, 20_001)
        inner = scipy.special.ndtr((c - shared * z) / apart) - scipy.special.ndtr((-c - shared * z) / apart)
        return float(np.trapezoid(scipy.stats.norm.pdf(z) * inner**8, z))

    assert share_within(quantile) == pytest.approx(0.95, abs=1e-4)
    ours = dunnett_quantile(0.95, 8, 1_000_000)
    assert ours == pytest.approx(2.652, abs=5e-4)
    assert correlation == 0.5 or share_within(ours) < 0.945, "fewer lie within it at a lower correlation"


def test_dunnetts_quantile_for_one_is_students_and_no_more_than_bonferronis() -> None:
    for freedom in (1, 4, 30):
        assert dunnett_quantile(0.95, 1, freedom) == pytest.approx(t_quantile(0.95, freedom), rel=1e-7)
        assert range_quantile(0.95, 2, freedom) == pytest.approx(
            t_quantile(0.95, freedom) * np.sqrt(2), rel=1e-7
        )
        assert t_quantile(0.95, freedom) < dunnett_quantile(0.95, 5, freedom) < t_quantile(0.99, freedom)
