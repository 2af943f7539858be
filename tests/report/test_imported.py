"""The report of a run that was made of other tools' outputs says where its values come from, and nothing
that only a plan could do.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import machines
from ingest.made import made
from loadcell.report.blocks import Block, Code, Definitions, Report, Table
from loadcell.report.build import build
from loadcell.report.render import html, markdown
from loadcell.store.read import StoredRun, read_run

OUTPUTS = Path(__file__).parents[1] / "ingest" / "readers" / "outputs"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    """Two executions of a shell loop, and two lines that no tool printed."""
    home = tmp_path_factory.mktemp("imported")
    text = home / "result.txt"
    text.write_text(
        f"{(OUTPUTS / 'sysbench-oltp.txt').read_text()}\n<b>once more</b>: 5 of 7\nwith feeling: 9\n"
    )
    return made(home / "results", "sysbench", text)


def blocks(report: Report, section: str) -> list[Block]:
    return next(list(candidate.blocks) for candidate in report.sections if candidate.id == section)


def test_its_files_and_what_was_not_understood_are_shown(run: StoredRun) -> None:
    report = build(run, "en")
    table, settings = blocks(report, "sources")
    assert isinstance(table, Table)
    assert [cell.text for cell in table.rows[0][1:4]] == ["sysbench", "2", "2"]
    assert "<b>once more</b>: 5 of 7" in table.rows[0][4].text
    assert isinstance(settings, Definitions)
    assert "<b>once" not in html.render(report)
    text = markdown.render(report)
    assert "2 executions of sysbench were read from 1 file; loadcell itself ran no test." in text
    assert "2 lines were not understood; no value depends on them" in text


def test_nothing_that_needs_a_plan_is_reported(run: StoredRun) -> None:
    report = build(run, "en")
    text = markdown.render(report)
    for false in (
        "The whole run took",
        "Set repeats:",
        "without warm-up",
        "as written in the plan",
        "Seed",
        "a client is free",
    ):
        assert false not in text
    commands = [block.text for block in blocks(report, "reproduce") if isinstance(block, Code)]
    assert all("loadcell run" not in command for command in commands)
    assert "Throughput and times are those of the tool" in text
    assert "Import several executions of each" in text
    assert any(badge.startswith("imported 20") for badge, _ in report.badges)


def test_one_percentile_is_no_curve_but_what_times_there_are_stand_in_a_table(run: StoredRun) -> None:
    report = build(run, "en")
    (table,) = blocks(report, "percentiles")
    assert isinstance(table, Table)
    assert [column.title for column in table.columns[2:]] == ["mean (ms)", "p95 (ms)", "max (ms)"]
    assert "chart-percentiles" not in [chart.id for chart in report.charts()]


def test_parts_that_a_tool_reports_apart_are_not_ranked(tmp_path: Path) -> None:
    text = markdown.render(build(made(tmp_path, "fio", OUTPUTS / "fio.json"), "en"))
    assert "measure 2 different quantities" in text
    assert "the highest median throughput" not in text
    assert "Recommended" not in text


def test_samples_alone_are_no_executions(tmp_path: Path) -> None:
    stored = made(tmp_path, "auto", OUTPUTS / "jstat-gcutil.txt")
    report = build(stored, "en")
    text = markdown.render(report)
    assert "5 samples of jstat were read from 1 file; loadcell itself ran no test." in text
    assert "usable throughput" not in text
    assert "results" not in [section.id for section in report.sections]
    assert stored.damage == []


def test_what_a_tool_says_nothing_of_is_no_damage_and_its_failures_have_words(tmp_path: Path) -> None:
    stored = made(tmp_path, "ab", OUTPUTS / "ab-404.txt")
    text = markdown.render(build(stored, "en"))
    assert "all with non-2xx, a response with a status other than 2xx" in text
    assert "Incomplete files" not in text
    stored = made(tmp_path, "ab", OUTPUTS / "ab.txt")
    (file,) = stored.path.glob("trials/*/trial.json")
    (file.parent / "intervals.csv").write_text("t_s\n")  # not what its record knows of
    assert len(stored.intervals()) == 0


def test_it_is_written_in_chinese(run: StoredRun) -> None:
    text = markdown.render(build(run, "zh"))
    assert "从 1 个文件中读取了 sysbench 的 2 次执行" in text
    assert "有 2 行无法解析" in text
    for english in ("None", "as-written", "full"):
        assert english not in text


@pytest.mark.parametrize(("lang", "sentence"), [("en", "Machine under test"), ("zh", "被测机器")])
def test_a_machine_that_is_itself_what_is_measured_shares_nothing_with_a_target(
    tmp_path: Path, lang: str, sentence: str
) -> None:
    few = ("cpu-1", "latency-4KiB")
    text = markdown.render(build(read_run(machines.write_baseline(tmp_path / "a", only=few)), lang))
    assert sentence in text
    assert "shared this machine" not in text
    assert "会互相争用" not in text
