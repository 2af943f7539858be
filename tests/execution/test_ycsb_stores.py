"""YCSB as a person runs it on an embedded store and on a Redis of loadcell's: every letter, counted and
reported.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from execution.live import loadcell

PLAN = """
target: {target}
workload: {{ycsb: {{recordcount: 300, fieldcount: 3}}}}
load: {{clients: 2, warmup: 0s, duration: 200ms, interval: 100ms}}
factors: {{workload.ycsb.workload: [A, D, E, F]}}
repeats: 1
monitors: []
expect: [errors == 0]
"""


def trials(home: Path, target: str) -> dict[str, dict[str, Any]]:
    (home / "plan.yaml").write_text(PLAN.format(target=target))
    done = loadcell(home, "run", "plan.yaml", "--out", "run", "--no-report")
    assert done.returncode == 0, done.stderr
    records = [json.loads(path.read_text()) for path in (home / "run" / "trials").glob("*/trial.json")]
    assert {trial["status"] for trial in records} == {"ok"}, [trial["reason"] for trial in records]
    return {trial["settings"]["workload"]["ycsb"]["workload"]: trial for trial in records}


@pytest.mark.parametrize("target", ["{store: {sync: false}}", "{redis: {server: local}}"])
def test_every_mix_runs(tmp_path: Path, target: str) -> None:
    result = trials(tmp_path, target)
    expected = {
        "a": {"READ", "UPDATE"},
        "d": {"READ", "INSERT"},
        "e": {"INSERT", "SCAN"},
        "f": {"READ", "UPDATE", "READ-MODIFY-WRITE"},
    }
    for letter, trial in result.items():
        assert set(trial["operations"]) - {"missed"} == expected[letter]
        if "missed" in trial["operations"]:
            assert trial["operations"]["missed"]["succeeded"] == 0
        [counted] = [check for check in trial["checks"] if check["name"] == "server-counters"]
        assert counted["verdict"] == ("ok" if "redis" in target else "unknown"), counted
    assert loadcell(tmp_path, "report", "run", "--format", "md").returncode == 0
    page = (tmp_path / "run" / "report.md").read_text()
    for word in ("READ-MODIFY-WRITE", "SCAN", "Types of operation"):
        assert word in page, word
