"""The host monitor: rates from the kernel's running totals, and the clock."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from linux import trees
from loadcell.linux.host_counters import difference, read_host
from loadcell.linux.procfs import ProcFiles
from loadcell.monitors.base import MonitorContext, Row, rate
from loadcell.monitors.host import Host, HostOptions
from monitors.proc_tree import ProcTree

CONTEXT = MonitorContext(roots=list)


@pytest.fixture
def tree(tmp_path: Path) -> ProcTree:
    return ProcTree(tmp_path)


def sampled(tree: ProcTree, elapsed_s: float = 2.0, **change: int) -> Row:
    """The row of the time in which `change` came about."""
    monitor = Host(HostOptions(), CONTEXT, root=tree.root, clock_offset_ns=lambda: 0)
    assert monitor.sample(0) == []
    tree.write(**change)
    (row,) = monitor.sample(elapsed_s)
    monitor.close()
    assert set(row) <= set(Host.table.columns)
    return row


def test_cpu_is_shared_out_over_all_cores(tree: ProcTree) -> None:
    row = sampled(tree, user=50, system=30, iowait=10, steal=10, idle=100)
    assert row["cpu_user_percent"] == 25
    assert row["cpu_system_percent"] == 15
    assert row["cpu_iowait_percent"] == 5
    assert row["cpu_steal_percent"] == 5
    assert row["cpu_idle_percent"] == 50
    assert row["cpu_busy_percent"] == 40
    assert row["cpu_max_core_percent"] == 80, "the busiest core: cpu0, 80 of its 100 ticks"


def test_no_time_gone_by_is_no_share_of_anything(tree: ProcTree) -> None:
    assert "cpu_user_percent" not in sampled(tree)


def test_what_is_a_state_is_given_as_it_is(tree: ProcTree) -> None:
    row = sampled(tree)
    assert (row["runnable"], row["blocked"], row["load1"]) == (3, 1, 1.5)
    assert row["memory_available_bytes"] == 6_000_000 * 1024
    assert row["memory_used_bytes"] == 2_000_000 * 1024
    assert row["memory_dirty_bytes"] == 1024 * 1024
    assert row["swap_used_bytes"] == 100_000 * 1024


def test_disks_are_counted_once_without_partitions_and_stacked_devices(tree: ProcTree) -> None:
    row = sampled(
        tree,
        reads=100,
        read_sectors=2000,
        read_ms=250,
        writes=40,
        write_sectors=800,
        write_ms=400,
        busy_ms=500,
    )
    assert row["disk_reads_per_s"] == 50
    assert row["disk_read_bytes_per_s"] == 2000 * 512 / 2
    assert row["disk_writes_per_s"] == 20
    assert row["disk_write_bytes_per_s"] == 800 * 512 / 2
    assert row["disk_read_await_ms"] == 2.5
    assert row["disk_write_await_ms"] == 10
    assert row["disk_util_max_percent"] == 25


def test_waiting_time_of_no_requests_is_no_value(tree: ProcTree) -> None:
    assert sampled(tree)["disk_read_await_ms"] is None


def test_network_without_loopback_and_virtual_links(tree: ProcTree) -> None:
    row = sampled(tree, rx=4000, tx=6000, retransmits=8)
    assert (row["net_rx_bytes_per_s"], row["net_tx_bytes_per_s"]) == (2000, 3000)
    assert row["tcp_retransmits_per_s"] == 4


def test_an_interface_of_hardware_counts_whatever_its_name(tmp_path: Path) -> None:
    names = ("lo", "eth0", "eniac0", "tun0", "lowlatency0", "veth1")
    rows = "".join(f"{name}: {10**index} 1 0 0 0 0 0 0 0 1 0 0 0 0 0 0\n" for index, name in enumerate(names))
    trees.write(tmp_path, "proc/net/dev", f"Inter-|\n face |\n{rows.rstrip()}")
    for name in names:
        trees.write(tmp_path, f"sys/class/net/{name}/mtu", "1500")
    (tmp_path / "sys/class/net/eniac0/device").mkdir()
    (tmp_path / "sys/class/net/veth1/device").mkdir()
    assert list(read_host(ProcFiles(tmp_path)).links) == ["eth0", "eniac0", "lowlatency0", "veth1"]


def test_pressure_is_the_share_of_time_from_its_running_total(tree: ProcTree) -> None:
    row = sampled(tree, some=500_000)
    assert row["pressure_cpu_some_percent"] == 25
    assert row["pressure_io_some_percent"] == 25
    assert row["pressure_memory_some_percent"] == 25


def test_a_kernel_without_pressure_has_no_value_there(tree: ProcTree) -> None:
    for file in (tree.root / "proc/pressure").iterdir():
        file.unlink()
    monitor = Host(HostOptions(), CONTEXT, root=tree.root)
    monitor.sample(0)
    (row,) = monitor.sample(1.0)
    assert row.get("pressure_cpu_some_percent") is None
    assert row["load1"] == 1.5
    monitor.close()


def test_the_clock_being_set_is_a_step(tree: ProcTree) -> None:
    offsets = iter([0, -2_500_000_000])
    monitor = Host(HostOptions(), CONTEXT, root=tree.root, clock_offset_ns=lambda: next(offsets))
    monitor.sample(0)
    assert monitor.sample(1.0)[0]["clock_offset_step_s"] == -2.5
    monitor.close()


class TestCounters:
    """Totals since boot wrap at 64 or 32 bits, and are now and then reset."""

    @pytest.mark.parametrize(
        ("before", "now", "expected"),
        [
            (10, 25, 15),
            (2**64 - 5, 10, 15),
            (2**32 - 5, 10, 0),  # an interface that was set up again, not a wrap
            (10, 10, 0),
            (1000, 990, 0),  # iowait may step back (proc(5))
            (2**40, 7, 0),  # a reset, not a wrap
        ],
    )
    def test_difference(self, before: int, now: int, expected: int) -> None:
        assert difference(before, now) == expected

    def test_milliseconds_of_disks_are_32_bits_wide(self) -> None:
        assert difference(2**32 - 5, 10, bits=32) == 15

    def test_a_wrap_within_a_sample(self, tree: ProcTree) -> None:
        tree.write(ctxt=2**64 - 100)
        assert sampled(tree, ctxt=100)["context_switches_per_s"] == 100

    def test_no_reading_is_no_rate(self) -> None:
        assert rate(None, 5, 1.0) is None
        assert rate(5, None, 1.0) is None


def test_this_machine() -> None:
    monitor = Host(HostOptions(), CONTEXT)
    monitor.sample(0)
    end = time.monotonic() + 0.3
    while time.monotonic() < end:  # something to see
        pass
    (row,) = monitor.sample(0.3)
    monitor.close()
    shares = [row[f"cpu_{name}_percent"] for name in ("user", "system", "iowait", "steal", "idle")]
    assert sum(shares) == pytest.approx(100, abs=0.01)
    assert row["cpu_busy_percent"] > 0
    assert 0 < row["memory_available_bytes"] < 2**50
    assert abs(row["clock_offset_step_s"]) < 0.1
    assert row["context_switches_per_s"] > 0
