"""Throughput on one NUMA node and on all processors."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import fake_runs
from loadcell.incidents.base import Diagnosis, Healthy, Unseen, examine
from loadcell.incidents.evidence.placements import Placements
from loadcell.incidents.runs import placements
from loadcell.linux import numa_maps
from loadcell.store.read import read_run


def evidence(ratio: float, far_share: float | None = None, nodes: int = 2, count: int = 6) -> Placements:
    chance = random.Random(5)
    pinned = tuple(1000 * chance.uniform(0.99, 1.01) for _ in range(count))
    spread = tuple(1000 * ratio * chance.uniform(0.99, 1.01) for _ in range(count))
    return Placements("", "affinity.target", nodes, pinned, spread, far_share)


def test_all_processors_that_are_slower_than_one_node() -> None:
    (diagnosis,) = examine(evidence(0.9, 0.8))
    assert isinstance(diagnosis, Diagnosis)
    assert (diagnosis.level, diagnosis.confidence) == ("warning", "high")
    assert diagnosis.summary.arguments["change_times"] == pytest.approx(0.9, abs=0.01)


@pytest.mark.parametrize("far_share", [None, 0.2, 0.5, 0.55])
def test_without_memory_on_other_nodes_the_cause_is_unproven(far_share: float | None) -> None:
    (diagnosis,) = examine(evidence(0.9, far_share))
    assert isinstance(diagnosis, Diagnosis)
    assert diagnosis.confidence == "low"
    assert "cause unproven" in diagnosis.summary.text


@pytest.mark.parametrize(
    ("threads", "memory", "is_proven"),
    [
        ({0: 50, 1: 50}, {0: 500, 1: 500}, False),  # an even spread: one half by construction
        ({0: 50, 1: 50}, {0: 1000}, True),
        ({0: 10, 1: 90}, {0: 900, 1: 100}, True),
        ({0: 90, 1: 10}, {0: 900, 1: 100}, False),
    ],
)
def test_only_a_layout_that_no_even_spread_has_is_a_proof(
    threads: dict[int, int], memory: dict[int, int], is_proven: bool
) -> None:
    share = numa_maps.far_share(Counter(memory), Counter(threads))
    (diagnosis,) = examine(replace(evidence(0.9, share), is_on_one_node=len(memory) == 1))
    assert isinstance(diagnosis, Diagnosis)
    assert (diagnosis.confidence == "high") is is_proven


def test_a_smaller_loss_a_gain_and_one_node_are_healthy() -> None:
    for seen in (evidence(0.96, 0.5), evidence(1.4, 0.5), evidence(0.5, nodes=1)):
        (judgement,) = examine(seen)
        assert isinstance(judgement, Healthy)
    (judgement,) = examine(evidence(0.5, count=2))
    assert isinstance(judgement, Unseen)


def test_the_levels_of_a_run_are_its_placements(tmp_path: Path) -> None:
    shape = fake_runs.Shape(factors={"affinity.target": ["one node", "all"]}, repeats=3)
    run = fake_runs.write_run(tmp_path, shape)
    path = run / "environment.json"
    environment = json.loads(path.read_text())
    environment["hosts"][0]["numa_nodes"] = 2
    path.write_text(json.dumps(environment))
    (seen,) = placements.of_run(read_run(run))
    assert isinstance(seen, Placements)
    assert (seen.nodes, len(seen.pinned), len(seen.spread)) == (2, 3, 3)
    assert seen.pinned != seen.spread


@pytest.mark.parametrize(("far", "share"), [(600, 0.6), (0, 0.0), (None, None)])
def test_the_share_on_other_nodes_is_that_of_the_trials_on_all(
    tmp_path: Path, far: int | None, share: float | None
) -> None:
    shape = fake_runs.Shape(factors={"affinity.target": ["one node", "all"]}, repeats=3)
    run = fake_runs.write_run(tmp_path, shape)
    path = run / "environment.json"
    environment = json.loads(path.read_text())
    environment["hosts"][0]["numa_nodes"] = 2
    path.write_text(json.dumps(environment))
    for trial in (run / "trials").iterdir():
        record = json.loads((trial / "trial.json").read_text())
        is_spread = record["levels"]["affinity.target"] == "all"
        if far is not None:
            record["monitors"]["target"]["tables"] = {"memory-nodes": "memory-nodes.csv"}
            (trial / "trial.json").write_text(json.dumps(record))
            (trial / "memory-nodes.csv").write_text(
                "t_s,pid,name,memory_nodes,memory_bytes,far_bytes\n"
                f"7,42,java,2,1000,17\n7,0,total,2,1000,{far if is_spread else 1}\n"
            )
    (seen,) = placements.of_run(read_run(run))
    assert isinstance(seen, Placements)
    assert not seen.is_on_one_node
    assert seen.far_share == (None if share is None else pytest.approx(share))
