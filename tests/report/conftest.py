"""Runs that nobody ran, written once and read by many tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import fake_runs
from loadcell.store.read import StoredRun, read_run
from report import fault_runs

Runs = Callable[[str], Path]


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """The run of a shape of `fake_runs`, by the shape's name."""
    home = tmp_path_factory.mktemp("runs")
    written: dict[str, Path] = {}

    def run(name: str) -> Path:
        if name not in written:
            written[name] = fake_runs.write_run(home / name, SHAPES[name]())
        return written[name]

    return run


@pytest.fixture(scope="session")
def stored(runs: Runs) -> Callable[[str], StoredRun]:
    """The same, read."""
    return lambda name: read_run(runs(name))


@pytest.fixture(scope="session")
def broken(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    """A run with a fault in each trial."""
    return fault_runs.with_faults(tmp_path_factory.mktemp("faults"))


SHAPES: dict[str, Callable[[], fake_runs.Shape]] = {
    "two": fake_runs.two_treatments,
    "sweep": fake_runs.sweep,
    "two hundred": fake_runs.two_hundred,
    "trouble": fake_runs.troubled,
    "rates": fake_runs.rates,
    "watched": fake_runs.watched,
    "two factors": fake_runs.two_factors,
    "many factors": fake_runs.many_factors,
    "hostile": fake_runs.hostile,
    "nothing varied": lambda: fake_runs.Shape(factors={}, repeats=5),
    "one repeat, no series": lambda: fake_runs.Shape(intervals=False, monitors=False, repeats=1),
    "nothing measured": lambda: fake_runs.Shape(
        fates={n: fake_runs.Fate("failed", "no server there") for n in range(1, 5)}
    ),
    "pictures side by side": lambda: fake_runs.Shape(
        factors={
            "load.clients": list(range(1, 11)),
            "target.postgres.settings.work_mem": [f"{2**n}MB" for n in range(9)],
        },
        repeats=1,
    ),
    "numbered": lambda: fake_runs.Shape(
        factors={"a": [f"a{n}" for n in range(11)], "b": ["x", "y"], "c": ["u", "v"]},
        monitors=False,
        repeats=1,
    ),
    "an hour": fake_runs.an_hour,
    "long": lambda: fake_runs.Shape(seconds=2000, monitors=False, repeats=1),
}
