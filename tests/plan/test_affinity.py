"""Placements in plans: how they are written, what is made of them, and what is reported where they cannot
be had.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from loadcell.plan.affinity import Topology
from loadcell.plan.affinity_check import meanings, of
from loadcell.plan.load import LoadedPlan, load_plan
from loadcell.plan.parts import Parts
from loadcell.plan.problems import PlanError
from loadcell.plan.remarks import Remark, remarks
from plan.fake_parts import PARTS, PLAN, Cache, Database

#: two nodes of four cores each
MACHINE = Topology(
    online=tuple(range(8)),
    usable=tuple(range(8)),
    cores=tuple((cpu,) for cpu in range(8)),
    nodes={0: (0, 1, 2, 3), 1: (4, 5, 6, 7)},
    memory_nodes=(0, 1),
)


class Inside(Cache):
    in_worker: ClassVar[bool] = True


HERE: Parts = replace(PARTS, targets={"database": Database, "cache": Inside}, topology=lambda: MACHINE)


def read(directory: Path, text: str, parts: Parts = HERE, sets: tuple[str, ...] = ()) -> LoadedPlan:
    path = directory / "plan.yaml"
    path.write_text(text, encoding="utf-8")
    return load_plan(path, parts, sets=sets, env={})


def mistake(directory: Path, more: str, plan: str = PLAN) -> str:
    """The one thing that is wrong: place, path and finding."""
    with pytest.raises(PlanError) as caught:
        read(directory, plan + more)
    [problem] = caught.value.problems
    return (
        f"{problem.mark.line}:{problem.mark.column} {problem.path}: {problem.finding}; "
        f"{problem.allowed}; {problem.nearest}"
    )


@pytest.mark.parametrize(
    ("written", "placement", "cpus"),
    [
        ("cpus 0-3", "cpus 0-3", "0-3"),
        ("CPU 2", "cpus 2", "2"),
        ("cpus 6, 0-1,1", "cpus 0-1,6", "0-1,6"),
        ("node 1", "node 1", "4-7"),
        ("nodes 0-1", "nodes 0-1", "0-7"),
        ("one  node", "one node", "0-3"),
        ("Half the cores", "half the cores", "0-3"),
        ("all", "all", "0-7"),
    ],
)
def test_a_placement_is_written_in_many_ways_and_kept_in_one(
    tmp_path: Path, written: str, placement: str, cpus: str
) -> None:
    settings = read(tmp_path, PLAN + f"affinity: {{target: '{written}'}}").base
    assert settings.affinity.target == placement
    assert settings.document()["affinity"] == {"target": placement}
    assert of(settings.affinity, MACHINE, in_worker=False).target.cpus == cpus


def test_a_plan_that_says_nothing_of_it_has_none(tmp_path: Path) -> None:
    settings = read(tmp_path, PLAN).base
    assert not settings.affinity.is_set
    assert "affinity" not in settings.document()


def test_target_client_and_memory_are_placed_each_by_itself(tmp_path: Path) -> None:
    plan = read(tmp_path, PLAN + "affinity: {target: node 0, client: cpus 4-5, memory: interleave}")
    pins = of(plan.base.affinity, MACHINE, in_worker=False)
    assert (pins.target.cpus, pins.target.memory, pins.target.size) == ("0-3", "interleave:0-1", 4)
    assert (pins.client.cpus, pins.client.memory, pins.client.size) == ("4-5", "", 2)
    inside = of(plan.base.affinity, MACHINE, in_worker=True)
    assert (inside.target.is_set, inside.client.cpus, inside.client.memory) == (
        False,
        "0-3",
        "interleave:0-1",
    )


def test_placements_are_levels_alone_and_with_others(tmp_path: Path) -> None:
    plan = read(tmp_path, PLAN + "factors: {affinity.target: [one node, half the cores, all]}")
    assert [problem.id for problem in plan.treatments] == [
        "target=one_node",
        "target=half_the_cores",
        "target=all",
    ]
    assert [problem.resolved.affinity.target for problem in plan.treatments] == [
        "one node",
        "half the cores",
        "all",
    ]
    named = (
        "factors: {where: {near: {affinity.target: node 0, affinity.memory: node 0}, "
        "far: {affinity.target: node 0, affinity.memory: node 1}}}"
    )
    plan = read(tmp_path, PLAN + named)
    assert [problem.resolved.affinity.memory for problem in plan.treatments] == ["node 0", "node 1"]
    set_ = read(tmp_path, PLAN, sets=("affinity.client=cpus 0-1",))
    assert set_.base.affinity.client == "cpus 0-1"


@pytest.mark.parametrize(
    ("written", "placement", "cpus", "memory"),
    [
        ("0", "0", "0-3", "bind:0"),
        ("1", "1", "4-7", "bind:1"),
        ("0-1", "0-1", "0-7", "bind:0-1"),
        ("'1, 0'", "0-1", "0-7", "bind:0-1"),
    ],
)
def test_a_node_by_itself_is_processors_and_memory_of_all(
    tmp_path: Path, written: str, placement: str, cpus: str, memory: str
) -> None:
    affinity = read(tmp_path, PLAN + f"affinity: {{node: {written}}}").base.affinity
    assert affinity.document() == {"node": placement}
    for in_worker, pin in ((False, "target"), (False, "client"), (True, "client")):
        problems = getattr(of(affinity, MACHINE, in_worker=in_worker), pin)
        assert (problems.cpus, problems.memory) == (cpus, memory)


def test_a_client_may_run_elsewhere_than_the_node(tmp_path: Path) -> None:
    affinity = read(tmp_path, PLAN + "affinity: {node: 0, client: node 1}").base.affinity
    assert affinity.placements == {"target": "node 0", "client": "node 1", "memory": "node 0"}
    pins = of(affinity, MACHINE, in_worker=False)
    assert (pins.target.cpus, pins.target.memory) == ("0-3", "bind:0")
    assert (pins.client.cpus, pins.client.memory) == ("4-7", "")


@pytest.mark.parametrize(
    ("written", "policy"), [("node 0", "bind:0"), ("nodes 0-1", "bind:0-1"), ("Interleave", "interleave:0-1")]
)
def test_memory_is_placed_without_processors(tmp_path: Path, written: str, policy: str) -> None:
    affinity = read(tmp_path, PLAN + f"affinity: {{memory: {written}}}").base.affinity
    pins = of(affinity, MACHINE, in_worker=False)
    assert (pins.target.cpus, pins.target.memory, pins.client.is_set) == ("", policy, False)
    assert of(affinity, MACHINE, in_worker=True).client.memory == policy


def test_nodes_are_levels(tmp_path: Path) -> None:
    plan = read(tmp_path, PLAN + "factors: {affinity.node: [0, 1]}")
    assert [problem.id for problem in plan.treatments] == ["node=0", "node=1"]
    assert [problem.resolved.affinity.node for problem in plan.treatments] == ["0", "1"]
    assert meanings((problem.resolved for problem in plan.treatments), MACHINE) == {
        "target": {"node 0": "0-3", "node 1": "4-7"},
        "client": {"node 0": "0-3", "node 1": "4-7"},
        "memory": {"node 0": "bind:0", "node 1": "bind:1"},
    }
    mixed = (
        "factors: {where: {near: {affinity.node: 0}, spread: {affinity.target: all, "
        "affinity.memory: interleave}}}"
    )
    plan = read(tmp_path, PLAN + mixed)
    assert [problem.resolved.affinity.document() for problem in plan.treatments] == [
        {"node": "0"},
        {"target": "all", "memory": "interleave"},
    ]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (
            "affinity: {node: 0, target: node 1}",
            "4:29 affinity.target: `node` already sets the CPUs",
        ),
        ("affinity: {node: 0, memory: interleave}", "affinity.memory: `node` already sets "),
        ("affinity: {node: 0, target: all, memory: node 1}", "; `node` alone, optionally with `client`"),
        ("affinity: {target: all}\nfactors: {affinity.node: [0, 1]}", "4:20 affinity.target: `node` "),
        ("affinity: {node: 7}", "4:18 affinity.node: this machine has no node 7; nodes 0-1"),
        (
            "affinity: {node: node 0}",
            'affinity.node: found "node 0"; a node\'s number, `0`, or several, `0-1`; node: 0',
        ),
        ("affinity: {node: one node}", 'affinity.node: found "one node", which is not a list of numbers'),
        ("affinity: {node: -1}", "affinity.node: found -1; "),
        ("affinity: {node: [0, 1]}", "affinity.node: found a list of 2; "),
        ("affinity: {node: true}", "affinity.node: found true; "),
        ("factors: {affinity.node: [0, 9]}", "affinity.node: this machine has no node 9"),
        ("affinity: {target: 0-3}", '4:20 affinity.target: found "0-3"; `cpus 0-31`'),
        ("affinity: {target: 0-3}", "; cpus 0-3"),
        ("affinity: {target: 3}", "affinity.target: found 3; "),
        ("affinity: {target: [0, 1]}", "affinity.target: found a list of 2; "),
        ("affinity: {target: half of them}", "; half the cores"),
        ("affinity: {target: cpus}", '"cpus"'),
        ("affinity: {target: cpus 3-1}", "whose range 3-1 is descending"),
        ("affinity: {target: cpus x}", "not a list of numbers"),
        ("affinity: {target: cpus 0-99999}", "no machine has a number 99999"),
        ("affinity: {memory: cpus 0}", "affinity.memory: found "),
        ("affinity: {memory: interleaved}", "; interleave"),
        ("affinity: {targets: all}", "affinity.targets: there is no setting"),
        ("affinity: {target: cpus 6-9}", "this machine has no CPU 8-9; CPUs 0-7"),
        ("affinity: {client: node 2}", "affinity.client: this machine has no node 2; nodes 0-1"),
        ("affinity: {memory: node 2}", "affinity.memory: this machine has no node 2; nodes 0-1"),
        ("factors: {affinity.target: [all, cpus 9]}", "4:34 affinity.target: this machine has no CPU 9"),
        ("factors: {affinity.targt: [all]}", "there is no setting"),
    ],
)
def test_what_cannot_be_had_is_reported_where_it_stands(tmp_path: Path, more: str, says: str) -> None:
    assert says in mistake(tmp_path, more)


EXTERNAL = PLAN.replace("{database: {}}", "{database: {server: external, dsn: x}}")
INSIDE = PLAN.replace("{database: {}}", "{cache: {}}")


def test_a_target_that_loadcell_does_not_start_cannot_be_placed(tmp_path: Path) -> None:
    for key, value in (("target", "all"), ("memory", "node 0"), ("node", "0")):
        result = mistake(tmp_path, f"affinity: {{{key}: {value}}}", EXTERNAL)
        assert f"affinity.{key}: loadcell does not start this target" in result
        assert "numactl" in result
    assert read(tmp_path, EXTERNAL + "affinity: {client: node 1}").base.affinity.client == "node 1"


def test_a_target_in_the_client_runs_where_the_client_does(tmp_path: Path) -> None:
    result = mistake(tmp_path, "affinity: {target: node 0, client: node 1}", INSIDE)
    assert (
        "affinity.client: is CPUs 4-7, and affinity.target is 0-3: this target shares one process" in result
    )
    read(tmp_path, INSIDE + "affinity: {target: node 0, client: cpus 0-3}")
    result = mistake(tmp_path, "affinity: {node: 0, client: node 1}", INSIDE)
    assert "affinity.client: is CPUs 4-7, and affinity.node is 0-3: this target shares one process" in result


def test_a_plan_is_read_where_nothing_is_known_of_the_machine(tmp_path: Path) -> None:
    plan = read(tmp_path, PLAN + "affinity: {target: cpus 4000}", PARTS)
    assert plan.base.affinity.target == "cpus 4000"
    assert remarks(plan, PARTS) == [
        problem for problem in remarks(plan, PARTS) if "affinity" not in problem.path
    ]


def test_what_is_possible_and_unwise_is_remarked_on(tmp_path: Path) -> None:
    plan = read(tmp_path, PLAN + "affinity: {target: cpus 0-3, client: cpus 3-4}")
    result = {problem.path: problem.text for problem in remarks(plan, HERE)}
    assert result["affinity.client"].startswith("target and client share CPU 3")
    narrow = replace(HERE, topology=lambda: replace(MACHINE, nodes={0: tuple(range(8))}, memory_nodes=(0,)))
    plan = read(tmp_path, PLAN + "factors: {affinity.target: [one node, all]}", narrow)
    [remark] = [problem for problem in remarks(plan, narrow) if problem.path == "affinity.target"]
    assert remark.treatment == "target=one_node"
    assert "one NUMA node" in remark.text
    plan = read(tmp_path, PLAN + "factors: {affinity.target: [one node, half the cores, cpus 0-3, all]}")
    [same] = [problem for problem in remarks(plan, HERE) if problem.path == "affinity.target"]
    assert same.text == "`one node`, `half the cores` and `cpus 0-3` are the same here: CPUs 0-3"
    assert (same.treatment, same.others) == ("target=cpus_0-3", 2)


def test_of_a_node_it_is_remarked_that_it_is_all_there_is_and_who_shares_it(tmp_path: Path) -> None:
    narrow = replace(HERE, topology=lambda: replace(MACHINE, nodes={0: tuple(range(8))}, memory_nodes=(0,)))

    def remarks_on(more: str, parts: Parts) -> list[Remark]:
        plan = read(tmp_path, PLAN + more, parts)
        return [problem for problem in remarks(plan, parts) if problem.path.startswith("affinity")]

    [remark] = remarks_on("affinity: {node: 0}", narrow)
    assert (remark.path, "`node 0` means all of its CPUs (0-7)" in remark.text) == ("affinity.node", True)
    assert remarks_on("affinity: {node: 0}", HERE) == [], "all of it on a node shares it"
    [remark] = remarks_on("affinity: {node: 0, client: cpus 3-4}", HERE)
    assert remark.text.startswith("target and client share CPU 3")
    [remark] = remarks_on("affinity: {memory: node 0}", narrow)
    assert "memory of `node 0` is all of it" in remark.text
