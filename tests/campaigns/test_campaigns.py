"""The first cases of each campaign; `make campaigns` runs all."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from random import Random

import pytest

from campaigns import corrupted_runs, drafts, driver, imports, mutated_plans


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


@pytest.mark.parametrize("batch", range(2))
def test_mutated_sources_of_drafts(batch: int, tmp_path: Path) -> None:
    for number in range(batch * 50, batch * 50 + 50):
        drafts.case(Random(f"short {number}"), tmp_path)


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
    failures = {"1": "case 2 in loadcell-"}
    assert json.loads(state.read_text())["made"] == {"next": 3, "failures": failures, "running": None}
    assert driver.main_() == 1
    assert len(cases) == 3, "none is repeated"
    assert "made: 3 cases, 1 failures" in capsys.readouterr().out


def test_a_case_that_hangs_fails_and_the_next_one_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def case(_: Random, home: Path) -> None:
        numbers = json.loads(state.read_text())["made"]
        assert numbers["running"] == numbers["next"], "it is saved before the case"
        if numbers["next"] == 1:
            time.sleep(60)

    state = tmp_path / "state.json"
    monkeypatch.setattr(driver, "CASE_S", 0.5)
    monkeypatch.setattr(driver, "all_campaigns", lambda: iter([driver.Campaign("made", 3, case)]))
    monkeypatch.setattr(sys, "argv", ["driver", "--state", str(state)])
    began = time.monotonic()
    assert driver.main_() == 1
    assert time.monotonic() - began < 30
    made = json.loads(state.read_text())["made"]
    assert (made["next"], [*made["failures"]]) == (3, ["1"])
    assert "time.sleep(60)" in made["failures"]["1"]


def test_a_command_that_hangs_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "LONGEST_S", 0.5)
    monkeypatch.setattr(driver.main, "main", lambda *_, **__: time.sleep(60))
    with pytest.raises(AssertionError, match=r"loadcell check: not ended after 0\.5 s"):
        driver.call("check")


def test_the_case_that_ended_a_batch_is_a_failure_of_the_next_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases: list[Path] = []
    state = tmp_path / "state.json"
    state.write_text(json.dumps({"made": {"next": 1, "failures": {}, "running": 1}}))
    campaign = driver.Campaign("made", 3, lambda _, home: cases.append(home))
    monkeypatch.setattr(driver, "all_campaigns", lambda: iter([campaign]))
    monkeypatch.setattr(sys, "argv", ["driver", "--state", str(state)])
    assert driver.main_() == 1
    assert len(cases) == 1, "only the one after it"
    assert [*json.loads(state.read_text())["made"]["failures"]] == ["1"]
