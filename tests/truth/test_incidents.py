"""Known incidents are recognised at any size, and states just below their thresholds are no incidents.

`tests/truth/incidents/driver.py` repeats this, makes real incidents, and writes the table.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from truth.incidents.case import LATEST_S, Replay, judged
from truth.incidents.gluster_replays import REPLAYS as OF_VOLUMES
from truth.incidents.host_replays import REPLAYS as OF_HOSTS
from truth.incidents.jvm_replays import REPLAYS as OF_JVMS
from truth.incidents.log_replays import REPLAYS as OF_LOGS
from truth.incidents.run_replays import REPLAYS as OF_RUNS

ALL = (*OF_JVMS, *OF_HOSTS, *OF_LOGS, *OF_RUNS, *OF_VOLUMES)
SEEDS = range(10)


@pytest.mark.parametrize("replay", ALL, ids=lambda replay: replay.incident)
def test_an_incident_is_recognised_at_any_size(replay: Replay, tmp_path: Path) -> None:
    for seed in SEEDS:
        example = replay.seen(random.Random(f"{replay.incident} {seed}"), tmp_path)
        assert example.sign_s <= LATEST_S
        assert replay.incident in judged(example.evidence).all, f"{seed}: {example.size}"


@pytest.mark.parametrize("replay", ALL, ids=lambda replay: replay.incident)
def test_a_state_below_a_threshold_is_healthy(replay: Replay, tmp_path: Path) -> None:
    for number, near in enumerate(replay.near):
        for seed in SEEDS:
            example = near(random.Random(f"{replay.incident} near {number} {seed}"), tmp_path)
            result = judged(example.evidence)
            assert replay.incident not in result.all, f"{number} {seed}: {example.size}"
            assert result.critical == (), f"{number} {seed}: {example.size}"
