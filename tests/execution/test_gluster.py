"""Faults on a real GlusterFS under a server's data, and the end of its namespaces, mounts and processes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from pathlib import Path

import pytest

from execution.live import PATIENCE_S, Live, command_line, living, until
from loadcell.linux import mounts, process_directories, procfs
from loadcell.systems.gluster.storage import unmet

pytestmark = pytest.mark.skipif(
    unmet() is not None and "CI" not in os.environ, reason="needs root, GlusterFS and FUSE"
)

PLAN = """
target:
  redis:
    server: local
    settings: {save: "", appendonly: "yes", appendfsync: always}
    storage: {gluster: {hosts: 3, replica: 3, ping-timeout: 10s}}
workload: {kv: {keys: 50, mix: {get: 50, set: 50}}}
load: {clients: 4, rate: 50/s, max_backlog: 1min, warmup: 0s, duration: 3s, interval: 500ms}
monitors: []
repeats: 1
"""
FAULTS = """
factors:
  faults:
    kill: [{kill: storage.brick, at: 500ms, for: 500ms}]
    hang: [{hang: storage.brick-2, at: 500ms, for: 1s}]
    stop: [{stop: storage.host-3, at: 500ms, for: 500ms}]
"""


@pytest.fixture(autouse=True)
def _journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def work_directory(run: Live) -> Path:
    """The work directory of a run that lives."""

    def search() -> Path | None:
        for owner in process_directories.usual().glob("*/owner.json"):
            with contextlib.suppress(OSError):
                if json.loads(owner.read_text())["pid"] == run.process.pid:
                    return owner.parent
        return None

    path: Path = until(search, "the work directory")
    return path


def owner(work: Path) -> int | None:
    """Process id of the run that has a work directory."""
    with contextlib.suppress(OSError):
        return int(json.loads((work / "owner.json").read_text())["pid"])
    return None


def remains(work: Path, pid: int) -> list[str]:
    """Processes, mounts and files of a run with this work directory, which another may have by now."""
    processes = [pid for pid in procfs.process_ids() if f"{work}/" in command_line(pid)]
    mounted = [str(path) for path in mounts.mount_points() if work in path.parents]
    remainders = [*map(command_line, living(processes)), *mounted, *map(str, work.glob("*"))]
    return remainders if owner(work) in (None, pid) else []


def test_bricks_and_hosts_fail_under_load_and_come_back(tmp_path: Path) -> None:
    with Live(tmp_path, PLAN + FAULTS) as run:
        work = work_directory(run)
        output, errors = run.process.communicate(timeout=PATIENCE_S)
        assert run.process.returncode == 0, errors + output
    trials = {
        trial["levels"]["faults"]: trial
        for trial in (json.loads(path.read_text()) for path in tmp_path.glob("run/trials/*/trial.json"))
    }
    for level in ("kill", "hang", "stop"):
        trial = trials[level]
        assert [fault["state"] for fault in trial["faults"]] == ["undone"], level
        assert trial["totals"]["transactions"]["failed"] == 0, level
    assert trials["hang"]["totals"]["response"]["max_ms"] > 700, "a write waits for all replicas"
    used = trials["stop"]["resources"]
    assert used["target"]["processes"] > 10, "the processes of the storage belong to the target"
    storage = trials["kill"]["target"]["storage"]
    assert (storage["layout"], storage["replica"], storage["bricks"]) == ("Replicate", 3, 3)
    assert storage["options"]["network.ping-timeout"] == "10"
    assert remains(work, run.process.pid) == []


def test_a_killed_run_leaves_nothing(tmp_path: Path) -> None:
    with Live(tmp_path, PLAN.replace("duration: 3s", "duration: 30s")) as run:
        run.measured()
        work = work_directory(run)
        assert any("/storage-" in remainder for remainder in remains(work, run.process.pid))
        run.send(signal.SIGKILL)
        run.process.wait()
        until(lambda: not remains(work, run.process.pid), f"the end of {work}")
