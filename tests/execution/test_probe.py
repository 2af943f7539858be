"""Probes as a person runs them: from plan to report, with the values of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from execution.live import loadcell

CPU = """
target: {host: {}}
workload: {probe: {cpu: {max_prime: 1000}}}
load: {clients: 1, warmup: 0s, duration: 0.5s, interval: 0.1s}
factors: {load.clients: [1, 2]}
repeats: 1
monitors: [host, target]
expect: [errors == 0, events_per_s > 1/s]
"""
#: A fixed number of passes, however long they take on a busy machine.
MEMORY = """
target: {host: {}}
workload: {probe: {memory: {test: memcpy, size: 1MiB}}}
load: {clients: 2, warmup: 0s, requests: 50, duration: 60s}
factors: {workload.probe.memory.test: [memcpy, triad]}
repeats: 1
expect: [mib_per_s > 0]
"""
LATENCY = """
target: {host: {}}
workload: {probe: {latency: {size: 4KiB}}}
load: {clients: 1, warmup: 0s, requests: 20, duration: 60s}
factors: {workload.probe.latency.size: [4KiB, 1MiB]}
repeats: 1
expect: [access_ns > 0]
"""
TOO_LARGE = """
target: {host: {}}
workload: {probe: {memory: {test: add, size: 1TiB}}}
load: {clients: 3, warmup: 0s, duration: 1s}
repeats: 1
"""


def run(home: Path, plan: str) -> list[dict[str, Any]]:
    (home / "plan.yaml").write_text(plan)
    done = loadcell(home, "run", "plan.yaml", "--out", "run", "--no-report")
    records = [
        json.loads(path.read_text()) for path in sorted((home / "run" / "trials").glob("*/trial.json"))
    ]
    assert records, done.stderr
    return records


def measured(trial: dict[str, Any]) -> dict[str, Any]:
    """The totals of a trial that ran to its end, whether or not the machine was too busy to be trusted."""
    assert trial["status"] in ("ok", "invalid"), trial["reason"]
    assert trial["errors"] == []
    totals: dict[str, Any] = trial["totals"]
    return totals


def test_processors_from_plan_to_report(tmp_path: Path) -> None:
    result = run(tmp_path, CPU)
    assert len(result) == 2
    for trial in result:
        totals = measured(trial)
        succeeded = totals["transactions"]["succeeded"]
        events = totals["figures"]["events_per_s"]
        assert round(events * trial["measure"]["duration_s"]) == succeeded > 0
        assert len(trial["client"]["threads"]) == trial["settings"]["load"]["clients"]
        verdicts = {check["name"]: check["verdict"] for check in trial["checks"]}
        assert verdicts["client-limit"] == verdicts["counting-identity"] == "ok"
        assert "client-waiting" not in verdicts, "its threads are what is measured"
        assert trial["notes"] == ["probe.cpu"]
    for watched in (tmp_path / "run").glob("trials/*/processes.csv"):
        assert "loadcell.execution.worker" in watched.read_text()
    assert loadcell(tmp_path, "report", "run", "--format", "html").returncode == 0
    page = (tmp_path / "run" / "report.html").read_text()
    assert "events_per_s" in page
    assert "CPU probe as defined by sysbench" in page.replace("&#39;", "'")


def test_memory_by_two_definitions(tmp_path: Path) -> None:
    results = {trial["values"]["workload.probe.memory.test"]: trial for trial in run(tmp_path, MEMORY)}
    assert set(results) == {"memcpy", "triad"}
    for trial in results.values():
        totals = measured(trial)
        assert totals["transactions"]["succeeded"] == 50
        assert "best_mib_per_s" not in totals["figures"], "of two threads there is no best pass"
        assert totals["figures"]["mib_per_s"] > 0


def test_latency_has_a_value_for_each_size(tmp_path: Path) -> None:
    result = run(tmp_path, LATENCY)
    assert len(result) == 2
    for trial in result:
        totals = measured(trial)
        mean_ns = totals["service"]["mean_ms"] * 1e6
        assert abs(totals["figures"]["access_ns"] * 2**16 / mean_ns - 1) < 1e-6
    for path in (tmp_path / "run" / "trials").glob(
        "*/trial.json"
    ):  # how busy the machine is makes no difference to the page
        path.write_text(json.dumps(json.loads(path.read_text()) | {"status": "ok"}))
    assert "Access time, ns" in loadcell(tmp_path, "show", "run").stdout
    assert loadcell(tmp_path, "report", "run").returncode == 0
    assert "Access time, ns vs. size" in (tmp_path / "run" / "report.md").read_text()
    assert (tmp_path / "run" / "report-pictures" / "chart-own.svg").is_file()


def test_what_does_not_fit_into_memory_is_reported_before_anything_is_made(tmp_path: Path) -> None:
    [trial] = run(tmp_path, TOO_LARGE)
    assert trial["status"] == "failed"
    assert "the probe needs 9 TiB for 3 clients" in trial["reason"]
    assert "9 TiB" in trial["reason"]
    assert "of memory are available" in trial["reason"]
    assert "smaller `size`" in trial["advice"]
