"""Memory that servers under valgrind lost: on the page and on the terminal."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from fake_runs import Shape, write_run
from loadcell.report import brief
from loadcell.report.blocks import Sentences, Table
from loadcell.report.build import build
from loadcell.report.render import terminal
from loadcell.report.texts import Texts
from loadcell.store.read import StoredRun, read_run

MEMORY = {
    "lost": {
        "definite": {"bytes": 1_234_567, "blocks": 4_321},
        "indirect": {"bytes": 0, "blocks": 0},
        "possible": {"bytes": 1_100_000, "blocks": 12},
    },
    "errors": 3,
    "record_count": 1,
    "records": [{"kind": "definite", "bytes": 16, "blocks": 1, "stack": ["malloc", "main"]}],
}


@pytest.fixture(scope="module")
def examined(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    """A run whose trials were looked into."""
    path = write_run(tmp_path_factory.mktemp("memory") / "run", Shape(monitors=False, intervals=False))
    for file in path.glob("trials/*/trial.json"):
        record = json.loads(file.read_text(encoding="utf-8"))
        file.write_text(json.dumps({**record, "memory": MEMORY}), encoding="utf-8")
    return read_run(path)


def lines(run: StoredRun, lang: str = "en") -> Iterator[str]:
    """The output on a terminal of 80 columns."""
    out = io.StringIO()
    terminal.render(brief.of_run(run, lang), Console(file=out, width=80, highlight=False, color_system=None))
    yield from out.getvalue().splitlines()


@pytest.mark.parametrize(
    ("lang", "title", "figures"),
    [
        ("en", "Bytes lost, and in how many blocks", ["1,234,567 in 4,321", "1,100,000 in 12"]),
        ("zh", "丢失的字节数与块数", ["1,234,567（4,321 块）", "1,100,000（12 块）"]),
    ],
)
def test_the_terminal_has_the_values_of_every_trial(
    examined: StoredRun, lang: str, title: str, figures: list[str]
) -> None:
    shown = list(lines(examined, lang))
    assert title in shown
    rows = [line for line in shown if line.startswith("0") and "1,234,567" in line]
    assert len(rows) == len(examined.trials) == 4
    assert all(figure in row for row in rows for figure in figures)
    assert all(row.rstrip().endswith("3") for row in rows)
    assert all(cell_len(line) <= 80 for line in shown if str(examined.path) not in line)


def test_they_are_those_of_the_page(examined: StoredRun) -> None:
    [section] = [section for section in build(examined).sections if section.id == "memory"]
    summary = next(block for block in section.blocks if isinstance(block, Table))
    assert [cell.text for cell in summary.rows[0][1:]] == [
        "1,234,567 in 4,321",
        "0",
        "1,100,000 in 12",
        "–",
        "–",
        "3",
    ]


@pytest.mark.parametrize(
    ("lang", "sentence"),
    [
        ("en", "lost 1.18 MiB definitely, 0 B indirectly and 1.05 MiB possibly"),
        ("zh", "确定丢失内存 1.18 MiB，间接丢失 0 B，可能丢失 1.05 MiB"),
    ],
)
def test_the_summary_begins_with_what_was_lost(examined: StoredRun, lang: str, sentence: str) -> None:
    summary = build(examined, lang).sections[0]
    sentences = next(block for block in summary.blocks if isinstance(block, Sentences))
    texts = [Texts(lang).message(finding.message) for finding in sentences.findings]
    assert any(sentence in text for text in texts), texts


def test_a_run_without_valgrind_says_nothing_of_it(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path / "run", Shape(monitors=False, intervals=False)))
    assert not any("blocks" in line for line in lines(run))
    assert all(section.id != "memory" for section in build(run).sections)
