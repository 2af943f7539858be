"""Placements in plans on machines of every kind: recorded layouts, and ones that nobody here has."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from linux import trees
from loadcell.analysis.error_codes import remedy, why
from loadcell.execution.affinity import AFFINITY_GONE
from loadcell.linux.cpu import topology
from loadcell.plan.affinity import Affinity, Pin, Topology, ranges
from loadcell.plan.affinity_check import of
from loadcell.plan.problems import SettingError
from loadcell.report.texts import Texts
from records import trial


def machine(root: Path, count: int, *, allowed: str = "", **layout: int | str) -> Topology:
    """A machine of `count` processors, of which this process may run on some."""
    trees.processors(root, count, **layout)  # type: ignore[arg-type]
    if allowed:
        trees.write(root, "proc/self/status", f"Cpus_allowed_list:\t{allowed}\nMems_allowed_list:\t0")
    return topology(root)


def refusal(where: Topology, placement: str) -> str:
    with pytest.raises(SettingError) as caught:
        where.cpus_of(placement)
    return f"{caught.value.finding}; allowed: {caught.value.advice}"


def in_chinese(where: Topology, placement: str) -> str:
    """Reason in a report of a trial whose placement could not be had any more."""
    with pytest.raises(SettingError) as caught:
        where.memory_of(placement) if placement.startswith("memory") else where.cpus_of(placement)
    gone = AFFINITY_GONE(**caught.value.message.arguments)
    record = trial(
        reason=gone.text, advice=gone.advice, reason_code=gone.code, reason_args=gone.plain_arguments
    )
    texts = Texts("zh")
    return f"{texts.recorded(why(record))}；{texts.recorded(remedy(record))}"


def remarks_text(where: Topology, *, in_worker: bool = False, **placements: str) -> str:
    return "\n".join(
        remark.message.text for remark in where.remarks(Affinity(**placements), in_worker=in_worker)
    )


def test_the_levels_of_a_kunpeng_are_those_of_its_report(tmp_path: Path) -> None:
    trees.kunpeng(tmp_path)
    result = topology(tmp_path)
    assert result.written("one node") == "0-31"
    assert result.written("half the cores") == "0-63"
    assert result.written("all") == "0-127"
    assert result.written("node 3") == "96-127"
    assert result.written("nodes 0,2") == "0-31,64-95"
    assert result.memory_of("node 1") == "bind:1"
    assert result.memory_of("interleave") == "interleave:0-3"
    pins = of(Affinity(node="0"), result, in_worker=False)
    assert (pins.target, pins.client) == (Pin("0-31", "bind:0"), Pin("0-31", "bind:0"))
    assert remarks_text(result, target="one node", client="node 1") == ""


def test_half_the_cores_are_whole_cores_node_by_node_whatever_their_numbers(tmp_path: Path) -> None:
    # As Intel's firmware numbers them: every other processor is the other node's, siblings are far apart.
    for number in range(8):
        base = f"sys/devices/system/cpu/cpu{number}/topology"
        trees.write(tmp_path, f"{base}/thread_siblings_list", f"{number % 4},{number % 4 + 4}")
    trees.write(tmp_path, "sys/devices/system/cpu/online", "0-7")
    for node, cpus in ((0, "0,2,4,6"), (1, "1,3,5,7")):
        trees.write(tmp_path, f"sys/devices/system/node/node{node}/cpulist", cpus)
    result = topology(tmp_path)
    assert result.cores == ((0, 4), (1, 5), (2, 6), (3, 7))
    assert result.written("half the cores") == result.written("one node") == "0,2,4,6"
    assert "threads of one core" in remarks_text(result, target="cpus 0-1", client="cpus 4-5")
    assert remarks_text(result, target="cpus 0-1", client="cpus 4-5", in_worker=True) == ""


def test_1024_processors_of_which_some_are_off_and_some_are_kept_from_us(tmp_path: Path) -> None:
    result = machine(
        tmp_path, 1024, sockets=8, nodes=8, threads_per_core=2, offline="5,1023", allowed="0-4,6-299"
    )
    assert result.written("one node") == "128-255", "the node of which most is ours"
    assert result.written("half the cores") == "0-4,6-149"
    assert result.written("all") == "0-4,6-299"
    assert refusal(result, "cpus 4-5") == "CPU 5 is offline; allowed: CPUs 0-4,6-299"
    assert refusal(result, "cpus 1024-1026").startswith("this machine has no CPU 1024-1026; ")
    assert refusal(result, "cpus 299-301").startswith("loadcell may not run on CPU 300-301: a cpuset ")
    assert refusal(result, "node 8") == "this machine has no node 8; allowed: nodes 0-7"
    assert refusal(result, "node 7") == "node 7 has no CPU that loadcell may run on; allowed: nodes 0-2"
    assert "of which loadcell may run on 256-299" in remarks_text(result, target="node 2")
    with pytest.raises(SettingError, match="node 3 has no memory that loadcell may use"):
        result.memory_of("node 3")
    with pytest.raises(SettingError, match="node 1 has no memory that loadcell may use"):
        of(Affinity(node="1"), result, in_worker=False)


def test_a_placement_that_cannot_be_had_any_more_is_reported_in_the_readers_language(tmp_path: Path) -> None:
    result = machine(
        tmp_path, 1024, sockets=8, nodes=8, threads_per_core=2, offline="5,1023", allowed="0-4,6-299"
    )
    gone = "计划的 affinity 在本机已无法满足："
    assert in_chinese(result, "cpus 4-5") == f"{gone}处理器 5 已离线；可用的有：处理器 0-4,6-299"
    assert in_chinese(result, "cpus 1024") == f"{gone}本机没有处理器 1024；可用的有：处理器 0-4,6-299"
    assert in_chinese(result, "cpus 300").startswith(f"{gone}loadcell 不能在处理器 300 上运行")
    assert in_chinese(result, "node 8") == f"{gone}本机没有节点 8；可用的有：节点 0-7"
    assert in_chinese(result, "nodes 6-7") == f"{gone}节点 6-7 没有 loadcell 可用的处理器；可用的有：节点 0-2"
    assert in_chinese(result, "memory 3") == f"{gone}节点 3 没有 loadcell 可用的内存；可用的有：节点 0 的内存"


def test_a_machine_with_one_node_says_that_its_levels_are_the_same(tmp_path: Path) -> None:
    result = machine(tmp_path, 4, sockets=1, nodes=1)
    assert result.written("one node") == result.written("all") == "0-3"
    assert result.written("half the cores") == "0-1"
    assert "one NUMA node: `one node` and `all` both mean all of its CPUs (0-3)" in remarks_text(
        result, target="one node"
    )
    assert "and interleaved memory is all of it" in remarks_text(result, memory="interleave")
    assert remarks_text(result, node="0").startswith(
        "this machine has one NUMA node: `node 0` means all of its CPUs (0-3)"
    )
    assert "target and client share CPU 1" in remarks_text(result, target="cpus 0-1", client="cpus 1-2")


def test_one_core_and_no_numa(tmp_path: Path) -> None:
    trees.write(tmp_path, "sys/devices/system/cpu/online", "0")
    result = topology(tmp_path)
    assert (result.nodes, result.cores, result.memory_nodes) == ({0: (0,)}, ((0,),), (0,))
    assert result.written("half the cores") == result.written("one node") == "0"
    assert "half of it is all of it" in remarks_text(result, target="half the cores")


def test_this_machine_is_laid_out_so_that_all_of_it_can_be_had() -> None:
    result = topology()
    assert result.written("all") == ranges(tuple(os.sched_getaffinity(0)))
    assert set(result.cpus_of("half the cores")) <= set(result.cpus_of("all"))
    assert {cpu for core in result.cores for cpu in core} == set(result.online)
