"""A target in the process that makes the load, sampled by a real perf; or, where the kernel forbids that,
told so.
"""

from __future__ import annotations

from pathlib import Path

from execution.live import loadcell
from loadcell.store.read import read_run
from profilers.test_perf import may_sample

PLAN = """
target: {store: {engine: lmdb, sync: false}}
workload: {kv: {keys: 1000, reads: 50%}}
load: {clients: 2, warmup: 0s, duration: 500ms, interval: 100ms}
repeats: 1
monitors: []
profile: {cpu: {frequency: 997}}
"""


def test_the_threads_of_an_embedded_store_are_sampled(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN)
    ended = loadcell(tmp_path, "run", "plan.yaml", "--out", "run", "--no-report")
    assert ended.returncode == 0, ended.stderr
    stored = read_run(tmp_path / "run")
    assert [trial.status for trial in stored.trials] == ["ok"]
    [profiled] = stored.unscored
    if not may_sample(tmp_path):
        assert profiled.status == "failed"
        assert profiled.advice
        return
    # What perf takes of so short operations may well be more than what a scored trial may lack.
    assert profiled.status in ("ok", "invalid"), profiled.reason
    account = profiled.profile
    assert account.samples > 0
    assert (account.processes, account.in_client) == (1, True)
    folded = (stored.directory(profiled.name) / "profile.folded").read_text()
    threads = {line.partition(";")[0] for line in folded.splitlines()}
    assert "load" in threads, "both threads under one name"
    done = loadcell(tmp_path, "report", "run", "--format", "md", "--out", "report.md")
    assert done.returncode == 0, done.stderr
    assert "The target is in the process of the load generator." in (tmp_path / "report.md").read_text()
