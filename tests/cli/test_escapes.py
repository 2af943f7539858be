"""Text from outside reaches neither stream with characters that control a terminal."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from loadcell.cli import main
from loadcell.execution.progress import LineProgress
from loadcell.model.message import as_written
from loadcell.model.printable import json_printable, printable

DATA = Path(__file__).resolve().parent.parent / "data" / "schema-1" / "results"
#: A window's title, a colour, a C1 control sequence, a reversed direction, a line separator.
HOSTILE = "\x1b]0;pwned\x07\x1b[31m\x9b31m\u202egnp.exe\u2066\u2028\r[/] [link=x]"
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def call(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(main, [*map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "A fault in loadcell" not in result.output
    return result


def change(file: Path, **values: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run whose title, state, reasons and errors are somebody's."""
    path = Path(
        shutil.copytree(DATA / "failed" / "20261122T221924Z-8570", tmp_path / "results" / "p" / "r-1")
    )
    change(path / "run.json", title=HOSTILE, question=HOSTILE, plan_name=HOSTILE, state=HOSTILE)
    change(path / "run.json", labels={"a": HOSTILE, HOSTILE: ""}, about={HOSTILE: HOSTILE})
    for file in path.glob("trials/*/trial.json"):
        change(
            file, reason=HOSTILE, reason_code=None, advice=HOSTILE, notes=[HOSTILE],
            errors=[{"code": "42P01", "count": 1, "message": HOSTILE, "meaning": HOSTILE}],
        )  # fmt: skip
    return path


@pytest.mark.parametrize(
    "words",
    [["show"], ["show", "TRIAL"], ["list"], ["compare"], ["report"], ["query"], ["history"], ["clean"]],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_no_command_prints_them(words: list[str], as_json: bool, run: Path, tmp_path: Path) -> None:
    trial = next(run.glob("trials/[!.]*")).name
    arguments: dict[str, list[str | Path]] = {
        "show": ["show", run, *([trial] if len(words) > 1 else [])],
        "list": ["list", run.parent.parent],
        "compare": ["compare", run, run],
        "report": ["report", run, *([] if as_json else ["--format", "md"])],
        "query": ["query", f"SELECT *, '{HOSTILE}' AS \"{HOSTILE}\" FROM trials", run],
        "clean": ["clean", "--keep", "0", "--results", run.parent.parent],
        "history": ["history", HOSTILE, "--results", run.parent.parent],
    }
    result = call(*arguments[words[0]], *(["--json"] if as_json else []))
    for stream in (result.stdout, result.stderr):
        assert not CONTROLS.search(stream)
    if as_json and words[0] in ("show", "list", "query"):
        assert HOSTILE in _texts(json.loads(result.stdout)), "escapes of JSON keep the value"


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for item in (*value, *value.values()) for text in _texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [value] if isinstance(value, str) else []


def test_errors_of_a_call_are_printable(tmp_path: Path) -> None:
    for words in (
        ["show", HOSTILE],
        ["check", HOSTILE],
        ["import", "auto", HOSTILE],
        [HOSTILE],
        ["list", HOSTILE],
    ):
        result = call(*words)
        assert result.exit_code == 2
        assert not CONTROLS.search(result.stderr)
        assert not CONTROLS.search(result.stdout)
    plan = tmp_path / "plan.yaml"
    plan.write_text('target: {"\\e[31m\\u202e": {}}\nworkload: {}\n')
    assert not CONTROLS.search(call("check", plan).output)


def test_the_progress_of_a_run_is_printable(capsys: pytest.CaptureFixture[str]) -> None:
    LineProgress().note(as_written(HOSTILE))
    streams = capsys.readouterr()
    assert "pwned" in streams.out + streams.err
    assert not CONTROLS.search(streams.out + streams.err)


def test_characters_become_escapes() -> None:
    assert printable("a\tb\nc\r\x1b\x9b\u202e\ud800é") == "a\tb\nc\\r\\x1b\\x9b\\u202e\\ud800é".replace(
        "\\r", "\\x0d"
    )
    text = json_printable(json.dumps(HOSTILE, ensure_ascii=False))
    assert text.isprintable()
    assert json.loads(text) == HOSTILE


def test_all_output_goes_through_one_function() -> None:
    source = Path(__file__).resolve().parents[2] / "src" / "loadcell"
    offenders = [
        str(file.relative_to(source))
        for file in source.rglob("*.py")
        if re.search(
            r"click\.(echo|secho)\(|\bConsole\(\)|console\.Console\(", file.read_text(encoding="utf-8")
        )
    ]
    assert offenders == ["cli/streams.py"]
