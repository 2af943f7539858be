"""Names that are no UTF-8, too long for the file system, or lead out of the results."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from loadcell.cli import main

LONG = "x" * 300


@pytest.mark.parametrize(
    "words",
    [
        *(["show", LONG], ["report", LONG], ["compare", LONG, LONG], ["check", LONG], ["run", LONG]),
        *(["list", LONG], ["import", "auto", LONG], ["history", LONG], ["run", "--resume", LONG]),
        *(["query", "FROM trials", LONG], ["query", "FROM trials", "--results", LONG]),
        *(["plans", "show", LONG], ["baseline", "set", "a", LONG]),
    ],
)
def test_a_name_that_is_too_long_is_a_wrong_call(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, words)
    assert "A fault in loadcell" not in result.output
    assert result.exit_code == 2, result.output


@pytest.mark.parametrize("name", ["../up", "/tmp/up", "a/b", "..", ".hidden", "", " ", "a\nb", "y" * 201])
def test_an_import_stays_in_the_results(name: str, tmp_path: Path) -> None:
    output = tmp_path / "any.txt"
    output.write_text("text")
    words = ["import", "auto", str(output), "--results", str(tmp_path / "results"), "--name", name]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2
    assert "cannot be the name of a directory" in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["any.txt"]


def test_a_file_whose_name_is_no_utf_8_is_imported(tmp_path: Path) -> None:
    output = os.fsencode(tmp_path) + b"/caf\xe9.csv"
    with open(output, "wb") as file:  # noqa: PTH123 - a name of bytes
        file.write(b"clients,tps\n1,100\n2,190\n")
    done = subprocess.run(
        [
            sys.executable, "-m", "loadcell", "import", "csv", output, "--column", "throughput=tps",
            "--column", "clients=clients", "--out", str(tmp_path / "results"), "--json",
        ],
        capture_output=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    run = Path(json.loads(done.stdout)["run"])
    assert (run / "report.html").is_file()
    assert "caf" in (run / "run.json").read_text(encoding="utf-8")


def test_a_nul_byte_in_a_value_is_a_mistake(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text('target: host\nworkload: {tool: {command: "true", env: {A: "x\\0y"}}}\n')
    result = CliRunner().invoke(main, ["check", str(plan)])
    assert result.exit_code == 2
    assert "workload.tool.env.A: contains a NUL byte" in result.output
