"""The busiest threads of the target, however many there are and however they come and go."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from loadcell.linux.process_counters import read_processes
from loadcell.monitors.base import MonitorContext, Row
from loadcell.monitors.target import Target, TargetOptions
from loadcell.monitors.target_threads import COST_SHARE, MOST_READ, MOST_ROWS, TABLE, BusiestThreads
from loadcell.systems.postgres.target import Postgres
from monitors.proc_tree import ProcTree

SECOND = 1_000_000_000


@pytest.fixture
def tree(tmp_path: Path) -> ProcTree:
    return ProcTree(tmp_path)


def threads_of(tree: ProcTree, *roots: int) -> BusiestThreads:
    """With the first look taken."""
    threads = BusiestThreads(tree.root, 10.0, cpu_s=lambda: 0.0)
    threads.take(read_processes(tree.root, list(roots)), 0)
    assert threads.rows() == []
    return threads


def rows(threads: BusiestThreads, tree: ProcTree, *roots: int, elapsed_s: float = 1.0) -> list[Row]:
    threads.take(read_processes(tree.root, list(roots)), elapsed_s)
    taken = threads.rows()
    assert all(set(row) <= set(TABLE.columns) for row in taken)
    assert threads.rows() == [], "given once: the last look of the sampler takes no sample"
    return taken


def test_threads_have_cpu_run_delay_and_state_by_use(tree: ProcTree) -> None:
    tree.process(10, 1, threads=2, children=(20,))
    tree.process(20, 10)
    for pid, tid in ((10, 10), (10, 11), (20, 20)):
        tree.thread(pid, tid)
    threads = threads_of(tree, 10)
    tree.process(10, 1, threads=2, children=(20,), cpu=(70, 0))
    tree.process(20, 10, cpu=(100, 0))
    tree.thread(10, 10, run_ns=0)
    tree.thread(10, 11, name="compaction", state="D", run_ns=SECOND // 2, wait_ns=SECOND // 4)
    tree.thread(20, 20, name="writer", state="R", run_ns=SECOND)
    total, first, second = rows(threads, tree, 10, elapsed_s=2.0)
    assert (total["tid"], total["threads"], total["cpu_percent"]) == (0, 3, 75)
    assert (first["pid"], first["tid"], first["name"], first["state"]) == (20, 20, "writer", "R")
    assert (first["cpu_percent"], first["run_delay_percent"]) == (50, 0)
    assert (second["tid"], second["name"], second["state"]) == (11, "compaction", "D")
    assert (second["cpu_percent"], second["run_delay_percent"]) == (25, 12.5)


def test_a_thread_that_is_new_or_has_an_old_id_used_all_of_it_now(tree: ProcTree) -> None:
    tree.process(10, 1)
    tree.thread(10, 10, run_ns=5 * SECOND)
    tree.thread(10, 11, run_ns=9 * SECOND)
    threads = threads_of(tree, 10)
    tree.process(10, 1, cpu=(90, 0))
    tree.thread(10, 11, name="reused", run_ns=SECOND // 2)
    tree.thread(10, 12, name="new", run_ns=SECOND // 4)
    _, *busiest = rows(threads, tree, 10)
    assert [(row["name"], row["cpu_percent"]) for row in busiest] == [("reused", 50), ("new", 25)]


def test_threads_that_come_and_go_by_the_thousand(tree: ProcTree) -> None:
    tree.process(10, 1)
    for tid in range(1000, 2500):
        tree.thread(10, tid, run_ns=7 * SECOND)
    threads = threads_of(tree, 10)
    shutil.rmtree(tree.root / "proc/10/task")
    tree.process(10, 1, cpu=(50, 0))
    for tid in range(2500, 4000):
        tree.thread(10, tid, run_ns=tid * 1000)
    total, *busiest = rows(threads, tree, 10)
    assert [row["tid"] for row in busiest] == list(range(3999, 3999 - MOST_ROWS, -1))
    assert total["cpu_percent"] == pytest.approx(100 * sum(range(2500, 4000)) * 1000 / SECOND)


def test_of_more_threads_than_can_be_read_those_of_the_busiest_processes_are(tree: ProcTree) -> None:
    tree.process(10, 1, children=(20, 30))
    for pid in (20, 30):
        tree.process(pid, 10, cpu=(5, 0))
        for tid in range(pid * 10_000, pid * 10_000 + MOST_READ):
            tree.thread(pid, tid, run_ns=SECOND)
    threads = threads_of(tree, 10)
    for pid, ticks in ((20, 15), (30, 60)):
        tree.process(pid, 10, cpu=(ticks, 0))
        tree.thread(pid, pid * 10_000, name=f"of {pid}", run_ns=SECOND + SECOND // 10)
    first = rows(threads, tree, 10)
    tree.process(30, 10, cpu=(90, 0))
    tree.thread(30, 300_000, name="of 30", run_ns=SECOND + SECOND // 5)
    second = rows(threads, tree, 10)
    assert first[1:] == [], "the process was not read before: no base of its threads"
    assert [(row["name"], row["cpu_percent"]) for row in second[1:]] == [("of 30", pytest.approx(10))]


def test_counters_that_leap_are_never_more_than_the_time_gone_by(tree: ProcTree) -> None:
    tree.process(10, 1)
    tree.thread(10, 10)
    threads = threads_of(tree, 10)
    tree.process(10, 1, cpu=(1, 0))
    tree.thread(10, 10, run_ns=2**63, wait_ns=2**63)
    _, row = rows(threads, tree, 10)
    assert (row["cpu_percent"], row["run_delay_percent"]) == (100, 100)


def test_reading_that_costs_much_is_done_less_often(tree: ProcTree) -> None:
    tree.process(10, 1)
    tree.thread(10, 10)
    costs = iter([0.0, 2.5 * COST_SHARE, 10.0, 10.0])
    threads = BusiestThreads(tree.root, 10.0, cpu_s=lambda: next(costs))
    threads.take(read_processes(tree.root, [10]), 0)
    tree.process(10, 1, cpu=(50, 0))
    tree.thread(10, 10, run_ns=SECOND)
    assert rows(threads, tree, 10) == []
    assert rows(threads, tree, 10) == []
    _, row = rows(threads, tree, 10)
    assert (row["elapsed_s"], row["cpu_percent"]) == (3.0, pytest.approx(100 / 3))


def test_a_kernel_without_schedstat_and_hidden_processes_have_no_threads(tree: ProcTree) -> None:
    tree.process(10, 1)
    threads = threads_of(tree, 10)
    tree.process(10, 1, cpu=(50, 0))
    (total,) = rows(threads, tree, 10)
    assert total["cpu_percent"] == 0
    tree.gone(10)
    assert rows(threads, tree, 10) == []


def test_servers_of_processes_have_threads_named_by_their_titles(tree: ProcTree) -> None:
    titles = {
        10: "/usr/lib/postgresql/15/bin/postgres -D /data", 11: "postgres: main: checkpointer ",
        12: "postgres: main: app shop [local] SELECT", 13: "postgres: app shop 127.0.0.1(40000) idle",
        14: "postgres: autovacuum worker shop", 15: "postgres: parallel worker for PID 12",
    }  # fmt: skip
    context = MonitorContext(roots=lambda: [10], process_kind=Postgres.process_kind)
    target = Target(TargetOptions(), context, root=tree.root, cpu_s=lambda: 0.0)
    for second in (0, 1):
        for pid, title in titles.items():
            below = tuple(titles)[1:] if pid == 10 else ()
            tree.process(pid, 10, title=title, cpu=(10 * second, 0), children=below)
            tree.thread(pid, pid, name="postgres", run_ns=second * (20 - pid) * 10**7)
        tree.thread(11, 1100, name="io worker", run_ns=second * 10**6)
        target.sample(second)
    assert [row["name"] for row in target.further_rows()["threads"]] == [
        "total", "postgres", "postgres: main: checkpointer", *["postgres: client backend"] * 2,
        "postgres: autovacuum worker", "postgres: parallel worker", "io worker",
    ]  # fmt: skip


def test_a_thread_of_this_machine() -> None:
    program = "import threading, time\nprint(flush=True)\nwhile True: sum(range(10_000))"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        target = Target(TargetOptions(), MonitorContext(roots=lambda: [process.pid]))
        target.sample(0)
        before = _cpu_s(process.pid)
        while _cpu_s(process.pid) - before < 0.3:
            os.sched_yield()
        used_s = _cpu_s(process.pid) - before
        target.sample(100.0)
        row = target.further_rows()["threads"][1]
        process.kill()
    assert (row["pid"], row["tid"]) == (process.pid, process.pid)
    assert row["cpu_percent"] == pytest.approx(used_s, rel=0.5), "percent of 100 s"


def _cpu_s(pid: int) -> float:
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
