"""The output on a terminal of 80 columns."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from loadcell.report import brief
from loadcell.report.render import terminal
from loadcell.store.read import StoredRun

Stored = Callable[[str], StoredRun]


def printed(run: StoredRun, lang: str = "en", width: int = 80) -> str:
    """The output on a terminal of this width."""
    out = io.StringIO()
    terminal.render(
        brief.of_run(run, lang), Console(file=out, width=width, highlight=False, color_system=None)
    )
    return out.getvalue()


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize(
    "name", ["two", "sweep", "trouble", "rates", "many factors", "hostile", "nothing measured"]
)
def test_it_fits_80_columns(stored: Stored, name: str, lang: str) -> None:
    """But for paths and commands, which are never broken so that they can be copied."""
    run = stored(name)
    for line in printed(run, lang).splitlines():
        assert cell_len(line) <= 80 or str(run.path) in line, line


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("width", [50, 61, 72, 77, 80])
def test_the_section_behind_a_sentence_is_on_one_line(stored: Stored, lang: str, width: int) -> None:
    """`[结` and `果]` on the next line is read by nobody."""
    output = printed(stored("sweep"), lang, width)
    assert any("[" in line for line in output.splitlines())
    assert [line for line in output.splitlines() if line.count("[") != line.count("]")] == []


def test_values_are_never_cut_short(stored: Stored) -> None:
    output = printed(stored("many factors"))
    for figure in ("1,197", "1,174–1,228", "5,785", "5,661–6,005", "13.3", "6/6"):
        assert figure in output


def test_it_says_the_summary_and_what_to_look_at_next(stored: Stored) -> None:
    output = " ".join(printed(stored("trouble")).split())
    assert "clients = 32 had the highest median throughput: 3,274 transactions/s" in output
    assert "12 of 18 trials succeeded; 1 failed, 1 timed out, 1 aborted, 1 invalid, 2 not run." in output
    assert "002-clients=1-r1/output.log" in output
    assert "loadcell run --resume" in output


def test_an_open_loop_shows_offered_load_beside_completed_load(stored: Stored) -> None:
    output = printed(stored("rates"))
    head, *rows = [
        line.split()
        for line in output.splitlines()
        if "/s" in line and not line.startswith(("·", "✓", "✕", " "))
    ]
    assert head[:3] == ["rate", "offered/s", "tx/s"]
    assert [row[:3] for row in rows[:2]] == [["500/s", "500.0", "500.0"], ["1000/s", "1,000", "1,000"]]
    assert rows[3][:2] == ["16000/s", "16,000"]
    assert rows[3][-1] == "0/2"
    sentences = " ".join(output.split())
    assert "The highest sustained rate was 2,000 requests/s (rate = 2000/s)." in sentences
    assert "rate = 16000/s overloaded the target: offered 16,000 requests/s" in sentences
    assert "6 of 8 trials succeeded; 2 failed." in sentences


def test_many_treatments_are_cut_and_the_best_is_kept(stored: Stored) -> None:
    output = printed(stored("two hundred"))
    assert "60 more rows" in output
    assert "50, 1GB" in output


def test_chinese_lines_break_between_characters_and_never_before_a_full_stop(stored: Stored) -> None:
    lines = printed(stored("trouble"), "zh").splitlines()
    assert not any(line.strip().startswith(("，", "。", "）", "；")) for line in lines)
    assert max(cell_len(line) for line in lines if line.startswith(("·", "✓", "!", "✕"))) > 70


def test_text_from_outside_is_no_markup(stored: Stored) -> None:
    output = printed(stored("hostile"), width=200)
    assert "</script><b>bold</b>{{ 7*7 }}" in output


def test_neither_charts_nor_frames_are_loaded(runs: Callable[[str], Path]) -> None:
    code = (
        "import sys; from pathlib import Path; from loadcell.store.read import read_run;"
        "from loadcell.report import brief; from loadcell.report.render import terminal;"
        "terminal.render(brief.of_run(read_run(Path(sys.argv[1])), 'en'));"
        "assert not {'altair', 'duckdb', 'vl_convert', 'jinja2'} & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(runs("two"))], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_what_was_measured_once_has_no_range(stored: Stored) -> None:
    output = printed(stored("one repeat, no series"))
    assert "  range" not in output
    assert "descriptive only." not in output
    assert "  range  " in printed(stored("two"))
    assert "95% CI" in printed(stored("many factors"))


def test_no_line_ends_with_an_opening_bracket_and_colons_are_of_the_language(stored: Stored) -> None:
    for width in range(40, 100, 7):
        lines = printed(stored("trouble"), "zh", width).splitlines()
        assert not any(line.rstrip().endswith(("（", "“", "《")) for line in lines)
    output = printed(stored("trouble"), "zh", 200)
    assert "002-clients=1-r1：失败：" in output
    assert "005-clients=2-r1：超时：" in output


def test_it_names_the_system_under_test(stored: Stored) -> None:
    assert "PostgreSQL 16.4 (embedded)" in printed(stored("two"))
    assert "PostgreSQL 16.4（内嵌）" in printed(stored("two"), "zh")
