"""Throughput against p99: a curve for each group of treatments that differ in their load alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import fake_runs
from loadcell.analysis import load_curves, saturation
from loadcell.analysis.analyse import Analysis, analyse
from loadcell.report.charts.load_curves import labels
from loadcell.store.read import read_run


@pytest.fixture(scope="module")
def analysed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, fake_runs.Shape], Analysis]:
    home = tmp_path_factory.mktemp("runs")

    def of(name: str, shape: fake_runs.Shape) -> Analysis:
        stored = read_run(fake_runs.write_run(home / name, shape))
        return analyse(stored.run, stored.trials)

    return of


def test_points_are_medians_by_rising_clients_with_each_repeat(
    analysed: Callable[[str, fake_runs.Shape], Analysis],
) -> None:
    analysis = analysed("sweep", fake_runs.Shape(factors={"load.clients": [16, 1, 4]}, repeats=3))
    (curve,) = load_curves.of_clients(analysis.saturation)
    assert curve.where == ""
    assert [point.load for point in curve.points] == [1, 4, 16]
    for point in curve.points:
        trials = point.treatment.trials
        assert point.repeats == tuple(
            (trial.throughput_per_s, (trial.response or {})["p99_ms"]) for trial in trials
        )
        assert point.throughput_per_s == sorted(speed for speed, _ in point.repeats)[1]
        assert point.p99_ms == sorted(time for _, time in point.repeats)[1]


def test_the_knee_is_that_of_the_saturation(analysed: Callable[[str, fake_runs.Shape], Analysis]) -> None:
    analysis = analysed("knee", fake_runs.sweep(repeats=3))
    (line,) = analysis.saturation
    (curve,) = load_curves.of_clients(analysis.saturation)
    assert isinstance(line, saturation.Saturation)
    assert line.knee is not None
    assert curve.knee == line.load(line.knee)


def test_another_factor_makes_a_curve_of_each_of_its_levels(
    analysed: Callable[[str, fake_runs.Shape], Analysis],
) -> None:
    factors = {"load.clients": [1, 4, 16], "target.postgres.settings.work_mem": ["1MB", "2MB"]}
    analysis = analysed("two", fake_runs.Shape(factors=factors, monitors=False))
    curves = load_curves.of_clients(analysis.saturation)
    assert [curve.where for curve in curves] == ["work_mem = 1MB", "work_mem = 2MB"]
    assert [[point.load for point in curve.points] for curve in curves] == [[1, 4, 16]] * 2


def test_rates_of_open_loops_are_loads_too_and_overloaded_trials_no_points(
    analysed: Callable[[str, fake_runs.Shape], Analysis],
) -> None:
    analysis = analysed("rates", fake_runs.rates())
    (curve,) = load_curves.of_rates(analysis.treatments)
    loads = [point.load for point in curve.points]
    assert loads == sorted(loads)
    assert len(loads) >= 3
    sustained = [item for item in analysis.treatments if not all(trial.overloaded for trial in item.trials)]
    assert len(loads) == len(sustained) < len(analysis.treatments)
    assert load_curves.of_clients(analysis.saturation) == ()


def test_labels_that_would_overlap_give_way_to_those_of_knees() -> None:
    near = {"throughput": 1000.0, "p99": 10.0}
    rows = [
        {**near, "knee": False},
        {**near, "throughput": 1005.0, "knee": True},
        {"throughput": 100.0, "p99": 1.0, "knee": False},
    ]
    assert labels(rows) == [False, True, True]


def test_labels_far_apart_are_all_shown() -> None:
    rows = [{"throughput": 200.0 * n, "p99": 2.0**n, "knee": False} for n in range(1, 6)]
    assert all(labels(rows))
