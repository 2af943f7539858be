"""Control groups of loadcell in hierarchies of v1 and v2, on directories that look like them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from faults.sleepers import family
from loadcell.faults.cpu_quota import CpuQuota
from loadcell.faults.memory_limit import MemoryLimit
from loadcell.faults.memory_pressure import MemoryPressure
from loadcell.faults.slow_disk import SlowDisk
from loadcell.linux import limited_groups, process_tree
from loadcell.linux.limited_groups import Hierarchy
from loadcell.linux.process_tree import ProcessRoot


def written(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_v2_has_the_controllers_that_are_enabled_for_children(tmp_path: Path) -> None:
    home = tmp_path / "sys/fs/cgroup"
    written(home / "cgroup.controllers", "cpu io memory hugetlb\n")
    written(home / "cgroup.subtree_control", "cpu io\n")
    assert limited_groups.hierarchy("cpu", root=tmp_path) == Hierarchy(home, True)
    assert limited_groups.hierarchy("blkio", "io", root=tmp_path) == Hierarchy(home, True)
    assert limited_groups.hierarchy("memory", root=tmp_path) is None, "its children have no such limit"


def test_each_controller_is_taken_where_it_is(tmp_path: Path) -> None:
    """v1 carries cpu; v2 is mounted beside it with another controller."""
    home = tmp_path / "sys/fs/cgroup"
    written(home / "cpu/cgroup.procs")
    written(home / "unified/cgroup.controllers", "memory\n")
    written(home / "unified/cgroup.subtree_control", "memory\n")
    assert limited_groups.hierarchy("cpu", root=tmp_path) == Hierarchy(home / "cpu", False)
    assert limited_groups.hierarchy("memory", root=tmp_path) == Hierarchy(home / "unified", True)


@pytest.mark.parametrize(
    ("lines", "hierarchy", "group"),
    [
        ("4:memory:/a\n3:cpu,cpuacct:/b/c\n0::/d\n", Hierarchy(Path("/cpu"), False), "/cpu/b/c"),
        ("3:cpu,cpuacct:/b/c\n0::/d/e\n", Hierarchy(Path("/all"), True), "/all/d/e"),
        ("0::/\n", Hierarchy(Path("/all"), True), "/all"),
        ("", Hierarchy(Path("/all"), True), "/all"),
    ],
)
def test_the_present_group_of_a_process(tmp_path: Path, lines: str, hierarchy: Hierarchy, group: str) -> None:
    written(tmp_path / "proc/7/cgroup", lines)
    assert limited_groups.present_group(hierarchy, 7, tmp_path) == Path(group)


def test_a_group_is_made_at_the_root_of_v2_and_below_the_process_in_v1(tmp_path: Path) -> None:
    pid = os.getpid()
    assert limited_groups.group_of(Hierarchy(tmp_path, True), pid, "loadcell-1") == tmp_path / "loadcell-1"
    below = limited_groups.present_group(Hierarchy(tmp_path, False), pid)
    assert limited_groups.group_of(Hierarchy(tmp_path, False), pid, "loadcell-1") == below / "loadcell-1"
    assert limited_groups.is_ours(tmp_path / limited_groups.new_name())


def test_a_reused_process_id_is_not_moved(tmp_path: Path) -> None:
    group, back = written(tmp_path / "new/cgroup.procs"), written(tmp_path / "old/cgroup.procs")
    with family() as pid:
        [process] = process_tree.roots([pid])
        limited_groups.move_verified(group.parent, back.parent, [ProcessRoot(pid, process.started - 1)])
        assert group.read_text() == ""
        limited_groups.move_verified(group.parent, back.parent, [process])
        assert group.read_text() == str(pid)
    assert back.read_text() == ""


@pytest.mark.parametrize("fault", [CpuQuota, MemoryLimit, MemoryPressure])
def test_limits_have_the_files_of_their_version(
    fault: type[CpuQuota | MemoryLimit | MemoryPressure],
) -> None:
    options = fault.Options(subject="server", **({"cores": 0.5} if fault is CpuQuota else {"size": "32MiB"}))
    made = fault(options, None)  # type: ignore[arg-type]
    v1, v2 = made.limits(False), made.limits(True)
    if fault is CpuQuota:
        assert v2 == {"cpu.max": "50000 100000"}
        assert v1 == {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "50000"}
    elif fault is MemoryPressure:
        assert v2 == {"memory.high": str(32 << 20)}
        assert v1 == {"memory.oom_control": "1", "memory.limit_in_bytes": str(32 << 20)}
    else:
        assert v2["memory.max"] == v1["memory.limit_in_bytes"] == str(32 << 20)


def test_every_limit_names_its_controllers() -> None:
    assert {fault.name: fault.controller for fault in (CpuQuota, MemoryLimit, MemoryPressure, SlowDisk)} == {
        "cpu-quota": ("cpu", "cpu"), "memory-limit": ("memory", "memory"),
        "memory-pressure": ("memory", "memory"), "slow-disk": ("blkio", "io"),
    }  # fmt: skip


def test_limits_change_where_the_group_has_them(tmp_path: Path) -> None:
    file = written(tmp_path / "loadcell-1" / "memory.high")
    limits = {"memory.high": "max", "memory.limit_in_bytes": "-1"}
    limited_groups.change(file.parent, limits)
    assert file.read_text() == "max"
    assert not (file.parent / "memory.limit_in_bytes").exists()
    limited_groups.change(tmp_path / "loadcell-2", limits)
    with pytest.raises(ValueError, match=str(tmp_path)):
        limited_groups.change(tmp_path, limits)


def test_a_group_of_v2_has_the_limits_that_its_processes_leave(tmp_path: Path) -> None:
    """The smallest of all groups on the way up; groups of v1 are below the present one, which still holds."""
    limits = {
        "user/cpu.max": "max 100000\n", "user/memory.max": "2000000000\n", "user/pids.max": "50\n",
        "user/job/cpu.max": "150000 100000\n", "user/job/memory.max": "3000000000\n",
        "user/job/memory.high": "max\n", "user/job/pids.max": "max\n",
    }  # fmt: skip
    for name, value in limits.items():
        written(tmp_path / name, value)
    v2, group = Hierarchy(tmp_path, True), tmp_path / "user/job"
    retained = {"memory.max": "2000000000", "pids.max": "50"}
    assert limited_groups.with_present_limits(v2, group, {"cpu.max": "50000 100000"}) == {
        "cpu.max": "50000 100000", **retained,
    }  # fmt: skip
    assert limited_groups.with_present_limits(v2, group, {"memory.max": "1000"}) == {
        "cpu.max": "150000 100000", "memory.max": "1000", "pids.max": "50",
    }  # fmt: skip
    looser = limited_groups.with_present_limits(v2, group, {"cpu.max": "200000 100000"})
    assert looser == {"cpu.max": "150000 100000", **retained}
    assert limited_groups.with_present_limits(Hierarchy(tmp_path, False), group, {}) == {}
