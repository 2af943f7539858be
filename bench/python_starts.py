"""Time before a Python function is called in a trial, and the cost of the pytest plugin at collection."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

import loadcell
from bench.paired import keep, spread

_TRIALS: Final = 20
_PAIRS: Final = 15
_TESTS: Final = 1_000


def starts_ms() -> dict[str, list[float]]:
    """Milliseconds of each trial: from its begin to the load, and all besides the measurement."""
    plan = {
        "target": {"host": {}},
        "workload": {"python": {"code": "pass"}},
        "load": {"warmup": "0s", "duration": "200ms", "interval": "100ms"},
        "repeats": _TRIALS,
        "monitors": [],
    }
    run = loadcell.run(plan, out=Path("starts"), report=False, show_progress=False)
    starts, others = [], []
    ends: list[int] = []
    for trial in run.trials:
        lines = (run.path / "trials" / trial.name / "events.jsonl").read_text().splitlines()
        phases = {event["phase"]: event["mono_ns"] for event in map(json.loads, lines) if event.get("phase")}
        if "up" in phases and "measure" in phases:
            starts.append((phases["measure"] - phases["up"]) / 1e6)
        ends.append(phases["measure"])
    others = [(after - before) / 1e6 - 200 for before, after in itertools.pairwise(ends)]
    return {"from the begin of a trial to the load": starts, "between two measurements": others}


def collection_ms() -> dict[str, list[float]]:
    """Milliseconds of CPU time of the collection of 1,000 tests, without and with the plugin, in turn."""
    Path("suite").mkdir()
    for number in range(10):
        tests = "".join(f"def test_{index}(): pass\n" for index in range(_TESTS // 10))
        Path(f"suite/test_{number}.py").write_text(tests)
    base = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--collect-only", "-q", "suite"]
    is_installed = any(point.name == "loadcell" for point in entry_points(group="pytest11"))
    plugin = [] if is_installed else ["-p", "loadcell.pytest_plugin"]
    times: dict[str, list[float]] = {"pytest": [], "pytest --loadcell": []}
    for pair in range(_PAIRS + 1):
        commands = {"pytest": base, "pytest --loadcell": [*base, *plugin, "--loadcell"]}
        for name, command in sorted(commands.items(), reverse=bool(pair % 2)):
            cpu_ms = _cpu_ms(command)
            if pair:  # the first one compiles
                times[name].append(cpu_ms)
    return times


def _cpu_ms(command: Sequence[str]) -> float:
    """Milliseconds of CPU time of a command: its wall-clock time depends on what else the machine does."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[0]} ended with {process.returncode}")
    return (usage.ru_utime + usage.ru_stime) * 1e3


def main() -> None:
    """Measure both, and print medians."""
    with tempfile.TemporaryDirectory() as home:
        os.chdir(home)
        times = {**starts_ms(), **collection_ms()}
    result = {name: spread(values) for name, values in times.items()}
    pairs = zip(times["pytest"], times["pytest --loadcell"], strict=True)
    result["difference of the pairs"] = spread([after - before for before, after in pairs])
    for name, values in result.items():
        print(f"{name}: {values['median']:.0f} ms ({values['min']:.0f} to {values['max']:.0f})")
    keep("python_starts", "python -m bench.python_starts", {"ms": result})


if __name__ == "__main__":
    main()
