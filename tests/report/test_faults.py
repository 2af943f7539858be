"""Tables of faults: expected against observed, on page and terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from loadcell.model import numbers
from loadcell.model.fault_judgement import (
    HungClients,
)
from loadcell.model.json import JsonObject
from loadcell.report import brief
from loadcell.report.blocks import Cell, Column
from loadcell.report.build import build
from loadcell.report.render import terminal
from loadcell.report.sections import check_evidence
from loadcell.report.texts import Texts
from loadcell.store.read import StoredRun
from report.fault_runs import (
    EXPECTED,
    MISSED,
    OF_PLAN,
    first_row,
    in_groups,
    in_terminal,
    judged_as,
    repeats,
    section,
)


def test_expected_stands_against_observed(broken: StoredRun) -> None:
    tables, _ = section(build(broken))
    row = {**first_row(tables["table-faults"]), **first_row(tables["table-fault-extent"])}
    assert row["Fault"] == "hang postgres"
    assert row["Planned"] == "at 10s for 1s"
    assert row["Expected"] == f"{EXPECTED}; {MISSED}"
    assert row["Verdict"] == f"missed ({MISSED})"
    assert row["Effect"] == "outage"
    assert row["Pause"].startswith("1,00")
    assert row["Dip"] == "100%"
    assert row["Missing operations"] == "201"
    assert row["of these made up later"].startswith(("20", "19")), "an open loop"
    assert row["Recovery from injection"].startswith("1,25")
    assert row["Errors"] == f"timeout × {numbers.whole(3 * repeats(broken))}", "those of all repeats"
    assert len(tables["table-fault-trials"].rows) == len(broken.trials)
    assert first_row(tables["table-fault-trial-values"])["Errors"] == "timeout × 3"
    assert "timeout × " in in_terminal(broken, "en")


@pytest.mark.parametrize(("lang", "verdict"), [("en", "missed"), ("zh", "未满足")])
def test_expectations_of_the_plan_are_listed_once_below_the_faults(
    broken: StoredRun, lang: str, verdict: str
) -> None:
    """They are judged by all faults of a trial together, and belong to no row."""
    tables, _ = section(build(broken, lang))
    [row] = tables["table-fault-expectations"].rows
    assert [cell.text for cell in row[:3]] == [OF_PLAN, verdict, "201"]
    assert not any(OF_PLAN in cell.text for row in tables["table-faults"].rows for cell in row)
    assert OF_PLAN in in_terminal(broken, lang).partition("hang postgres")[2]


@pytest.mark.parametrize(("lang", "title", "effect"), [("en", "Fault", "outage"), ("zh", "故障", "中断")])
def test_the_terminal_has_the_table(broken: StoredRun, lang: str, title: str, effect: str) -> None:
    shown = in_terminal(broken, lang)
    assert title in shown
    assert effect in shown
    assert "hang postgres" in shown


def test_a_longest_request_is_one_over_a_second(broken: StoredRun) -> None:
    tables, _ = section(build(judged_as(broken, hung=HungClients(2, 0.25, 1.2))))
    assert first_row(tables["table-fault-trial-values"])["Longest request over 1 s"] == "1.2 s"


@pytest.mark.parametrize(
    ("lang", "effects"), [("en", ["dip", "none", "outage"]), ("zh", ["下降", "无", "中断"])]
)
def test_each_client_group_has_a_row(broken: StoredRun, lang: str, effects: list[str]) -> None:
    """All clients together had a dip with a pause of 50 ms."""
    tables, _ = section(build(in_groups(broken), lang))
    titles = [column.title for column in tables["table-faults"].columns]
    rows = tables["table-faults"].rows[:3]
    at = titles.index("Effect" if lang == "en" else "影响")
    assert [row[at].text for row in rows] == effects
    assert [row[2].text for row in rows][1:] == ["read", "write"]
    assert not rows[1][3].text, "planned once"
    assert "3,120 ms" in [cell.text for cell in tables["table-fault-extent"].rows[2]]
    assert "3,120 ms" in in_terminal(in_groups(broken), lang)


@pytest.mark.parametrize("width", [100, 80])
def test_tables_of_faults_fit_the_terminal(
    broken: StoredRun, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    """Expectations are broken at spaces only."""
    monkeypatch.setenv("COLUMNS", str(width))
    out = io.StringIO()
    console = Console(file=out, width=width, highlight=False, color_system=None)
    terminal.render(brief.of_run(in_groups(broken), "en"), console)
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    assert any("pause" in line for line in lines)


def test_words_of_folded_columns_are_not_broken() -> None:
    columns = [
        Column("Expected", folds=True),
        Column("Text", many=True),
        Column("Recovery", figure=True, folds=True),
    ]
    row = [
        Cell("latency.p99 < 5s; lost_writes == 0"),
        Cell("word " * 20),
        Cell("unknown (under 10 s judged)"),
    ]
    widths = terminal.column_widths(columns, [row], 34, complete=True)
    assert widths == [11, 10, 10]


@pytest.mark.parametrize(("lang", "text"), [("en", "at 10s for 1s"), ("zh", "第 10 s 注入，持续 1 s")])
def test_the_planned_time_is_in_words(broken: StoredRun, lang: str, text: str) -> None:
    tables, _ = section(build(broken, lang))
    assert text in [cell.text for cell in tables["table-faults"].rows[0]]


def test_chinese_evidence_and_expressions_have_no_english_states(broken: StoredRun) -> None:
    detail: JsonObject = {"faults": ["hang storage.brick-2: undone"], "groups": {"read": "noticed"}}
    shown = check_evidence.written("faults", detail, Texts("zh"))
    assert "hang storage.brick-2：已撤销" in shown
    assert "read 有警告" in shown
    tables, _ = section(build(broken, "zh"))
    row = first_row(tables["table-faults"])
    assert row["预期"] == f"{EXPECTED}; {MISSED}"
    assert row["判定"] == f"未满足（{MISSED}）"
