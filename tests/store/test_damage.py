"""One damaged record costs that trial, or that file: the others are read, and the damage is named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from loadcell.cli import main
from loadcell.model.json import MismatchError, parse
from loadcell.store.read import read_run

DATA = Path(__file__).resolve().parent.parent / "data" / "schema-1" / "results"
DEEP = "[" * 100_000 + "]" * 100_000


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The smallest run with monitors, in a directory of results with another one."""
    shutil.copytree(DATA / "import-sysbench", tmp_path / "results" / "other")
    return Path(shutil.copytree(DATA / "groups", tmp_path / "results" / "groups")) / next(
        path.name for path in (DATA / "groups").iterdir()
    )


def replaced(key: str, value: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        document = json.loads(text)
        document[key] = "\ue000"
        return json.dumps(document).replace('"\\ue000"', value)

    return change


@pytest.mark.parametrize(
    "change",
    [
        *(replaced("checks", value) for value in ("7", '"x"', '[{"name": 1}]', DEEP)),
        *(replaced(key, "[1]") for key in ("treatment", "unit", "phases", "tool", "totals", "monitors")),
        *(replaced("reason", value) for value in ('"\\ud800"', DEEP, "7")),
        *(replaced("number", value) for value in ("1" + "0" * 30, "1" + "0" * 5000, "1e999", '"1"')),
        *(replaced("reason_args", value) for value in ('{"a": 1%s}' % ("0" * 400), '{"a": "\\ud800"}')),
        replaced("name", '"../../groups"'),
        replaced("settings", '{"load": [1]}'),
        replaced("files", '{"../run.json": 3}'),
        replaced("monitors", '{"host": {"file": "../../run.json"}}'),
        lambda text: text[: len(text) // 2],
        lambda _: "",
        lambda _: DEEP,
    ],
)  # fmt: skip
def test_a_bad_trial_stops_no_command(change: Callable[[str], str], run: Path) -> None:
    bad, *others = sorted(path.name for path in run.glob("trials/[!.]*"))
    intact = shutil.copytree(run, run.with_name("20260101T000000Z-c0de"))
    file = run / "trials" / bad / "trial.json"
    file.write_text(change(file.read_text()))
    stored = read_run(run)
    assert [trial.name for trial in stored.trials] == others
    assert [damage.file for damage in stored.damage] == [f"trials/{bad}/trial.json"]
    results = run.parent.parent
    for words in (
        ["list", results], ["show", run], ["show", run, others[0]], ["report", run, "--json"],
        ["compare", run, intact], ["query", "SELECT trial FROM trials", run],
        ["history", stored.run.plan_name, "--results", results],
    ):  # fmt: skip
        result = CliRunner().invoke(main, [*map(str, words)])
        assert "A fault in loadcell" not in result.output
        assert result.exit_code in (0, 3), result.output
        if words[0] == "show" and len(words) == 2:
            assert bad in result.stderr
        if words[0] == "query":
            assert others[0] in result.stdout


@pytest.mark.parametrize(
    "text", [DEEP, '{"hosts": 3}', '{"hosts": ["x"]}', "[]", "{", '{"a": 1%s}' % ("0" * 30)]
)
def test_a_bad_environment_is_named(text: str, run: Path) -> None:
    (run / "environment.json").write_text(text)
    stored = read_run(run)
    assert stored.environment == {}
    assert [damage.file for damage in stored.damage] == ["environment.json"]
    assert stored.hostnames == []


@pytest.mark.parametrize(
    "line",
    [DEEP, "7", '{"mono_ns": "1"}', '{"event": {"a": 1}}', '{"utc": 1}', '{"mono_ns": 1%s}' % ("0" * 400)],
)
def test_a_bad_event_is_named_and_the_others_are_read(line: str, run: Path) -> None:
    file = next(run.glob("trials/[!.]*/events.jsonl"))
    count = len(list(read_run(run).event_rows()))
    file.write_text(line + "\n" + file.read_text())
    stored = read_run(run)
    assert len(stored.events()) == count
    assert [damage.file for damage in stored.damage] == [str(file.relative_to(run))]


@pytest.mark.parametrize("value", ["inf", "-inf", "nan", "1e308"])
def test_values_that_nobody_measures_count_as_missing(value: str, run: Path) -> None:
    file = next(run.glob("trials/[!.]*/intervals.csv"))
    head, first, *others = file.read_text().splitlines(keepends=True)
    cells = first.split(",")
    cells[head.split(",").index("throughput_per_s")] = value
    text = "".join([head, ",".join(cells), *others])
    file.write_text(text)
    record = file.with_name("trial.json")
    document: dict[str, Any] = json.loads(record.read_text())
    document["files"][file.name] = len(text)
    record.write_text(json.dumps(document))
    stored = read_run(run)
    throughput = stored.intervals().numbers("throughput_per_s")
    assert not any(abs(number) > 1e100 for number in throughput.tolist())
    result = CliRunner().invoke(main, ["report", str(run), "--json"])
    assert result.exit_code == 0, result.output


def test_line_ends_of_windows_are_read(run: Path) -> None:
    before = read_run(run).intervals()
    for file in run.glob("trials/[!.]*/*.csv"):
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    after = read_run(run).intervals()
    assert list(after.columns) == list(before.columns)
    assert len(after) == len(before) > 0
    result = CliRunner().invoke(main, ["report", str(run), "--json"])
    assert result.exit_code == 0, result.output


def test_half_surrogates_become_replacement_characters() -> None:
    assert parse('{"a": "x\\ud800", "b": "\\ud83d\\ude00"}') == {"a": "x?", "b": "\U0001f600"}
    with pytest.raises(MismatchError):
        parse(DEEP)
