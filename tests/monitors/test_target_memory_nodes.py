"""Memory of the target by NUMA node: a few times in a trial."""

from __future__ import annotations

from pathlib import Path

from loadcell.linux.process_counters import Key, ProcessCounters, read_processes
from loadcell.monitors import target_memory_nodes
from loadcell.monitors.target_memory_nodes import MemoryNodes
from numa_machine import NODE_0, NODE_1, machine, process

STAT = "{pid} (java) S 1 1 1 0 -1 0 0 0 0 0 10 5 0 0 20 0 2 0 100 0 {rss}" + " 0" * 28


def processes(root: Path, *pids: int) -> dict[Key, ProcessCounters]:
    for pid in pids:
        (root / f"proc/{pid}/stat").write_text(STAT.format(pid=pid, rss=1000 * pid))
    return read_processes(root, list(pids))


def instants(nodes: MemoryNodes, seen: dict[Key, ProcessCounters], seconds: int) -> list[int]:
    """Seconds of the samples with rows."""
    nodes.take(seen, 0.0)
    results = []
    for second in range(1, seconds + 1):
        nodes.take(seen, 1.0)
        if nodes.rows():
            results.append(second)
    return results


def test_a_trial_has_three_samples(tmp_path: Path) -> None:
    process(machine(tmp_path), 7, {7: (0, 10), 8: (2, 10)})
    seen = processes(tmp_path, 7)
    assert instants(MemoryNodes(tmp_path, 40), seen, 60) == [10, 20, 30]
    assert len(instants(MemoryNodes(tmp_path, 2), seen, 5)) <= 3


def test_rows_have_the_memory_of_each_process_and_of_all(tmp_path: Path) -> None:
    process(machine(tmp_path), 7, {7: (0, 10), 8: (2, 10)})
    process(tmp_path, 9, {9: (0, 10)})
    nodes = MemoryNodes(tmp_path, 4)
    nodes.take(processes(tmp_path, 7, 9), 1.0)
    larger, smaller, total = nodes.rows()
    size = NODE_0 + NODE_1
    assert (larger["pid"], larger["far_bytes"]) == (9, NODE_1)
    assert (smaller["pid"], smaller["far_bytes"]) == (7, round(size / 2))
    assert (total["pid"], total["memory_bytes"]) == (0, 2 * size)
    assert set(total) == set(target_memory_nodes.TABLE.columns)


def test_a_machine_with_one_node_has_none(tmp_path: Path) -> None:
    process(machine(tmp_path, nodes=1), 7, {7: (0, 10)})
    assert instants(MemoryNodes(tmp_path, 4), processes(tmp_path, 7), 8) == []


def test_a_process_that_has_ended_has_no_row(tmp_path: Path) -> None:
    process(machine(tmp_path), 7, {7: (0, 10)})
    seen = processes(tmp_path, 7)
    (tmp_path / "proc/7/numa_maps").unlink()
    assert instants(MemoryNodes(tmp_path, 4), seen, 8) == []
