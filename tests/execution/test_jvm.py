"""A service on the JVM as a plan measures it: collectors as a factor, and a heap that is too small."""

from __future__ import annotations

import json
from pathlib import Path

from execution.live import loadcell
from jvms import classes
from systems.jvm.programs import SERVICE

PLAN = """
target:
  jvm:
    main: Service
    classpath: {classes}
    arguments: ["{{port}}", {way}]
    url: http://127.0.0.1:{{port}}
    heap: 32MiB
    properties: {{mode: plain, sun.net.httpserver.nodelay: true}}
workload: {{http: {{requests: {{get: {{path: /, check: {{contains: hello}}}}}}}}}}
load: {{clients: 2, warmup: 200ms, duration: 1s}}
factors:
{factors}
repeats: 1
"""


def run(tmp_path: Path, way: str, factors: str) -> list[Path]:
    """Directories of the trials of a run."""
    plan = PLAN.format(classes=classes(SERVICE), way=way, factors=factors)
    (tmp_path / "plan.yaml").write_text(plan)
    loadcell(tmp_path, "run", "plan.yaml", "--out", "run")
    return sorted((tmp_path / "run" / "trials").iterdir())


def test_collectors_and_properties_are_factors(tmp_path: Path) -> None:
    factors = "  target.jvm.collector: [Serial, G1]\n  target.jvm.properties.mode: [one, two]"
    trials = run(tmp_path, "collect", factors)
    assert len(trials) == 4
    report = (tmp_path / "run" / "report.md").read_text()
    assert "(local) ·" not in report, "one JDK is named once, without the commands of all treatments"
    for trial in trials:
        record = json.loads((trial / "trial.json").read_text())
        assert record["status"] == "ok"
        assert record["target"]["collector"] == record["levels"]["target.jvm.collector"]
        assert record["monitors"]["jvm"]["samples"] >= 1
        log = (trial / "gc.log").read_text()
        assert "Pause Full (System.gc())" in log
        assert record["files"]["gc.log"] == len(log.encode())
        output = (trial / "output.log").read_text()
        assert f"mode {record['levels']['target.jvm.properties.mode']}" in output


def test_a_heap_that_is_too_small_is_a_result(tmp_path: Path) -> None:
    trials = run(tmp_path, "heap", "  target.jvm.heap: [32MiB, 16GiB]")
    records = [json.loads((trial / "trial.json").read_text()) for trial in trials]
    by_heap = {record["levels"]["target.jvm.heap"]: record for record in records}
    failed = by_heap["32MiB"]
    assert failed["status"] == "failed"
    assert failed["reason"].startswith("the target exited during the load (the heap was exhausted")
    assert failed["reason_code"] == "jvm.out-of-heap"
    assert failed["died_during"] == "load"
    assert "target.jvm.heap" in failed["advice"]
    assert "gc.log" in failed["files"], "the log of a failed trial is the one that is needed"
