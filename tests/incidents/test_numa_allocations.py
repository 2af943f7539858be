"""Memory allocated on other NUMA nodes: during an examination or a measurement, not since the start."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from loadcell.incidents.base import Diagnosis, Healthy
from loadcell.incidents.evidence.numa import NumaAllocations, NumaMemory
from loadcell.incidents.live.base import Host
from loadcell.incidents.live.numa import NumaGatherer
from loadcell.incidents.runs import host as host_of_runs
from loadcell.monitors.base import MonitorContext
from loadcell.monitors.host import Host as HostMonitor
from loadcell.monitors.host import HostOptions
from loadcell.store.read import read_run
from numa_machine import machine

from .test_host_incidents import level, of
from .test_runs import with_samples

MIB = 1 << 20
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def counted(root: Path, local: int, other: int, missed: int = 0) -> None:
    """Counters of the kernel, in pages."""
    (root / "proc").mkdir(exist_ok=True)
    rows = {"numa_hit": 1, "numa_miss": missed, "numa_local": local, "numa_other": other, "oom_kill": 0}
    (root / "proc/vmstat").write_text("".join(f"{name} {value}\n" for name, value in rows.items()))


def allocated(share: float, mib_per_s: float = 500, past_share: float | None = 0.9) -> NumaMemory:
    total = mib_per_s * MIB * 2
    allocations = NumaAllocations(2.0, total * (1 - share), total * share, 0, past_share)
    return NumaMemory("host", 2, (), allocations)


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        (allocated(0.3), "note"),
        (allocated(0.2), "healthy"),  # whatever the totals since the start
        (allocated(0.3, past_share=0.0), "note"),
        (allocated(0.9, mib_per_s=60), "healthy"),  # too little to matter
        (allocated(0.9, mib_per_s=0), "healthy"),
    ],
)
def test_only_what_is_allocated_within_the_window_counts(evidence: NumaMemory, expected: str) -> None:
    assert level(evidence, "numa-spread") == expected


def test_totals_since_the_start_are_named_as_history() -> None:
    (healthy,) = of(allocated(0.1), "numa-spread")
    assert isinstance(healthy, Healthy)
    assert "10% are on another node; since the start of the kernel 90%" in healthy.value.text


def test_a_host_is_read_twice(tmp_path: Path) -> None:
    machine(tmp_path)
    counted(tmp_path, 9_000_000, 1_000_000)
    timer = threading.Timer(0.1, counted, (tmp_path, 9_100_000, 1_300_000, 50_000))
    timer.start()
    (seen,) = NumaGatherer().gather(Host(tmp_path, interval_s=0.5))
    timer.join()
    allocations = seen.allocations
    assert allocations is not None
    assert (allocations.local_bytes, allocations.other_bytes, allocations.missed_bytes) == (
        100_000 * PAGE_BYTES, 300_000 * PAGE_BYTES, 50_000 * PAGE_BYTES,
    )  # fmt: skip
    assert allocations.past_share == 0.125
    (diagnosis,) = of(seen, "numa-spread")
    assert isinstance(diagnosis, Diagnosis)
    assert diagnosis.summary.arguments["other_share"] == 0.75


def test_a_kernel_that_does_not_count_has_no_allocations(tmp_path: Path) -> None:
    machine(tmp_path)
    counted(tmp_path, 0, 0)  # by `sysctl vm.numa_stat=0`
    (seen,) = NumaGatherer().gather(Host(tmp_path, interval_s=0))
    assert seen.allocations is None
    assert level(seen, "numa-spread") == "healthy"


@pytest.mark.parametrize(("nodes", "rates"), [(2, (2500, 750, 250)), (1, (None, None, None))])
def test_the_host_monitor_has_rates_on_machines_with_several_nodes(
    tmp_path: Path, nodes: int, rates: tuple[int | None, ...]
) -> None:
    machine(tmp_path, nodes)
    counted(tmp_path, 1000, 500)
    monitor = HostMonitor(HostOptions(), MonitorContext(list), root=tmp_path, clock_offset_ns=lambda: 0)
    monitor.sample(0.0)
    counted(tmp_path, 6000, 2000, 500)
    (row,) = monitor.sample(2.0)
    monitor.close()
    columns = ("numa_local_per_s", "numa_other_per_s", "numa_missed_per_s")
    assert tuple(row.get(column) for column in columns) == rates


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_run_has_what_was_allocated_during_each_measurement(tmp_path: Path, nodes: int) -> None:
    # three seconds of 100,000 pages each, of which two thirds on another node
    rates = dict.fromkeys((10, 11, 12), 100_000.0)
    others = dict.fromkeys((10, 11, 12), 200_000.0)
    nothing = dict.fromkeys(range(30), 0.0)
    columns = {
        "numa_local_per_s": nothing | rates,
        "numa_other_per_s": nothing | others,
        "numa_missed_per_s": nothing,
    }
    run, name = with_samples(tmp_path, columns)
    path = run / "environment.json"
    environment = json.loads(path.read_text())
    environment["hosts"][0]["numa_nodes"] = nodes
    path.write_text(json.dumps(environment))
    seen = [item for item in host_of_runs.of_run(read_run(run)) if isinstance(item, NumaMemory)]
    if nodes == 1:
        assert seen == []
        return
    (evidence,) = seen
    assert evidence.source == name
    allocations = evidence.allocations
    assert allocations is not None
    assert 20 <= allocations.window_s < 29, "without the warm-up"
    assert allocations.local_bytes == pytest.approx(300_000 * PAGE_BYTES, rel=0.01)
    assert allocations.other_bytes == pytest.approx(600_000 * PAGE_BYTES, rel=0.01)
    assert level(evidence, "numa-spread") == "note"
