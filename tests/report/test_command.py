"""`loadcell report RUN`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from lines import CliRunner
from loadcell.cli import main

Runs = Callable[[str], Path]


def call(*arguments: str | Path) -> Result:
    """Call it as a user does, but in this process."""
    return CliRunner().invoke(main, ["report", *map(str, arguments)], standalone_mode=False)


def test_it_writes_both_formats_into_the_runs_directory(runs: Runs) -> None:
    run = runs("two")
    done = call(run)
    assert done.output.split() == [str(run / "report.html"), str(run / "report.md")]
    assert all(Path(path).stat().st_size > 1000 for path in done.output.split())


@pytest.mark.parametrize(
    ("arguments", "name"),
    [(["--format", "md"], "report.md"), (["--format", "html", "--lang", "zh"], "report.html")],
)
def test_one_format_goes_to_the_chosen_path(
    runs: Runs, tmp_path: Path, arguments: list[str], name: str
) -> None:
    call(runs("two"), *arguments, "--out", tmp_path / "there")
    assert (tmp_path / "there" / name).is_file()


def test_a_file_name_says_the_format(runs: Runs, tmp_path: Path) -> None:
    done = call(runs("two"), "--out", tmp_path / "mine.html")
    assert done.output.split() == [str(tmp_path / "mine.html")]
    assert (tmp_path / "mine.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "x.pdf"], ".pdf file; reports are .html or .md"),
        (["--out", "x.html", "--format", "html", "--format", "md"], "is one file"),
        (["--out", "x.html", "--format", "md"], "does not end in .md"),
    ],
)
def test_impossible_requests_are_reported(runs: Runs, arguments: list[str], message: str) -> None:
    done = call(runs("two"), *arguments)
    assert done.exception is not None
    assert message in str(getattr(done.exception, "message", done.exception))


def test_a_path_without_a_run_is_reported_with_a_remedy(tmp_path: Path) -> None:
    done = call(tmp_path)
    assert "there is no run" in str(getattr(done.exception, "message", ""))


def test_a_path_that_cannot_be_written_is_reported(runs: Runs, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    done = call(runs("two"), "--format", "html", "--out", tmp_path / "file" / "below")
    assert "cannot write" in str(getattr(done.exception, "message", ""))


def test_json_is_the_analysed_result(runs: Runs) -> None:
    document = json.loads(call(runs("many factors"), "--json").output)
    first = document["treatments"][0]
    assert first["throughput_per_s"]["descriptive_only"] is False
    assert first["throughput_per_s"]["interval"]["coverage"] == 0.95
    assert len(first["throughput_per_s"]["repeats"]) == 6
    assert {finding["kind"] for finding in document["findings"]} >= {
        "throughput",
        "spread",
        "trials",
        "errors",
        "trust",
    }
