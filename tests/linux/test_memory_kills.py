"""Kills for want of memory, by the counters of control groups of both versions and of the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadcell.linux.memory_kills import MemoryKills

PID = 77
GROUPS = {
    "v2": ("0::/jobs/a\n", "sys/fs/cgroup/jobs/a", "memory.events", "memory.max"),
    "v1": (
        "4:memory:/jobs/a\n",
        "sys/fs/cgroup/memory/jobs/a",
        "memory.oom_control",
        "memory.limit_in_bytes",
    ),
}


def write(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


@pytest.mark.parametrize("version", GROUPS)
def test_a_kill_in_the_group_of_the_process(tmp_path: Path, version: str) -> None:
    groups, path, counter, limit = GROUPS[version]
    write(tmp_path, f"proc/{PID}/cgroup", groups)
    write(tmp_path, f"{path}/{counter}", "under_oom 0\noom_kill 3\n")
    write(tmp_path, f"{path}/{limit}", "134217728\n")
    kills = MemoryKills(tmp_path)
    kills.watch(PID)
    assert not kills.occurred()
    write(tmp_path, f"{path}/{counter}", "under_oom 0\noom_kill 4\n")
    kills.watch(PID)  # the first count is the one that matters
    assert kills.occurred()
    assert kills.limit_bytes == 128 * 2**20


def test_a_kill_on_a_machine_without_groups(tmp_path: Path) -> None:
    write(tmp_path, f"proc/{PID}/cgroup", "0::/\n")
    write(tmp_path, "proc/vmstat", "pgfault 5\noom_kill 1\n")
    kills = MemoryKills(tmp_path)
    kills.watch(PID)
    assert not kills.occurred()
    write(tmp_path, "proc/vmstat", "pgfault 5\noom_kill 2\n")
    assert kills.occurred()
    assert kills.limit_bytes is None


def test_a_process_that_is_gone_has_no_kills(tmp_path: Path) -> None:
    kills = MemoryKills(tmp_path)
    kills.watch(PID)
    assert not kills.occurred()
