"""A real server under a real load, sampled by a real perf; or, where the kernel forbids that, told so."""

from __future__ import annotations

from pathlib import Path

from execution.live import loadcell
from loadcell.store.read import read_run
from profilers.test_perf import may_sample

PLAN = """
target: {postgres: {server: embedded}}
workload: {sysbench: {script: oltp_read_only, tables: 1, table_size: 1000}}
load: {clients: 2, warmup: 0s, duration: 500ms, interval: 500ms}
repeats: 1
monitors: []
expect: [errors == 0]
"""


def test_the_backends_of_postgres_are_sampled(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN)
    ended = loadcell(
        tmp_path, "run", "plan.yaml", "--out", "run", "--no-report", "--profile", "cpu",
        "--set", "profile.cpu.frequency=997",
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    stored = read_run(tmp_path / "run")
    assert [(trial.name, trial.status) for trial in stored.trials] == [("001-baseline-r1", "ok")]
    [profiled] = stored.unscored
    assert stored.run.verdicts[0].met == 1
    if not may_sample(tmp_path):
        assert profiled.status == "failed"
        assert profiled.reason in ended.stderr
        assert profiled.advice
        return
    assert profiled.status == "ok", profiled.reason
    folded = (stored.directory(profiled.name) / "profile.folded").read_text()
    assert profiled.profile.samples > 0
    assert {line.partition(";")[0] for line in folded.splitlines()} >= {"postgres: client backend"}
    assert "PostgresMain" in folded
    assert "samples of" in ended.stderr
    shown = loadcell(tmp_path, "show", "run", "profile")
    assert "Not scored" in shown.stdout
    assert "profile.folded" in shown.stdout
