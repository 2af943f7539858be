"""The composite on DuckDB as a person measures it: threads and processors as factors, counts compared with
the data.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from execution.live import loadcell
from loadcell.plan.affinity import ranges

MINE = sorted(os.sched_getaffinity(0))
PLAN = f"""
target: {{duckdb: {{}}}}
workload: {{duckdb: {{rows: 20000, distinct: 500, updates: 10, pages: 10}}}}
load: {{clients: 1, warmup: 0s, requests: 5, interval: 100ms}}
factors:
  where:
    narrow: {{affinity.target: cpus {MINE[0]}, target.duckdb.threads: 1}}
    wide: {{affinity.target: all, target.duckdb.threads: 2}}
repeats: 1
monitors: [target]
expect: [errors == 0, throughput > 0/s]
"""


def test_from_plan_to_report(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN)
    done = loadcell(tmp_path, "run", "plan.yaml", "--out", "run", "--no-report")
    assert done.returncode == 0, done.stderr
    records = [json.loads(path.read_text()) for path in (tmp_path / "run").glob("trials/*/trial.json")]
    assert {trial["levels"]["where"] for trial in records} == {"narrow", "wide"}
    for trial in records:
        verdicts = {check["name"]: check["verdict"] for check in trial["checks"]}
        for name in (
            "littles-law",
            "counting-identity",
            "server-counters",
            "values",
            "intervals-complete",
            "affinity",
        ):
            assert verdicts[name] == "ok", (name, trial["checks"])
        assert set(trial["operations"]) == {"select_distinct", "update", "page"}
        assert trial["unit"] == "composite"
        narrow = trial["levels"]["where"] == "narrow"
        assert trial["target"]["settings"]["threads"] == (1 if narrow else 2)
        pinned = trial["affinity"]["client"]["read_back"]
        wanted = {str(MINE[0]) if narrow else ranges(MINE)}
        assert all(set(look["threads"]) == wanted for look in pinned)
    assert loadcell(tmp_path, "report", "run", "--format", "html").returncode == 0
    page = (tmp_path / "run" / "report.html").read_text()
    assert "composites/s" in page
