"""Gaps far beyond the usual ones: seen in all kinds of series, and rarely in series without any."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence

import pytest

from loadcell.model import duration_classes
from loadcell.stats.long_gaps import expected, outliers

SECOND = 1e9


def series(kind: str, count: int, chance: random.Random) -> list[float]:
    """Gaps of a series without a stop, in ns."""
    match kind:
        case "poisson":
            return [chance.expovariate(10) * SECOND for _ in range(count)]
        case "pareto-1.5":
            return [0.01 * SECOND * chance.paretovariate(1.5) for _ in range(count)]
        case "pareto-1.1":
            return [0.01 * SECOND * chance.paretovariate(1.1) for _ in range(count)]
        case "lognormal":
            return [0.1 * SECOND * chance.lognormvariate(0, 2) for _ in range(count)]
        case "regular":
            return [SECOND * chance.gauss(1, 0.01) for _ in range(count)]
        case "bursts":
            return [SECOND * (0.001 * chance.random() if index % 50 else 300) + 1 for index in range(count)]
    return [
        0.1 * SECOND * chance.expovariate(1) * math.exp(3 * math.sin(6.28 * index / count))
        for index in range(count)
    ]


def unusual(gaps: Sequence[float]) -> int:
    counts = Counter(duration_classes.of(int(gap)) for gap in gaps)
    classes = [(float(duration_classes.middle_ns(key)), counts[key]) for key in sorted(counts, reverse=True)]
    return outliers(classes, sorted(gaps, reverse=True)[:16])


KINDS = ("poisson", "pareto-1.5", "pareto-1.1", "lognormal", "regular", "bursts", "daily")


@pytest.mark.parametrize("count", [40, 300, 3000])
@pytest.mark.parametrize("kind", KINDS)
def test_a_series_without_a_stop_rarely_has_one(kind: str, count: int) -> None:
    chance = random.Random(f"{kind}{count}")
    repeats = 100 if count < 1000 else 20
    alarms = sum(unusual(series(kind, count, chance)) > 0 for _ in range(repeats))
    assert alarms <= (2 if kind.startswith("pareto") else 0)


@pytest.mark.parametrize(("kind", "stop_s"), [("poisson", 10), ("regular", 5), ("lognormal", 5000)])
def test_stops_are_seen_whatever_their_number(kind: str, stop_s: float) -> None:
    chance = random.Random(kind)
    for stops in (1, 2, 5):
        gaps = series(kind, 2000, chance) + [stop_s * SECOND * (1 + 0.5 * index) for index in range(stops)]
        if sum(gaps[2000:]) < sum(gaps[:2000]):
            assert unusual(gaps) == stops


@pytest.mark.parametrize(("factor", "number"), [(2.4, 0), (3.1, 1)])
def test_a_gap_has_to_be_three_times_the_longest_usual_one(factor: float, number: int) -> None:
    assert unusual([SECOND] * 200 + [factor * SECOND]) == number


def test_few_gaps_show_no_usual_one() -> None:
    assert unusual([SECOND] * 25 + [60 * SECOND]) == 0
    assert unusual([SECOND] * 60 + [50 * SECOND]) == 1


def test_gaps_that_take_most_of_the_time_are_usual() -> None:
    assert unusual([0.01 * SECOND] * 1000 + [60 * SECOND]) == 0


def test_the_expected_number_is_that_of_the_tail() -> None:
    """A tenfold gap of a Pareto distribution of index 2 is 100 times as rare."""
    chance = random.Random(1)
    gaps = sorted((chance.paretovariate(2) * SECOND for _ in range(100_000)), reverse=True)
    usual = [(gap, 1) for gap in gaps]
    at = gaps[100]
    assert expected(usual, at) == pytest.approx(100, rel=0.05)
    assert expected(usual, 10 * at) == pytest.approx(1, rel=0.6)
