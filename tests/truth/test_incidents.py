"""Known incidents are recognised at any size, and states just below their thresholds are no incidents.

`tests/truth/incidents/driver.py` repeats this, makes real incidents, and writes the table.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from truth.incidents import driver
from truth.incidents.case import LATEST_S, Replay, judged
from truth.incidents.gluster_replays import REPLAYS as OF_VOLUMES
from truth.incidents.gluster_replays import recorded, walked
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


def test_names_without_a_file_have_the_recorded_bricks() -> None:
    """The file is on the first pair, and the hash of its name leads to the second one."""
    seen = walked(recorded()["lost-names"], random.Random(1))
    assert seen.lost
    for item in seen.lost:
        assert item.holders == ("10.91.0.1:/bricks/host-1/brick-1",)
        assert item.hashed == ("10.91.0.1:/bricks/host-1/brick-3",)


def test_controls_of_volumes_are_near_misses() -> None:
    """Copies that wait for their heal, links to files of the other pair, and files that are open."""
    links, heal, opened = (recorded()[name] for name in ("links", "heal", "open"))
    assert any("trusted.glusterfs.dht.linkto" in names for names in attributes_of(links))
    assert "/data/file-" in heal["answers"]["pending"]
    assert "/data/file-" not in heal["answers"]["heal"]
    assert "Current open fds: 4," in opened["answers"]["open"]


def attributes_of(state: dict[str, Any]) -> list[dict[str, str]]:
    return [attributes for paths in state["bricks"].values() for attributes in paths.values()]


@pytest.mark.parametrize("replay", ALL, ids=lambda replay: replay.incident)
def test_a_state_below_a_threshold_is_healthy(replay: Replay, tmp_path: Path) -> None:
    for number, near in enumerate(replay.near):
        for seed in SEEDS:
            example = near(random.Random(f"{replay.incident} near {number} {seed}"), tmp_path)
            result = judged(example.evidence)
            assert replay.incident not in result.all, f"{number} {seed}: {example.size}"
            assert result.critical == (), f"{number} {seed}: {example.size}"


def test_rows_of_the_table_are_renewed_alone() -> None:
    old = driver.TABLE.read_text()
    results = [
        {"kind": "real", "incident": "oom-kill", "number": 0, "seen": True, "gone": False, "delay_s": 4.2},
        *(
            {"kind": "control 0", "incident": "oom-kill", "number": number, "seen": False}
            for number in range(7)
        ),
    ]
    new = driver.renewed(old, driver.table(results), {"oom-kill"})
    pairs = list(zip(old.splitlines(), new.splitlines(), strict=True))
    changed = [after for before, after in pairs[:-1] if before != after]
    assert len(changed) == 1
    assert changed[0].endswith("| 1 of 1 | 4.2 s | 0 of 1 | 0, 0, 0 | – | 7 | 0 | 0 |")
    numbers = [int(line.split()[0]) for line in pairs[-1]]
    assert numbers[1] == numbers[0] - 3


def controls(incident: str, critical: int, total: int = 10) -> list[dict[str, object]]:
    """Results of healthy controls, of which some have a critical finding."""
    return [
        {"kind": "control 0", "incident": incident, "number": number, "seen": False,
         "critical": number < critical}
        for number in range(total)
    ]  # fmt: skip


def test_critical_findings_of_the_table_are_those_of_its_rows() -> None:
    old = driver.table([*controls("oom-kill", 3), *controls("disk-errors", 2)])
    assert old.splitlines()[-1] == "20 healthy controls, 5 with a critical finding of any incident"
    mended = driver.renewed(old, driver.table(controls("oom-kill", 1)), {"oom-kill"})
    assert mended.splitlines()[-1] == "20 healthy controls, 3 with a critical finding of any incident"


def test_an_incident_that_is_new_gets_a_row_in_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    every = driver.table([*controls("oom-kill", 0), *controls("disk-errors", 0)])
    old = "\n".join(line for line in every.splitlines() if not line.startswith(("| `oom-kill`", "| `numa-")))
    assert driver.renewed(old, every, {"oom-kill"}).splitlines() == [
        line for line in every.splitlines() if not line.startswith("| `numa-")
    ]
    assert "without a row, as they were not examined: numa-spread" in capsys.readouterr().out
    with pytest.raises(ValueError, match="neither rehearsals nor replays: nothing"):
        driver.renewed(old, every, {"nothing"})
