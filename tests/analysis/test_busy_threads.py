"""The busiest threads of a treatment: shares of the whole measurement, medians over trials."""

from __future__ import annotations

import pytest

from analysis.runs import analysis_of
from loadcell.analysis.busy_threads import MOST_NAMES, BusyThread, by_treatment
from loadcell.store.frames import Frame

TYPES = {
    "trial": "text", "t_s": "number", "tid": "number", "name": "text", "state": "text",
    "cpu_percent": "number", "run_delay_percent": "number", "elapsed_s": "number",
}  # fmt: skip
ANALYSIS = analysis_of({"1": [10.0, 11.0, 12.0]})
TRIALS = [trial.name for trial in ANALYSIS.trials]

Row = tuple[str, float, float, str, str, float, float, float]


def busiest(*rows: Row) -> tuple[BusyThread, ...]:
    return by_treatment(Frame.from_rows(TYPES, rows), ANALYSIS.treatments, ANALYSIS.trials)


def total(trial: str, t_s: float, elapsed_s: float = 1.0) -> Row:
    return (trial, t_s, 0, "total", "", 100.0, 0.0, elapsed_s)


def test_a_thread_is_counted_over_the_whole_measurement_without_warm_up() -> None:
    name = TRIALS[0]
    (thread,) = busiest(
        total(name, -1),
        (name, -1, 7, "writer", "R", 100.0, 0.0, 1.0),
        total(name, 1),
        (name, 1, 7, "writer", "R", 80.0, 40.0, 1.0),
        total(name, 4, 3.0),
        (name, 4, 7, "writer", "D", 40.0, 0.0, 3.0),
        total(name, 8, 4.0),
    )
    assert (thread.name, thread.running, thread.delayed) == (
        "writer",
        pytest.approx(0.25),
        pytest.approx(0.05),
    )
    assert dict(thread.states) == {"R": 0.5, "D": 0.5}


def test_of_threads_with_one_name_the_busiest_and_of_trials_the_median() -> None:
    rows: list[Row] = []
    for name, cpu in zip(TRIALS, (10.0, 90.0, 30.0), strict=True):
        rows += [
            total(name, 1),
            (name, 1, 7, "w", "R", cpu, 0.0, 1.0),
            (name, 1, 8, "w", "S", cpu / 2, 0.0, 1.0),
        ]
    (thread,) = busiest(*rows)
    assert thread.running == pytest.approx(0.3)
    assert dict(thread.states) == {"R": 0.5, "S": 0.5}


def test_there_are_few_names_and_none_without_samples() -> None:
    name = TRIALS[0]
    rows: list[Row] = [(name, 1, n, f"t{n}", "R", float(n), 0.0, 1.0) for n in range(1, 50)]
    threads = busiest(total(name, 1), *rows)
    assert [thread.name for thread in threads] == ["t49", "t48", "t47"]
    assert len(threads) == MOST_NAMES
    assert by_treatment(Frame.from_rows({}, []), ANALYSIS.treatments, ANALYSIS.trials) == ()
