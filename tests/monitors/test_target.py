"""The target monitor: each process and the whole tree, however processes come and go."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from loadcell.linux.process_counters import MOST_SWITCHES
from loadcell.monitors.base import MonitorContext, Row
from loadcell.monitors.target import COST_SHARE, Target, TargetOptions
from loadcell.systems.postgres.target import Postgres
from monitors.proc_tree import ProcTree

HZ = os.sysconf("SC_CLK_TCK")


@pytest.fixture
def tree(tmp_path: Path) -> ProcTree:
    return ProcTree(tmp_path)


def monitor(tree: ProcTree, *roots: int) -> Target:
    context = MonitorContext(roots=lambda: list(roots), process_kind=Postgres.process_kind)
    return Target(TargetOptions(), context, root=tree.root)


def by_pid(rows: list[Row]) -> dict[int, Row]:
    assert all(set(row) <= set(Target.table.columns) for row in rows)
    return {row["pid"]: row for row in rows}


def test_a_row_for_each_process_of_the_tree_and_one_for_all(tree: ProcTree) -> None:
    tree.process(10, 1, title="/usr/bin/postgres -D data", children=(11, 12))
    tree.process(11, 10)
    tree.process(12, 10, title="postgres: me db 127.0.0.1(4711) SELECT")
    tree.process(99, 1, name="other")
    target = monitor(tree, 10)
    assert target.sample(0) == []
    tree.process(10, 1, title="/usr/bin/postgres -D data", children=(11, 12), cpu=(HZ // 2, 0))
    tree.process(11, 10, cpu=(0, HZ), io=(1000, 8000), switches=(30, 4), faults=6)
    tree.process(12, 10, title="postgres: me db 127.0.0.1(4711) idle", cpu=(HZ, HZ))
    rows = by_pid(target.sample(2.0))
    assert set(rows) == {0, 10, 11, 12}
    assert rows[10]["cpu_percent"] == 25
    assert (rows[11]["cpu_user_percent"], rows[11]["cpu_system_percent"]) == (0, 50)
    assert (rows[11]["read_bytes_per_s"], rows[11]["write_bytes_per_s"]) == (500, 4000)
    assert (rows[11]["voluntary_switches_per_s"], rows[11]["involuntary_switches_per_s"]) == (15, 2)
    assert rows[11]["major_faults_per_s"] == 3
    assert rows[0]["name"] == "total"
    assert rows[0]["cpu_percent"] == 175, "of one core"
    assert rows[0]["processes"] == 3
    assert rows[0]["rss_bytes"] == 3 * 250 * os.sysconf("SC_PAGE_SIZE")


def test_a_role_is_what_the_process_says_it_is(tree: ProcTree) -> None:
    tree.process(10, 1, title="/usr/bin/java\0-jar\0x.jar", children=(11, 12, 13))
    tree.process(11, 10, title="postgres: checkpointer ")
    tree.process(12, 10, title="postgres: me db [local] authentication")
    tree.process(13, 10, name="kworker", title="")
    target = monitor(tree, 10)
    target.sample(0)
    roles = {pid: row["role"] for pid, row in by_pid(target.sample(1.0)).items()}
    assert roles[10] == "/usr/bin/java -jar x.jar"
    assert roles[11] == "postgres: checkpointer"
    assert roles[12] == "postgres: client backend", "not what it happens to do at this moment"
    assert roles[13] == "[kworker]"


def test_a_process_that_is_new_has_used_what_it_has_used_since_it_began(tree: ProcTree) -> None:
    tree.process(10, 1)
    target = monitor(tree, 10)
    target.sample(0)
    tree.process(10, 1, children=(11,))
    tree.process(11, 10, cpu=(HZ, 0), start=900)
    assert by_pid(target.sample(1.0))[11]["cpu_percent"] == 100


def test_cpu_of_processes_that_came_and_went_between_samples_is_in_the_total(tree: ProcTree) -> None:
    tree.process(10, 1, children=(11,))
    tree.process(11, 10, cpu=(5 * HZ, 0))
    target = monitor(tree, 10)
    target.sample(0)
    tree.gone(11)
    # 11 used another half second before it ended; 12 came, used a second, and went unseen
    tree.process(10, 1, children_cpu=(6 * HZ, HZ // 2))
    rows = by_pid(target.sample(1.0))
    assert set(rows) == {0, 10}
    assert rows[0]["cpu_percent"] == 150


def test_what_a_child_has_read_and_written_is_not_its_parents_when_it_has_ended(tree: ProcTree) -> None:
    tree.process(10, 1, children=(11,), io=(0, 1_000))
    tree.process(11, 10, io=(5_000, 70_000))
    target = monitor(tree, 10)
    target.sample(0)
    tree.gone(11)
    # The kernel has added all of the child's, 2,000 bytes since the last look among them, and the parent
    # wrote 500 itself.
    tree.process(10, 1, io=(5_000, 73_500))
    rows = by_pid(target.sample(1.0))
    assert (rows[10]["read_bytes_per_s"], rows[10]["write_bytes_per_s"]) == (0, 2_500)
    assert rows[0]["write_bytes_per_s"] == 2_500


def test_a_process_id_used_again_is_another_process(tree: ProcTree) -> None:
    tree.process(10, 1, children=(11,))
    tree.process(11, 10, cpu=(50 * HZ, 0), start=100)
    target = monitor(tree, 10)
    target.sample(0)
    tree.process(11, 10, cpu=(HZ, 0), start=777)
    assert by_pid(target.sample(1.0))[11]["cpu_percent"] == 100


def test_threads_switches_are_summed(tree: ProcTree) -> None:
    tree.process(10, 1, threads=3, switches=(0, 0))
    target = monitor(tree, 10)
    target.sample(0)
    tree.process(10, 1, threads=3, switches=(7, 1))
    row = by_pid(target.sample(1.0))[10]
    assert (row["threads"], row["voluntary_switches_per_s"], row["involuntary_switches_per_s"]) == (3, 21, 3)


def test_switches_of_more_threads_than_can_be_read_have_no_value(tree: ProcTree) -> None:
    tree.process(10, 1, children=(11,), switches=(1, 1))
    tree.process(11, 10, threads=MOST_SWITCHES + 1)
    context = MonitorContext(roots=lambda: [10])
    target = Target(TargetOptions(), context, root=tree.root, cpu_s=lambda: 0.0)
    target.sample(0)

    def switches() -> dict[int, float | None]:
        return {pid: row["voluntary_switches_per_s"] for pid, row in by_pid(target.sample(1.0)).items()}

    tree.process(10, 1, children=(11,), switches=(5, 2))
    assert switches() == {10: 4, 11: None, 0: None}
    tree.gone(11)
    tree.process(11, 10, threads=2, switches=(100, 100))
    assert switches() == {10: 0, 11: None, 0: None}, "no base"
    assert switches() == {10: 0, 11: 0, 0: 0}


def test_zombies_are_no_processes_and_a_name_may_hold_anything(tree: ProcTree) -> None:
    tree.process(10, 1, name="a) R (b", children=(11,))
    tree.process(11, 10, state="Z")
    target = monitor(tree, 10)
    target.sample(0)
    rows = by_pid(target.sample(1.0))
    assert set(rows) == {0, 10}
    assert rows[10]["name"] == "a) R (b"


def test_a_tree_that_is_gone_has_no_rows(tree: ProcTree) -> None:
    tree.process(10, 1)
    target = monitor(tree, 10)
    target.sample(0)
    tree.gone(10)
    assert target.sample(1.0) == []
    assert monitor(tree).sample(1.0) == []


def test_io_that_may_not_be_read_is_no_value(tree: ProcTree) -> None:
    tree.process(10, 1, io=None)
    target = monitor(tree, 10)
    target.sample(0)
    rows = by_pid(target.sample(1.0))
    assert rows[10]["read_bytes_per_s"] is None
    assert rows[0]["read_bytes_per_s"] is None


def test_a_kernel_without_lists_of_children(tree: ProcTree) -> None:
    tree.process(10, 1, children=None)
    tree.process(11, 10, children=None)
    tree.process(12, 11, children=None)
    tree.process(99, 1, children=None)
    target = monitor(tree, 10)
    target.sample(0)
    assert set(by_pid(target.sample(1.0))) == {0, 10, 11, 12}


def test_a_real_tree_that_works_and_forks() -> None:
    code = (
        "import os\nwhile True:\n  pid = os.fork()\n  if not pid: sum(range(300000)); os._exit(0)\n  "
        "os.waitpid(pid, 0)"
    )
    process = subprocess.Popen([sys.executable, "-c", code])
    try:
        target = Target(TargetOptions(), MonitorContext(roots=lambda: [process.pid]))
        target.sample(0)
        begun = time.monotonic()
        time.sleep(0.6)
        rows = by_pid(target.sample(time.monotonic() - begun))
        assert rows[0]["cpu_percent"] > 1, "its short-lived children are in the total"
        assert rows[process.pid]["rss_bytes"] > 2**20
        assert "-c" in rows[process.pid]["role"]
    finally:
        process.kill()
        process.wait()


def test_of_a_long_load_processes_have_fewer_rows_and_the_total_has_all() -> None:
    context = MonitorContext(roots=lambda: [os.getpid()], length_s=3 * 1_800)
    # on a busy machine the samples themselves may cost so much that they are taken less often
    target = Target(TargetOptions(), context, cpu_s=lambda: 0.0)
    assert target.sample(0.0) == []
    rows = [[row["pid"] for row in target.sample(1.0)] for _ in range(6)]
    assert [len(pids) > 1 for pids in rows] == [False, False, True, False, False, True]
    assert all(pids[-1] == 0 for pids in rows), "the total is always there"


def test_samples_that_cost_much_are_taken_less_often(tree: ProcTree) -> None:
    tree.process(10, 1)
    costs = iter([0.0, 2.5 * COST_SHARE, 10.0, 10.0])
    context = MonitorContext(roots=lambda: [10])
    target = Target(TargetOptions(), context, root=tree.root, cpu_s=lambda: next(costs))
    assert target.sample(0) == []
    tree.process(10, 1, cpu=(HZ, 0))
    assert target.sample(1.0) == []
    assert target.sample(1.0) == []
    assert by_pid(target.sample(1.0))[10]["cpu_percent"] == pytest.approx(100 / 3), "a second in three"


@pytest.mark.parametrize("runs", [True, False])
def test_processes_that_run_and_are_hidden_are_noted(tree: ProcTree, runs: bool) -> None:
    """With hidepid=2, /proc has no directories of other users' processes; signals still reach them."""
    context = MonitorContext(roots=lambda: [10])
    target = Target(TargetOptions(), context, root=tree.root, runs=lambda pid: runs)
    assert target.sample(0) == []
    assert target.sample(1.0) == []
    notes = target.account().notes or ()
    assert [note["code"] for note in notes] == (["target-monitor.hidden"] if runs else [])
