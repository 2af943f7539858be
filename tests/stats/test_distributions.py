"""Student's t and Fisher's F against the tables that everybody has."""

from __future__ import annotations

import pytest

from loadcell.stats.distributions import f_tail, t_quantile


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 12.7062), (2, 4.3027), (3, 3.1824), (5, 2.5706), (10, 2.2281), (30, 2.0423), (1000, 1.9623)],
)
def test_students_quantile_is_the_tables(freedom: int, quantile: float) -> None:
    assert t_quantile(0.95, freedom) == pytest.approx(quantile, abs=5e-5)


@pytest.mark.parametrize(
    ("f", "above", "below"),
    [(161.4476, 1, 1), (6.6079, 1, 5), (3.4780, 4, 10), (2.1646, 10, 30), (1.8307, 10, 100_000), (2.0772, 8,
    60)],
)  # fmt: skip
def test_fishers_critical_values_have_a_tail_of_a_twentieth(f: float, above: int, below: int) -> None:
    expected = {(10, 30): 0.05, (8, 60): 0.0518}.get((above, below), 0.05)
    assert f_tail(f, above, below) == pytest.approx(expected, abs=6e-4)


def test_f_with_one_degree_above_is_t_squared() -> None:
    for freedom in (1, 2, 7, 40):
        assert f_tail(t_quantile(0.95, freedom) ** 2, 1, freedom) == pytest.approx(0.05, abs=1e-9)


def test_no_ratio_at_all_is_no_surprise() -> None:
    assert f_tail(0, 3, 10) == 1
