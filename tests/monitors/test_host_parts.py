"""Rows of single cores, disks and interfaces: formulas, and a bounded number of rows on large machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadcell.linux.host_counters import CpuTicks, DiskCounters, read_host
from loadcell.linux.procfs import ProcFiles
from loadcell.monitors.base import MonitorContext, Row
from loadcell.monitors.host import Host, HostOptions
from loadcell.monitors.host_parts import (
    COST_SHARE,
    MOST_ROWS,
    MOST_SAMPLES,
    OTHERS,
    TABLES,
    Parts,
    disk_rows,
)
from monitors.proc_tree import ProcTree

CORES, DISKS = 1_024, 300


@pytest.fixture
def tree(tmp_path: Path) -> ProcTree:
    return ProcTree(tmp_path)


def host(tree: ProcTree, length_s: float = 10.0) -> Host:
    context = MonitorContext(roots=list, length_s=length_s)
    return Host(HostOptions(), context, root=tree.root, clock_offset_ns=lambda: 0)


def parts(monitor: Host, table: str, elapsed_s: float) -> list[Row]:
    monitor.sample(elapsed_s)
    rows = monitor.further_rows()[table]
    assert all(set(row) == set(TABLES[table].columns) for row in rows)
    return rows


def large_machine(tree: ProcTree, step: int) -> None:
    """1,024 cores and 300 disks; at each step core and disk number N do N units of work."""
    lines = [f"cpu{n} {step * (n % 100)} 0 0 {step * (100 - n % 100)} 0 0 0 0 0 0" for n in range(CORES)]
    total = CORES * step * 50
    tree.file("proc/stat", "\n".join([f"cpu {total} 0 0 {total} 0 0 0 0 0 0", *lines, "ctxt 1", ""]))
    disks = [
        f"8 {n} disk{n}x {step * n} 0 {step * n * 8} {step * n * 2} 0 0 0 0 0 {step * n} {step * n * 2}"
        for n in range(DISKS)
    ]
    tree.file("proc/diskstats", "\n".join([*disks, ""]))
    for n in range(DISKS):
        (tree.root / "sys/block" / f"disk{n}x").mkdir(parents=True, exist_ok=True)


def test_each_core_has_its_shares(tree: ProcTree) -> None:
    monitor = host(tree)
    monitor.sample(0)
    tree.write(user=50, system=30, iowait=10, steal=10, idle=100)
    first, second = parts(monitor, "cores", 2.0)
    assert (first["core"], first["cpu_user_percent"], first["cpu_system_percent"]) == ("cpu0", 50, 30)
    assert (first["cpu_iowait_percent"], first["cpu_steal_percent"], first["cpu_busy_percent"]) == (
        10,
        10,
        80,
    )
    assert (second["core"], second["cpu_busy_percent"], second["merged"]) == ("cpu1", 0, 1)


def test_a_disk_has_its_requests_waits_and_queue() -> None:
    before = {"sda": DiskCounters(0, 0, 0, 0, 0, 0, 0, 0, 0)}
    now = {"sda": DiskCounters(100, 2000, 250, 40, 800, 400, 3, 500, 4000, 10, 20)}
    (row,) = disk_rows(before, now, 2.0)
    assert (row["reads_per_s"], row["writes_per_s"], row["flushes_per_s"]) == (50, 20, 5)
    assert (row["read_bytes_per_s"], row["write_bytes_per_s"]) == (512_000, 204_800)
    assert (row["read_await_ms"], row["write_await_ms"], row["queue"]) == (2.5, 10, 2)
    assert (row["util_percent"], row["in_progress"]) == (25, 3)


def test_milliseconds_of_a_disk_wrap_at_32_bits_and_requests_are_reset() -> None:
    before = {"sda": DiskCounters(5_000_000_000, 0, 2**32 - 100, 0, 0, 0, 0, 2**32 - 100, 0)}
    now = {"sda": DiskCounters(7, 0, 400, 0, 0, 0, 0, 400, 0)}
    (row,) = disk_rows(before, now, 1.0)
    assert row["util_percent"] == 50
    assert row["reads_per_s"] == 0, "a reset, not a wrap"


def test_an_interface_has_bytes_packets_drops_and_errors(tree: ProcTree) -> None:
    head = "Inter-|\n face |\n"
    monitor = host(tree)
    tree.file("proc/net/dev", head + "eth0: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n")
    monitor.sample(0)
    tree.file("proc/net/dev", head + "eth0: 4000 40 2 4 0 0 0 0 6000 60 4 8 0 0 0 0\n")
    (row,) = parts(monitor, "links", 2.0)
    assert (row["link"], row["rx_bytes_per_s"], row["tx_bytes_per_s"]) == ("eth0", 2000, 3000)
    assert (row["rx_packets_per_s"], row["tx_packets_per_s"]) == (20, 30)
    assert (row["drops_per_s"], row["errors_per_s"]) == (6, 3)


def test_of_many_cores_and_disks_the_busiest_have_rows_and_the_others_one(tree: ProcTree) -> None:
    large_machine(tree, 0)
    monitor = host(tree)
    monitor.sample(0)
    large_machine(tree, 1)
    monitor.sample(1.0)
    rows = monitor.further_rows()
    cores, disks = rows["cores"], rows["disks"]
    assert len(cores) == len(disks) == MOST_ROWS + 1
    assert sorted(row["cpu_busy_percent"] for row in cores[:-1]) == [98] * 6 + [99] * 10
    assert {row["disk"] for row in disks[:-1]} == {f"disk{n}x" for n in range(DISKS - MOST_ROWS, DISKS)}
    assert (cores[-1]["core"], cores[-1]["merged"]) == (OTHERS, CORES - MOST_ROWS)
    assert (disks[-1]["disk"], disks[-1]["merged"]) == (OTHERS, DISKS - MOST_ROWS)
    assert sum(row["reads_per_s"] for row in disks) == sum(range(DISKS)), "no request is lost"
    busy = sum(row["cpu_busy_percent"] * row["merged"] for row in cores)
    assert busy == pytest.approx(sum(n % 100 for n in range(CORES)))


def test_in_long_loads_rows_cover_several_samples(tree: ProcTree) -> None:
    monitor = host(tree, length_s=2.0 * MOST_SAMPLES)
    monitor.sample(0)
    tree.write(reads=10)
    monitor.sample(1.0)
    assert monitor.further_rows() == {}
    tree.write(reads=30)
    (row,) = parts(monitor, "disks", 1.0)
    assert (row["reads_per_s"], row["elapsed_s"]) == (15, 2.0)


def test_rows_are_given_once(tree: ProcTree) -> None:
    monitor = host(tree)
    monitor.sample(0)
    assert parts(monitor, "cores", 1.0)
    monitor.finish(0.5)
    assert monitor.further_rows() == {}, "the last look of the sampler takes no sample"


def test_rows_that_cost_much_cover_more_time(tree: ProcTree) -> None:
    files = ProcFiles(tree.root)
    clock = iter([0.0, 2.5 * COST_SHARE, 10.0, 10.0])
    rows = Parts(10.0, cpu_s=lambda: next(clock))
    with_rows = []
    for second in range(5):
        rows.take(read_host(files), float(second > 0))
        with_rows += [second] if rows.rows() else []
    files.close()
    assert with_rows == [1, 4], "2.5 ms of CPU time for rows: one sample in three seconds"


def test_a_core_that_comes_online_has_no_row_until_the_next_sample(tree: ProcTree) -> None:
    monitor = host(tree)
    monitor.sample(0)
    tree.file("proc/stat", "cpu 9 0 0 9 0 0 0 0\ncpu0 9 0 0 0 0 0 0 0\ncpu7 5 0 0 5 0 0 0 0\n")
    assert [row["core"] for row in parts(monitor, "cores", 1.0)] == ["cpu0"]


def test_this_machine_has_a_row_for_each_core() -> None:
    monitor = Host(HostOptions(), MonitorContext(roots=list))
    monitor.sample(0)
    monitor.sample(0.1)
    files = ProcFiles()
    cores = read_host(files).cores
    files.close()
    rows = monitor.further_rows()["cores"]
    monitor.close()
    assert sum(row["merged"] for row in rows) == len(cores)
    assert all(isinstance(ticks, CpuTicks) for ticks in cores.values())
