"""The first cases of each campaign; `make campaigns` runs all."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random

import pytest

from campaigns import corrupted_runs, driver, imports, mutated_plans


@pytest.mark.parametrize("batch", range(4))
def test_corrupted_run_directories(batch: int, tmp_path: Path) -> None:
    for number in range(batch * 15, batch * 15 + 15):
        home = tmp_path / str(number)
        corrupted_runs.case(Random(f"short {number}"), home, commands=1)


@pytest.mark.parametrize("batch", range(5))
def test_mutated_plans(batch: int, tmp_path: Path) -> None:
    for number in range(batch * 50, batch * 50 + 50):
        mutated_plans.case(Random(f"short {number}"), tmp_path)


@pytest.mark.parametrize("batch", range(2))
def test_mutated_imports(batch: int, tmp_path: Path) -> None:
    for number in range(batch * 10, batch * 10 + 10):
        home = tmp_path / str(number)
        home.mkdir()
        imports.case(Random(f"short {number}"), home, reported=number == 0)


def test_a_batch_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cases: list[int] = []

    def case(random: Random, home: Path) -> None:
        cases.append(len(cases))
        if len(cases) == 2:
            raise AssertionError(f"case {len(cases)} in {home.name[:9]}")

    state = tmp_path / "state.json"
    monkeypatch.setattr(driver, "all_campaigns", lambda: iter([driver.Campaign("made", 3, case)]))
    monkeypatch.setattr(sys, "argv", ["driver", "--state", str(state), "--batch-s", "0"])
    assert driver.main_() == driver.REMAINING
    assert cases == []
    monkeypatch.setattr(sys, "argv", ["driver", "--state", str(state)])
    assert driver.main_() == 1
    assert len(cases) == 3
    assert json.loads(state.read_text())["made"] == {"next": 3, "failures": {"1": "case 2 in loadcell-"}}
    assert driver.main_() == 1
    assert len(cases) == 3, "none is repeated"
    assert "made: 3 cases, 1 failures" in capsys.readouterr().out
