"""Memory of a process by NUMA node."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from loadcell.linux import numa_maps
from numa_machine import NODE_0, NODE_1, machine, process


def test_pages_of_all_sizes_count_by_node(tmp_path: Path) -> None:
    process(machine(tmp_path), 7, {})
    assert numa_maps.memory_by_node(tmp_path, 7) == {0: NODE_0, 1: NODE_1}
    assert numa_maps.memory_by_node(tmp_path, 8) == {}


def test_processors_have_nodes(tmp_path: Path) -> None:
    assert numa_maps.node_of_processors(machine(tmp_path)) == {0: 0, 1: 0, 2: 1, 3: 1}
    assert numa_maps.node_count(tmp_path) == 2
    assert numa_maps.node_count(tmp_path / "other") == 1


def test_threads_count_by_cpu_time_on_the_node_of_their_last_processor(tmp_path: Path) -> None:
    process(machine(tmp_path), 7, {7: (1, 30), 8: (2, 50), 9: (3, 20), 10: (9, 40)})
    nodes = numa_maps.node_of_processors(tmp_path)
    assert numa_maps.threads_by_node(tmp_path, 7, nodes, 100) == {0: 30, 1: 70}
    assert numa_maps.threads_by_node(tmp_path, 7, nodes, 2) == {0: 30, 1: 50}, "the first threads"


@pytest.mark.parametrize(
    ("memory", "threads", "share"),
    [
        ({0: 100}, {0: 5}, 0.0),
        ({1: 100}, {0: 5}, 1.0),
        ({0: 50, 1: 50}, {0: 5, 1: 5}, 0.5),
        ({0: 90, 1: 10}, {0: 9, 1: 1}, 0.18),
        ({0: 1, 1: 1, 2: 1, 3: 1}, {0: 1, 1: 1, 2: 1, 3: 1}, 0.75),
        ({}, {0: 5}, None),
        ({0: 5}, {}, None),
    ],
)
def test_the_share_of_accesses_to_other_nodes(
    memory: dict[int, int], threads: dict[int, int], share: float | None
) -> None:
    expected = None if share is None else pytest.approx(share)
    assert numa_maps.far_share(Counter(memory), Counter(threads)) == expected


def test_this_machine_has_a_node_and_memory() -> None:
    assert numa_maps.node_count() >= 1
