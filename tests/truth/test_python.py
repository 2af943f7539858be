"""Times of Python functions against known ones: nothing, a sleep, and pyperf in the same run.

Of samples of a millisecond the shortest is compared, which other processes have not interrupted.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from execution.live import loadcell

from .loads import undisturbed

FUNCTIONS = """
import time
def empty(): pass
def one(a): pass
def sleeps(ms): time.sleep(ms / 1e3)
def allocates(size): return len(b"x" * size)
"""
PLAN = """
target: {host: {}}
workload: {python: %s}
load: {warmup: 100ms, duration: 400ms, interval: 100ms}
factors:
  level:
%s
repeats: %d
monitors: []
"""
#: 99% quantile of Student's t for 5 degrees of freedom, both sides.
T_99 = 4.032
#: Seconds of attempts on a machine that is busy with other tests.
PATIENCE_S = 60.0


def measured(
    home: Path, python: dict[str, object], levels: dict[str, dict[str, object]], repeats: int
) -> dict[str, list[dict[str, Any]]]:
    """Metrics of the trials by level, and the shortest sample (`min_ms`): nothing has interrupted it."""
    home.mkdir()
    (home / "functions.py").write_text(FUNCTIONS)
    rows = "\n".join(f"    {name}: {json.dumps(settings)}" for name, settings in levels.items())
    (home / "plan.yaml").write_text(PLAN % (json.dumps(python), rows, repeats))
    loadcell(home, "run", "plan.yaml", "--out", "run", "--no-report")
    figures: dict[str, list[dict[str, Any]]] = {}
    for path in sorted((home / "run/trials").glob("*/trial.json")):
        trial = json.loads(path.read_text())
        totals = trial["totals"]
        metrics = {**totals["figures"], "min_ms": totals["response"]["min_ms"]}
        figures.setdefault(trial["levels"]["level"], []).append(metrics)
    return figures


def test_an_empty_function_takes_nothing(tmp_path: Path) -> None:
    numbers = count()
    undisturbed(lambda: _takes_nothing(tmp_path / str(next(numbers))), patience_s=PATIENCE_S)


def _takes_nothing(home: Path) -> None:
    levels: dict[str, dict[str, object]] = {
        "function": {"workload.python": {"call": "functions:empty"}},
        "argument": {"workload.python": {"call": "functions:one", "arguments": {"a": 1}}},
        "statement": {"workload.python": {"code": "pass"}},
    }
    for figures in measured(home, {"code": "pass"}, levels, 6).values():
        times_ns = [figure["python.call_time"] * 1e6 for figure in figures]
        half_ns = T_99 * statistics.stdev(times_ns) / len(times_ns) ** 0.5
        assert abs(statistics.mean(times_ns)) <= half_ns
        # the loop alone would take its overhead
        assert all(figure["min_ms"] < 0.5 * figure["python.loop_overhead"] for figure in figures)


def test_a_sleep_takes_as_long_as_the_kernel_sleeps(tmp_path: Path) -> None:
    numbers = count()
    undisturbed(lambda: _sleeps(tmp_path / str(next(numbers))), patience_s=PATIENCE_S)


def _sleeps(home: Path) -> None:
    levels: dict[str, dict[str, object]] = {
        f"{ms}": {"workload.python.arguments": {"ms": ms}} for ms in (1, 5, 20)
    }
    for level, figures in measured(home, {"call": "functions:sleeps"}, levels, 1).items():
        ms = int(level)
        slept_ms = []
        for _ in range(400 // ms):
            begin = time.perf_counter()
            time.sleep(ms / 1e3)
            slept_ms.append((time.perf_counter() - begin) * 1e3)
        assert figures[0]["python.call_time"] == pytest.approx(statistics.mean(slept_ms), abs=0.2)


def test_a_loop_takes_as_long_as_pyperf_measures(tmp_path: Path) -> None:
    numbers = count()
    undisturbed(lambda: _agrees_with_pyperf(tmp_path / str(next(numbers))), patience_s=PATIENCE_S)


def _agrees_with_pyperf(home: Path) -> None:
    ratios = []
    for number in range(3):
        python: dict[str, object] = {"code": "sum(range(n))", "arguments": {"n": 10_000}}
        figures = measured(home.with_name(f"{home.name}-{number}"), python, {"n": {}}, 3)["n"]
        shortest_ms = min(figure["min_ms"] for figure in figures)
        file = home.with_name(f"{home.name}-{number}.json")
        command = [sys.executable, "-m", "pyperf", "timeit", "--processes=3", "--loops=10", "--values=200"]
        code = ["--setup", "n = 10_000", "sum(range(n))", "--quiet", "-o", str(file)]
        subprocess.run([*command, *code], check=True, timeout=120, stdout=subprocess.DEVNULL)
        values = [
            value
            for run in json.loads(file.read_text())["benchmarks"][0]["runs"]
            for value in run.get("values", ())
        ]
        ratios.append(shortest_ms / 1e3 / min(values))
    assert statistics.median(ratios) == pytest.approx(1, abs=0.03)


def test_an_allocation_is_the_growth_of_the_peak(tmp_path: Path) -> None:
    size = 200_000_000
    python: dict[str, object] = {"call": "functions:allocates", "arguments": {"size": size}}
    [figures] = measured(tmp_path / "memory", python, {"n": {}}, 1)["n"]
    growth = figures["python.memory.peak"] - figures["python.memory.start"]
    assert growth == pytest.approx(size, rel=0.01)
