"""A small campaign of kills at random instants; `make campaigns` runs the large one."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaigns import fault_kills, kills


@pytest.mark.parametrize(("system", "seed"), [("redis", "1"), ("postgres", "2"), ("nginx", "3")])
def test_nothing_is_lost_and_nothing_remains(system: str, seed: str, tmp_path: Path) -> None:
    assert kills.apart(tmp_path, seed, kills=1, system=system) == ""


@pytest.mark.parametrize("system", ["postgres", "nginx"])
def test_a_server_killed_with_its_runner_leaves_nothing(system: str, tmp_path: Path) -> None:
    assert kills.apart(tmp_path, "4", kills=1, system=system, victim="runner and server") == ""


@pytest.mark.parametrize(
    ("system", "victim"),
    [("redis", "runner and guardian"), ("nginx", "runner and guardian and worker and server")],
)
def test_no_fault_is_left_after_the_next_start(system: str, victim: str, tmp_path: Path) -> None:
    assert kills.apart(tmp_path, "5", 1, system, victim, fault_kills.__name__) == ""
