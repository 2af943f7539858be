"""Python functions as workloads, in real interpreters: what they do wrong has its reason in the trial."""

from __future__ import annotations

import csv
import json
import sys
import time
import venv
from pathlib import Path
from typing import Any

import pytest

from execution.live import loadcell

FUNCTIONS = """
import ctypes, os, sys, threading, time
def empty(): pass
def add(a, b): return a + b
def sleeps(): time.sleep(0.005)
def fails(): raise ValueError("bad value")
calls = 0
def sometimes():
    global calls
    calls += 1
    if calls % 100 == 0:
        raise KeyError("x")
def exits(): sys.exit(3)
def ends(): os._exit(4)
def crashes(): ctypes.string_at(0)
def forks(): os.fork()
def prints(): print("x" * 1_000_000)
def leaks():
    if threading.active_count() < 9:
        threading.Thread(target=time.sleep, args=[100]).start()
def changes(): os.chdir("/")
def endless():
    while True: pass
def not_a_number(): return float("nan")
def grows(kept=[]): kept.append(b"x" * 120_000_000)
def numbers(n): return list(range(n))
def prepared(data): return {"numbers": data}
def total(state): return sum(state["numbers"])
"""
PLAN = """
target: {host: {}}
workload: {python: {call: "functions:empty"}}
load: {warmup: 0ms, duration: 200ms, interval: 100ms}
limits: {prepare: 1s}
factors:
  level:
%s
repeats: 1
order: as-written
monitors: []
"""


def measured(tmp_path: Path, levels: dict[str, dict[str, object]]) -> dict[str, dict[str, Any]]:
    """Trials by their level."""
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    rows = [f"    {name}: {json.dumps(settings)}" for name, settings in levels.items()]
    (tmp_path / "plan.yaml").write_text(PLAN % "\n".join(rows))
    loadcell(tmp_path, "run", "plan.yaml", "--out", "run", "--no-report")
    records = [json.loads(path.read_text()) for path in (tmp_path / "run/trials").glob("*/trial.json")]
    return {record["levels"]["level"]: record for record in records}


def call(function: str, **more: object) -> dict[str, object]:
    return {"workload.python.call": f"functions:{function}", **more}


def test_a_slow_function_ends_at_the_limit_of_the_load(tmp_path: Path) -> None:
    """The data set, which the load makes, has another limit."""
    slow = {"limits.prepare": "60s", "limits.load_slack": "1s"}
    began = time.monotonic()
    trials = measured(
        tmp_path,
        {
            "function": {
                **slow,
                "workload.python": {"code": "import time; time.sleep(30)", "data": "data = 1"},
            },
            "setup": {
                **slow,
                "workload.python": {
                    "code": "pass", "data": "data = 1", "setup": "import time; time.sleep(2)",
                },
            },
        },
    )  # fmt: skip
    assert time.monotonic() - began < 30
    assert {level: trial["status"] for level, trial in trials.items()} == {
        "function": "timed-out",
        "setup": "ok",
    }
    assert "within its limit of 1.2 s" in trials["function"]["reason"]


def test_functions_are_measured_whatever_they_leave_behind(tmp_path: Path) -> None:
    python = "workload.python."
    trials = measured(
        tmp_path,
        {
            "empty": {},
            "arguments": call("add", **{python + "arguments": {"a": 1, "b": 2}}),
            "sleeps": call("sleeps"),
            "sometimes": call("sometimes"),
            "forks": call("forks"),
            "prints": call("prints"),
            "leaks": call("leaks"),
            "changes": call("changes"),
            "nan": call("not_a_number"),
            "threads": call("sleeps", **{"load.clients": 4}),
            "processes": call("sleeps", **{"load.clients": 3, python + "clients": "processes"}),
            "rate": call("sleeps", **{"load.clients": 4, "load.rate": "100/s", "load.duration": "1s"}),
            "code": {
                "workload.python": {
                    "code": "total = sum(data[:n])",
                    "data": "data = list(range(1000))",
                    "arguments": {"n": 10},
                }
            },
            "data": call(
                "total",
                **{
                    python + "arguments": {"n": 1000}, python + "data": "functions:numbers",
                    python + "setup": "functions:prepared", python + "call": "functions:total",
                },
            ),
        },
    )  # fmt: skip
    failed = {level: trial.get("reason") for level, trial in trials.items() if trial["status"] != "ok"}
    assert failed == {}
    assert all(trial["unit"] == "call" for trial in trials.values())
    totals = {level: trial["totals"] for level, trial in trials.items() if trial["status"] == "ok"}
    for level in ("sleeps", "threads", "processes"):
        assert totals[level]["figures"]["python.call_time"] >= 5
    assert totals["threads"]["throughput_per_s"] <= 4 * 200
    assert totals["processes"]["throughput_per_s"] <= 3 * 200
    assert totals["rate"]["transactions"]["attempted"] == pytest.approx(100, abs=5)
    assert 0 < totals["sometimes"]["error_rate"] <= 0.011
    [error] = trials["sometimes"]["errors"]
    assert (error["code"], error["message"]) == ("KeyError", f"'x' ({tmp_path}/functions.py:12)")
    assert totals["empty"]["figures"]["python.calls_per_sample"] > 1_000
    for trial in trials.values():
        directory = tmp_path / "run/trials" / trial["name"]
        curve = list(csv.DictReader((directory / "python-memory.csv").read_text().splitlines()))
        assert curve
        assert all(int(row["rss_bytes"]) > 1e6 for row in curve)
        output = directory / "output.log"
        assert not output.exists() or output.stat().st_size < 8 << 20


def test_a_function_that_cannot_be_measured_has_its_reason(tmp_path: Path) -> None:
    memory = {"workload.python.memory": "200MB"}
    trials = measured(
        tmp_path,
        {
            "fails": call("fails"),
            "exits": call("exits"),
            "ends": call("ends"),
            "crashes": call("crashes"),
            "endless": call("endless", **{"limits.load_slack": "1s"}),
            "grows": call("grows", **memory),
            "arguments": call("empty", **{"workload.python.arguments": {"a": 1}}),
            "no-module": {"workload.python.call": "nowhere:empty"},
            "no-function": call("nothing"),
            "not-callable": call("calls"),
            "setup": call("empty", **{"workload.python.setup": "1 / 0"}),
            "data": call("empty", **{"workload.python.data": "data = open('/nowhere')"}),
            "no-data": call("empty", **{"workload.python.data": "numbers = [1]"}),
        },
    )
    functions = tmp_path / "functions.py"
    assert {level: trial["status"] for level, trial in trials.items() if trial["status"] != "failed"} == {
        "endless": "timed-out"
    }
    reasons = {level: trial.get("reason", "") for level, trial in trials.items()}
    assert reasons["fails"] == f"the function raised ValueError at {functions}:6: bad value"
    assert "the function raised SystemExit" in reasons["exits"]
    assert "ended with status 4" in reasons["ends"]
    assert "killed by signal 11" in reasons["crashes"]
    assert "reached its limit of 191 MiB memory" in reasons["grows"]
    assert reasons["arguments"] == "the function raised TypeError: no function takes the argument 'a'"
    assert reasons["no-module"] == "the function raised ModuleNotFoundError: No module named 'nowhere'"
    assert reasons["no-function"].endswith("module 'functions' has no attribute 'nothing'")
    assert "functions:calls is not callable: int" in reasons["not-callable"]
    assert reasons["setup"] == "the setup raised ZeroDivisionError at <setup>:1: division by zero"
    assert "making the data set raised FileNotFoundError" in reasons["data"]
    assert "making the data set raised KeyError: 'data'" in reasons["no-data"]


def test_results_are_compared_and_different_ones_are_not_ranked(tmp_path: Path) -> None:
    code = {
        "list": "[a * 1.1 for a in range(n)]",
        "array": "import array; array.array('d', (a * 1.1 for a in range(n)))",
        "tuple": "tuple(a * (1.1 + 1e-13) for a in range(n))",
        "reversed": "[a * 1.1 for a in reversed(range(n))]",
        "rounded": "[round(a * 1.1, 3) + 1e-4 for a in range(n)]",
        "object": "object()",
        "nan": "[float('nan')] * n",
    }
    levels = {
        name: {"workload.python": {"code": text, "arguments": {"n": 100}, "verify": {}}}
        for name, text in code.items()
    }
    trials = measured(tmp_path, levels)
    assert all(trial["status"] == "ok" for trial in trials.values())
    assert trials["object"]["value"]["kind"] == "opaque"
    assert trials["nan"]["value"]["columns"][0]["missing"] == 100
    report = json.loads(loadcell(tmp_path, "report", "run", "--json").stdout)
    excluded = {
        trial["name"].partition("level=")[2][:-3] for trial in report["trials"] if trial["status"] != "ok"
    }
    assert excluded == {"reversed", "rounded", "nan"}
    keys = {finding["key"] for finding in report["findings"]}
    assert {"found.opaque-results", "found.different-results"} <= keys


def test_missing_packages_are_named_with_the_way_to_install_them(tmp_path: Path) -> None:
    settings = {"code": "pass", "setup": "import nowhere", "packages": ["no-such-package>=2", "numpy"]}
    trials = measured(tmp_path, {"missing": {"workload.python": settings}})
    [trial] = trials.values()
    assert trial["reason"].endswith(
        "lacks no-such-package>=2. Install with: " + sys.executable + " -m pip install 'no-such-package>=2'"
    )
    checked = loadcell(tmp_path, "check", "plan.yaml").stdout
    assert "lacks no-such-package>=2" in " ".join(checked.split())


def test_another_interpreter_has_its_packages_and_secrets_stay_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_TEST", "hidden-value-2")
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=False)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    (environment / "lib" / version / "site-packages" / "only_there.py").write_text(
        "import os, sys\n__version__ = '7.1'\n"
        "def check(): assert os.environ['PASSED'] == 'hidden-value-2' and 'loadcell' not in sys.modules\n"
    )
    settings = {
        "call": "only_there:check",
        "interpreter": "environment",
        "env": {"PASSED": "${env:SECRET_OF_TEST}"},
    }
    trials = measured(
        tmp_path,
        {"there": {"workload.python": settings}, "here": {"workload.python.call": "only_there:check"}},
    )
    assert trials["there"]["status"] == "ok", trials["there"]["reason"]
    assert "No module named 'only_there'" in trials["here"]["reason"]
    for path in (tmp_path / "run").rglob("*"):
        assert not path.is_file() or b"hidden-value-2" not in path.read_bytes()
