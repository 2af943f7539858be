"""Change points compared with Apache Otava's published examples: the series of its tests and their outcomes.

Series and outcomes are those of `tests/change_point_divisive_test.py`, `analysis_test.py`,
`tigerbeetle_test.py` and `examples/csv` of Apache Otava. Two things differ, and both are taken into account:

- Otava's test takes the population's standard deviation for the sample's. `as_otava` does so too.
- When Otava removes a weak point, it judges the point to the right again, but not the one to the left, whose
  stretch has become longer. `by_windows` judges every point against its final neighbours. In these examples
  that is the only difference: eight of its 113 points do not hold, and one more of ours does.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import stdtr

from analysis.runs import run_of
from loadcell.analysis.history import METRICS, Run, history
from loadcell.stats.change_points import by_permutation, by_t_test, by_windows
from loadcell.stats.energy import Array
from truth.assertions import at_least, at_most
from truth.loads import simulations

STEPS = [0.3, 2.4, 1.5, -0.9, -0.5, 99.7, 98.3, 99.1, 149.0, 149.7, 149.5, 149.1, 148.8, 150.0]
HALVED = [
    1.02, 0.95, 0.99, 1.00, 1.12, 1.00, 1.01, 0.98, 1.01, 0.96,
    0.50, 0.51, 0.48, 0.48, 0.55, 0.50, 0.49, 0.51, 0.50, 0.49,
]  # fmt: skip
METRIC1 = [154023, 138455, 143112, 149190, 132098, 151344, 155145, 148889, 149466, 148209]
METRIC2 = [10.43, 10.23, 10.29, 10.91, 10.34, 10.69, 9.23, 9.11, 9.13, 9.03]
TIGERBEETLE = [
    26705, 26475, 26641, 26806, 26835, 26911, 26564, 26812, 26874, 26682, 15672, 26745, 26460, 26977, 26851,
    23412, 23547, 23674, 23519, 23670, 23662, 23462, 23750, 23717, 23524, 23588, 23687, 23793, 23937, 23715,
    23570, 23730, 23690, 23699, 23670, 23860, 23988, 23652, 23681, 23798, 23728, 23604, 23523, 23412, 23685,
    23773, 23771, 23718, 23409, 23739, 23674, 23597, 23682, 23680, 23711, 23660, 23990, 23938, 23742, 23703,
    23536, 24363, 24414, 24483, 24509, 24944, 24235, 24560, 24236, 24667, 24730, 28346, 28437, 28436, 28057,
    28217, 28456, 28427, 28398, 28250, 28331, 28222, 28726, 28578, 28345, 28274, 28514, 28590, 28449, 28305,
    28411, 28788, 28404, 28821, 28580, 27483, 26805, 27487, 27124, 26898, 27295, 26951, 27312, 27660, 27154,
    27050, 26989, 27193, 27503, 27326, 27375, 27513, 27057, 27421, 27574, 27609, 27123, 27824, 27644, 27394,
    27836, 27949, 27702, 27457, 27272, 28207, 27802, 27516, 27586, 28005, 27768, 28543, 28237, 27915, 28437,
    28342, 27733, 28296, 28524, 28687, 28258, 28611, 29360, 28590, 29641, 28965, 29474, 29256, 28611, 28205,
    28539, 27962, 28398, 28509, 28240, 28592, 28102, 28461, 28578, 28669, 28507, 28535, 28226, 28536, 28561,
    28087, 27953, 28398, 28007, 28518, 28337, 28242, 28607, 28545, 28514, 28377, 28010, 28412, 28633, 28576,
    28195, 28637, 28724, 28466, 28287, 28719, 28425, 28860, 28842, 28604, 28327, 28216, 28946, 28918, 29287,
    28725, 29148, 29541, 29137, 29628, 29087, 28612, 29154, 29108, 28884, 29234, 28695, 28969, 28809, 28695,
    28634, 28916, 29852, 29389, 29757, 29531, 29363, 29251, 29552, 29561, 29046, 29795, 29022, 29395, 28921,
    29739, 29257, 29455, 29376, 29528, 28909, 29492, 28984, 29621, 29026, 29457, 29102, 29114, 28924, 29162,
    29259, 29554, 29616, 29211, 29367, 29460, 28836, 29645, 29586, 28848, 29324, 28969, 29150, 29243, 29081,
    29312, 28923, 29272, 29117, 29072, 29529, 29737, 29652, 29612, 29856, 29012, 30402, 29969, 29309, 29439,
    29285, 29421, 29023, 28772, 29692, 29416, 29267, 29542, 29904, 30045, 29739, 29945, 29141, 29163, 29765,
    29197, 29441, 28910, 29504, 29614, 29643, 29506, 29420, 29672, 29432, 29784, 29888, 29309, 29247, 29816,
    29254, 29813, 29451, 29382, 29618, 28558, 29845, 29499, 29283, 29184, 29246, 28790, 29952, 29145, 29415,
    30437, 29227, 29605, 29859, 29156, 29807, 29406, 29734, 29861, 29140, 29983, 29832, 29919, 29896, 29991,
    29266, 29001, 29459, 29548, 29310, 29042, 29303, 29894, 29091, 29018, 29537, 29614, 29180, 29736, 29500,
    29218, 29581, 28906, 28542, 29306, 28987, 29878, 28865, 30272, 29707, 29662, 29815, 30492, 29347, 30096,
    29054, 30238, 28813, 31895, 28915,
]  # fmt: skip


def as_otava(before: Array, after: Array) -> float:
    freedom = before.size + after.size - 2
    if freedom <= 0:
        return 1.0
    pooled = ((before.size - 1) * before.var() + (after.size - 1) * after.var()) / freedom
    difference = abs(before.mean() - after.mean())
    if pooled == 0:
        return 0.0 if difference else 1.0
    return float(2 * stdtr(freedom, -difference / math.sqrt(pooled * (1 / before.size + 1 / after.size))))


def test_two_steps() -> None:
    assert [point.at for point in by_t_test(STEPS)] == [5, 8]
    assert [point.at for point in by_windows(STEPS)] == [5, 8]
    # 84 orders of the last nine values: the second step cannot be surer than a little above 1 %
    assert [point.at for point in by_permutation(STEPS, level=0.05)] == [5, 8]


def test_a_series_that_halves() -> None:
    assert [point.at for point in by_windows(HALVED, level=0.0001, window=10)] == [10]
    assert [point.at for point in by_t_test(HALVED, level=0.0001)] == [10]
    assert [point.at for point in by_permutation(HALVED)] == [10]


def test_its_csv_example() -> None:
    """`metric2` fell by 12.9 % at the seventh value; `metric1` did not change."""
    (point,) = by_t_test(METRIC2, least=3)
    assert point.at == 6
    assert point.change == pytest.approx(-0.129, abs=0.0005)
    assert by_t_test(METRIC1, least=3) == ()


@pytest.mark.parametrize(
    ("level", "least_change", "otava", "only_otava", "only_here"),
    [
        (0.01, 0.05, [15, 71], [], []),
        (0.05, 0.05, [15, 71], [], []),
        (0.1, 0.05, [10, 11, 15, 71, 363], [363], []),
        (0.2, 0.05, [10, 11, 15, 71], [], []),
        (0.1, 0.01, [
            10, 11, 15, 28, 29, 35, 37, 48, 49, 61, 71, 95, 117, 131, 142, 148, 165, 169, 192, 206, 212, 260,
            265, 268, 278, 282, 363,
        ], [265], []),
        (0.1, 0.0, [
            3, 6, 10, 11, 15, 16, 28, 29, 35, 37, 39, 41, 44, 48, 49, 61, 71, 95, 117, 131, 142, 148, 165,
            169, 192, 206, 212, 260, 265, 268, 278, 282, 288, 305, 363,
        ], [6, 265, 288, 305], [220]),
        (0.01, 0.0, [15, 26, 61, 71, 95, 117, 131, 142, 148, 165, 169, 192, 212, 260], [26], []),
        (0.001, 0.0, [15, 61, 71, 95, 117, 131, 142, 148, 192, 212, 260], [260], []),
        (0.0001, 0.0, [71, 95, 117, 131, 142, 148, 192, 212], [], []),
        (0.00001, 0.0, [71, 95, 131, 192, 212], [], []),
    ],
)  # fmt: skip
def test_tigerbeetle(
    level: float, least_change: float, otava: list[int], only_otava: list[int], only_here: list[int]
) -> None:
    indexes = [point.at for point in by_windows(TIGERBEETLE, level, 30, least_change, as_otava)]
    assert sorted(set(otava) - set(indexes)) == only_otava
    assert sorted(set(indexes) - set(otava)) == only_here


def test_the_large_changes_of_tigerbeetle_are_found_without_windows() -> None:
    """The test of a history: few changes, each of them certain."""
    points = {point.at: point for point in by_t_test(TIGERBEETLE, least=3)}
    assert {15, 71, 192} <= set(points)
    assert points[15].change < -0.05
    assert points[71].change > 0.15


@pytest.mark.parametrize("runs", [8, 20, 50])
def test_a_history_without_a_change_seldom_shows_one(runs: int) -> None:
    chance = np.random.default_rng(21)
    seen = sum(bool(by_t_test(chance.normal(100, 2, runs).tolist(), least=3)) for _ in range(1000))
    at_most(f"{runs} runs of one level, 2% scatter: a change is seen", seen / 1000, 0.02)


def test_a_change_of_a_tenth_is_seen_in_twelve_runs() -> None:
    chance, seen = np.random.default_rng(22), 0
    for _ in range(300):
        series = chance.normal(100, 2, 12)
        series[9:] *= 0.9
        seen += [point.at for point in by_t_test(series.tolist(), least=3)] == [9]
    at_least("nine runs, then three 10% lower, 2% scatter: seen, at the right run", seen / 300, 0.9)


@pytest.mark.parametrize("share", [0.9, 0.6])
def test_a_level_that_came_back_is_seen(share: float) -> None:
    chance, seen = np.random.default_rng(23), 0
    for _ in range(200):
        series = chance.normal(100, 2, 40)
        series[15:25] *= share
        seen += [point.at for point in by_t_test(series.tolist(), least=3)] == [15, 25]
    at_least(f"ten of 40 runs {1 - share:.0%} lower: both changes seen, at the right runs", seen / 200, 0.9)


def correlated(chance: np.random.Generator, count: int, correlation: float) -> list[float]:
    """Values about 100 with a standard deviation of 2, each correlated with the one before it."""
    values = [chance.normal()]
    for _ in range(count - 1):
        values.append(correlation * values[-1] + math.sqrt(1 - correlation**2) * chance.normal())
    return [100 + 2 * value for value in values]


@pytest.mark.parametrize(("correlation", "most"), [(0.3, 0.05), (0.6, 0.1)])
@pytest.mark.parametrize("runs", [12, 40])
def test_dependent_runs_seldom_show_a_change(correlation: float, most: float, runs: int) -> None:
    chance = np.random.default_rng(24)
    seen = sum(bool(by_t_test(correlated(chance, runs, correlation), least=3)) for _ in range(500))
    at_most(
        f"{runs} runs correlated by {correlation} with the one before: a change is seen", seen / 500, most
    )


@pytest.mark.parametrize("runs", [10, 30])
def test_a_history_of_many_treatments_seldom_shows_a_change(runs: int) -> None:
    """With 1 % for each of 16 treatments, 8 % of histories would show one."""
    chance, seen, latest = np.random.default_rng(25), 0, 0
    record, _ = run_of({str(name): [100.0] for name in range(16)})
    for _ in range(histories := simulations(200)):
        timeline = history(
            [
                Run(
                    f"run-{n}", f"2026-03-{n + 1:02d}", "finished", record, (), {},
                    {str(name): float(chance.normal(100, 2)) for name in range(16)},
                    {str(name): 1 for name in range(16)},
                )
                for n in range(runs)
            ],
            METRICS["throughput"],
        )  # fmt: skip
        seen += bool(timeline.events)
        latest += bool(timeline.latest)
    title = f"16 treatments, {runs} runs of one level:"
    at_most(f"{title} a change is seen in any", seen / histories, 0.02, histories)
    at_most(f"{title} the last run is called out in any", latest / histories, 0.03, histories)


@pytest.mark.parametrize(("share", "at"), [(0.97, 15), (0.95, 15), (0.95, 25), (0.9, 15)])
@pytest.mark.parametrize("scatter", ["normal", "heavy tails", "correlated by 0.4"])
def test_the_runs_among_which_a_change_lies_hold_the_true_one(share: float, at: int, scatter: str) -> None:
    """Ranges of the changes that are seen; heavy tails are Student's t with 3 degrees of freedom."""
    chance, holds, exact = np.random.default_rng(26), [], []
    while len(holds) < 100:
        if scatter == "normal":
            series = chance.normal(100, 2, 30)
        elif scatter == "heavy tails":
            series = 100 + 2 * chance.standard_t(3, 30) / math.sqrt(3)
        else:
            series = np.array(correlated(chance, 30, 0.4))
        series[at:] *= share
        if points := by_t_test(series.tolist(), least=3):
            nearest = min(points, key=lambda point: abs(point.at - at))
            holds.append(nearest.earliest <= at <= nearest.latest)
            exact.append(nearest.at == at)
    title = f"{at} of 30 runs, then {1 - share:.0%} lower, 2% scatter, {scatter}"
    at_least(f"{title}: the range of places holds the true one", sum(holds) / 100, 0.9)
