"""Control groups of a process on recorded trees, v2 and v1, and on this machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from linux import trees
from loadcell.linux.cgroups import GroupCounters, GroupCounts, GroupEffects, read_groups

HOME = "sys/fs/cgroup"


def test_the_smallest_limit_of_all_groups_above_counts(tmp_path: Path) -> None:
    trees.write(tmp_path, "proc/7/cgroup", "0::/pod/server\n")
    trees.write(tmp_path, f"{HOME}/pod/cpu.max", "150000 100000")
    trees.write(tmp_path, f"{HOME}/pod/cpu.stat", "usage_usec 9\nnr_periods 50\nnr_throttled 20\n")
    trees.write(tmp_path, f"{HOME}/pod/memory.max", str(2**30))
    trees.write(tmp_path, f"{HOME}/pod/memory.events", "low 0\nhigh 1\nmax 4\noom 2\noom_kill 2\n")
    trees.write(tmp_path, f"{HOME}/pod/server/cpu.max", "max 100000")
    trees.write(tmp_path, f"{HOME}/pod/server/cpu.stat", "usage_usec 9\n")
    trees.write(tmp_path, f"{HOME}/pod/server/memory.max", "max")
    trees.write(tmp_path, f"{HOME}/pod/server/memory.events", "low 0\nhigh 1\nmax 3\noom 0\n")
    pod = tmp_path / HOME / "pod"
    assert replace(read_groups(tmp_path, 7), identity="") == GroupCounters(1.5, 2**30, {
        pod: GroupCounts(50, 20, None, {"high": 1, "max": 4, "oom": 2}),
        pod / "server": GroupCounts(memory_events={"high": 1, "max": 3, "oom": 0}),
    })  # fmt: skip


def test_a_group_is_limited_by_memory_high_alone_or_below_its_maximum(tmp_path: Path) -> None:
    """systemd's MemoryHigh= sets it without `memory.max`."""
    trees.write(tmp_path, "proc/7/cgroup", "0::/server\n")
    trees.write(tmp_path, f"{HOME}/server/memory.max", "max")
    trees.write(tmp_path, f"{HOME}/server/memory.high", str(2**26))
    trees.write(tmp_path, f"{HOME}/server/memory.events", "low 0\nhigh 10\nmax 0\noom 0\n")
    before = read_groups(tmp_path, 7)
    assert before.memory_limit_bytes == 2**26
    trees.write(tmp_path, f"{HOME}/server/memory.events", "low 0\nhigh 5010\nmax 0\noom 0\n")
    assert read_groups(tmp_path, 7).since(before).memory_events == {"high": 5000, "max": 0, "oom": 0}
    trees.write(tmp_path, f"{HOME}/server/memory.max", str(2**30))
    assert read_groups(tmp_path, 7).memory_limit_bytes == 2**26, "the smaller one"


def test_groups_are_identified_by_themselves_not_by_equal_limits(tmp_path: Path) -> None:
    for pid, group in ((7, "a"), (8, "a"), (9, "b")):
        trees.write(tmp_path, f"proc/{pid}/cgroup", f"0::/{group}\n")
        trees.write(tmp_path, f"{HOME}/{group}/cpu.max", "400000 100000")
    first = read_groups(tmp_path, 7).identity
    assert first
    assert read_groups(tmp_path, 8).identity == first
    assert read_groups(tmp_path, 9).identity not in ("", first)
    trees.write(tmp_path, f"{HOME}/a/cpu.stat", "nr_periods 50\nnr_throttled 20\n")
    assert read_groups(tmp_path, 7).identity == first, "counters are no part of it"


def test_version_1_has_a_hierarchy_for_each_controller(tmp_path: Path) -> None:
    trees.write(tmp_path, "proc/7/cgroup", "4:memory:/job\n1:cpu,cpuacct:/job\n")
    trees.write(tmp_path, f"{HOME}/cpu,cpuacct/job/cpu.cfs_quota_us", "50000")
    trees.write(tmp_path, f"{HOME}/cpu,cpuacct/job/cpu.cfs_period_us", "100000")
    trees.write(
        tmp_path, f"{HOME}/cpu,cpuacct/job/cpu.stat", "nr_periods 10\nnr_throttled 9\nthrottled_time 5999\n"
    )
    trees.write(tmp_path, f"{HOME}/memory/job/memory.limit_in_bytes", "1048576")
    trees.write(tmp_path, f"{HOME}/memory/job/memory.failcnt", "12")
    trees.write(tmp_path, f"{HOME}/memory/memory.limit_in_bytes", str(2**63 - 4096))
    home = tmp_path / HOME
    assert replace(read_groups(tmp_path, 7), identity="") == GroupCounters(0.5, 2**20, {
        home / "memory/job": GroupCounts(memory_events={"max": 12}),
        home / "cpu,cpuacct/job": GroupCounts(10, 9, 5),
    })  # fmt: skip


def test_effects_are_of_one_group_also_when_another_one_gets_the_largest_counter(tmp_path: Path) -> None:
    trees.write(tmp_path, "proc/7/cgroup", "0::/pod/server\n")

    def stat(group: str, periods: int, throttled: int, most: int) -> None:
        text = f"nr_periods {periods}\nnr_throttled {throttled}\nthrottled_usec {throttled * 1000}"
        trees.write(tmp_path, f"{HOME}/{group}/cpu.stat", text)
        trees.write(tmp_path, f"{HOME}/{group}/memory.events", f"max {most}")

    stat("pod", 1000, 500, 40)
    stat("pod/server", 600, 450, 30)
    before = read_groups(tmp_path, 7)
    stat("pod", 1100, 510, 41)
    stat("pod/server", 700, 530, 45)
    assert read_groups(tmp_path, 7).since(before) == GroupEffects(0.8, 80_000, {"max": 15})
    trees.write(tmp_path, "proc/7/cgroup", "0::/other\n")
    stat("other", 9000, 9000, 9000)
    assert read_groups(tmp_path, 7).since(before) == GroupEffects(), "moved: no base"


def test_a_hidden_process_and_a_path_out_of_the_tree_have_no_limits(tmp_path: Path) -> None:
    assert read_groups(tmp_path, 7) == GroupCounters()
    trees.write(tmp_path, "proc/8/cgroup", "0::/../../other\n")
    trees.write(tmp_path, "other/cpu.max", "1000 100000")
    assert read_groups(tmp_path, 8) == GroupCounters()
