"""Tables on narrow terminals: whole texts, whole headings, and nothing beyond the last column."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from loadcell.report.blocks import Cell, Column, Report, Section, Table
from loadcell.report.render import terminal
from loadcell.report.render.folding import heading, narrowest_heading

METRICS = Table(
    "metrics",
    "",
    [Column("Metric"), Column("Bound"), Column("Meaning", many=True)],
    [
        [
            Cell("error_rate"),
            Cell("percentage: 5%"),
            Cell("failed transactions as a share of those that ended"),
        ]
    ],
)
CHINESE = Table(
    "resources",
    "",
    [Column("clients"), *(Column(name, figure=True) for name in ("主机 CPU", "被测系统核数", "P99（毫秒）"))],
    [[Cell("1"), Cell("9%"), Cell("0.5"), Cell("8.3")]],
)


def printed(table: Table, width: int, *, is_terminal: bool = True) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, color_system=None, force_terminal=is_terminal, highlight=False)
    terminal.render(Report("en", "", "", "", (), [Section("t", "", [table])]), console)
    return out.getvalue()


def test_texts_that_would_be_cut_stand_one_below_the_other() -> None:
    text = printed(METRICS, 40)
    assert "percentage: 5%" in text
    assert "…" not in text
    assert max(map(cell_len, text.splitlines())) <= 40
    assert {"transactions", "share"} <= set(text.split())


def test_chinese_words_of_headings_are_whole() -> None:
    text = printed(CHINESE, 42)
    assert all(word in text for word in ("主机", "被测系统核数", "（毫秒）"))


def test_long_names_are_broken_after_their_separators() -> None:
    columns = [
        Column("maxmemory-policy、auto-aof-rewrite-percentage", many=True),
        *(Column("平均（微秒）", figure=True) for _ in range(4)),
    ]
    table = Table("names", "", columns, [[Cell("auto-aof-rewrite-percentage = 100"), *[Cell("1,234.5")] * 4]])
    text = printed(table, 60, is_terminal=False)
    parts = ("maxmemory-", "policy、", "auto-aof-", "percentage")
    assert all(any(part in line for line in text.splitlines()) for part in parts)
    assert not {"、", "）"} & {line.strip()[:1] for line in text.splitlines()}
    assert heading("95% 置信区间", narrowest_heading("95% 置信区间")) == [
        Text(part) for part in ("95%", "置信", "区间")
    ]


def test_headings_in_a_file_are_not_broken_where_the_table_is_wider_all_the_same() -> None:
    columns = [Column("故障"), *(Column("自注入起的恢复时间", figure=True) for _ in range(3)), Column("影响")]
    wide = Table("wide", "", columns, [[*[Cell("1")] * 4, Cell("很长的说明" * 20)]])
    assert "自注入起的恢复" in printed(wide, 80, is_terminal=False)
    numbers = [Column(f"Acknowledged {n}", figure=True) for n in range(12)]
    writes = Table("wide", "", [Column("Treatment"), *numbers], [[Cell("x" * 40), *[Cell("1")] * 12]])
    assert "Acknowledged" in printed(writes, 100, is_terminal=False)


def test_output_into_a_pipe_has_the_width_of_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = Table(
        "wide",
        "",
        [Column("clients"), *(Column(f"value{n}", figure=True) for n in range(9))],
        [[Cell("1"), *(Cell("1,000,000") for _ in range(9))]],
    )
    monkeypatch.delenv("COLUMNS", raising=False)
    assert max(map(cell_len, printed(wide, 40, is_terminal=False).splitlines())) > 40
    monkeypatch.setenv("COLUMNS", "40")
    text = printed(wide, 40, is_terminal=False)
    assert max(map(cell_len, text.splitlines())) <= 40
    assert text.count("1,000,000") == 9


def test_a_long_level_in_a_heading_is_folded_not_cut() -> None:
    table = Table(
        "levels", "", [Column("Metric", keep=True), Column("read-write-with-a-long-name", figure=True)],
        [[Cell("throughput (/s)"), Cell("5,726")]],
    )  # fmt: skip
    text = printed(table, 30)
    assert "…" not in text
    assert "read-write" in text.replace("\n", "")
