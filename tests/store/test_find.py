"""The order of runs is that of their starts, whatever their directories are called."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

import fake_runs
from loadcell.cli import main
from loadcell.store.find import find_run, runs_under


def run(results: Path, name: str, started: str) -> Path:
    """A run that began then."""
    path = fake_runs.write_run(results / name)
    document = json.loads((path / "run.json").read_text())
    (path / "run.json").write_text(json.dumps({**document, "started_utc": started}))
    return path


def test_the_last_run_is_the_one_that_began_last(tmp_path: Path) -> None:
    named = run(tmp_path, "plan/zz", "2026-11-22T10:00:00.000000Z")
    older = run(tmp_path, "plan/20261121T100000Z-aaaa", "2026-11-21T10:00:00.250000Z")
    newer = run(tmp_path, "plan/20261123T100000Z-aaaa", "2026-11-23T10:00:00.250000Z")
    elsewhere = run(tmp_path, "0", "2026-11-22T13:30:00.000000+02:00")
    assert runs_under(tmp_path) == [older, named, elsewhere, newer]
    assert find_run("last", tmp_path) == newer


def test_runs_of_one_second_are_in_the_order_of_their_records(tmp_path: Path) -> None:
    first = run(tmp_path, "20261123T100000Z-ffff", "2026-11-23T10:00:00.100000Z")
    third = run(tmp_path, "20261123T100000Z-0000", "2026-11-23T10:00:00.900000Z")
    second = run(tmp_path, "mine", "2026-11-23T10:00:00.500000Z")
    assert runs_under(tmp_path) == [first, second, third]


@pytest.mark.parametrize("text", ["{", "[]", '{"started_utc": 5}', '{"started_utc": "soon"}', "[" * 100_000])
def test_a_damaged_record_is_dated_by_its_file(tmp_path: Path, text: str) -> None:
    newer = run(tmp_path, "20261123T100000Z-aaaa", "2026-11-23T10:00:00.100000Z")
    damaged = run(tmp_path, "damaged", "2026-11-25T10:00:00.000000Z")
    (damaged / "run.json").write_text(text)
    os.utime(damaged / "run.json", (0, 0))
    assert runs_under(tmp_path) == [damaged, newer]


def test_commands_mean_it_by_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path / "results", "zz", "2026-11-22T10:00:00.000000Z")
    newest = run(tmp_path / "results", "aa", "2026-11-23T10:00:00.000000Z")
    monkeypatch.chdir(tmp_path)
    shown = CliRunner().invoke(main, ["baseline", "set", "gate", "last"])
    assert shown.exit_code == 0, shown.output
    registered = json.loads((tmp_path / "results" / "baselines.json").read_text())
    assert registered == {"gate": newest.name}
