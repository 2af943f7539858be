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
from loadcell.analysis.analyse import analyse
from loadcell.analysis.finding import Finding
from loadcell.report import brief
from loadcell.report.blocks import Chart, Sentences, Table
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
        ("en", "Lost bytes and blocks", ["1,234,567 in 4,321", "1,100,000 in 12"]),
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


CLIENT = {kind: {"bytes": 64, "blocks": 2} for kind in ("definite", "indirect", "possible", "reachable")}


def with_records(path: Path, **records: object) -> StoredRun:
    """A run whose trials have these findings, and a heap over time."""
    path = write_run(path, Shape(monitors=False, intervals=False))
    for file in path.glob("trials/*/trial.json"):
        record = json.loads(file.read_text(encoding="utf-8"))
        file.write_text(json.dumps({**record, **records}), encoding="utf-8")
        lines = [
            "t_s,mono_ns,heap_bytes,overhead_bytes,client_bytes",
            "-1.0,1,0,,9",
            "0.5,2,2097152,,9",
            "0.7,3",
        ]
        (file.parent / "heap.csv").write_text("\n".join(lines) + "\n")
    return read_run(path)


def test_the_part_of_loadcell_has_a_separate_row(tmp_path: Path) -> None:
    memory = {**MEMORY, "client": CLIENT, "suppressed": 5}
    memory["lost"] = {**MEMORY["lost"], "reachable": {"bytes": 10, "blocks": 1}}  # type: ignore[dict-item]
    run = with_records(tmp_path / "run", memory=memory)
    [section] = [section for section in build(run).sections if section.id == "memory"]
    table = next(block for block in section.blocks if isinstance(block, Table))
    assert [cell.text for cell in table.rows[0][4:]] == ["10 in 1", "5", "3"]
    assert table.rows[1][0].text.endswith("loadcell (subtracted)")
    assert [cell.text for cell in table.rows[1][1:]] == ["64 in 2"] * 4 + ["–", "–"]
    assert "reachable" not in " ".join(lines(run)), "the terminal has lost memory alone"
    texts = [Texts("en").message(finding.message) for finding in build_findings(run)]
    assert any("Possibly lost (1.05 MiB) is not yet a leak" in text for text in texts)


def build_findings(run: StoredRun) -> list[Finding]:
    """All findings of a report."""
    return [
        finding
        for section in build(run).sections
        for block in section.blocks
        if isinstance(block, Sentences)
        for finding in block.findings
    ]


@pytest.mark.parametrize(
    ("lang", "title", "sentence"),
    [
        ("en", "Largest allocation stacks at the peak", "the heap peaked at 2 MiB"),
        ("zh", "峰值时最大的分配调用栈", "堆的峰值为 2 MiB"),
    ],
)
def test_the_heap_is_drawn_and_its_stacks_listed(
    tmp_path: Path, lang: str, title: str, sentence: str
) -> None:
    heap = {
        "tool": "valgrind massif", "peak_bytes": 2 * 2**20, "peak_s": 0.5, "client_bytes": 9,
        "stack_count": 1,
        "stacks": [{"bytes": 2**20, "stack": ["cache_fill", "main"]}],
    }  # fmt: skip
    run = with_records(tmp_path / "run", heap=heap)
    report = build(run, lang)
    [section] = [section for section in report.sections if section.id == "memory"]
    chart = next(block for block in section.blocks if isinstance(block, Chart))
    of_trial = [row for row in chart.data["heap"] if row["trial"] == run.trials[0].name]
    assert [(row["t"], row["value"]) for row in of_trial[:2]] == [(-1.0, 0.0), (0.5, 2.0)]
    assert of_trial[-1]["value"] == 2.0
    assert of_trial[-1]["t"] == run.trials[0].measure.duration_s
    peaks, stacks = [block for block in section.blocks if isinstance(block, Table)][:2]
    assert [cell.text for cell in peaks.rows[0][1:]] == ["2 MiB", "0.50 s", "–", "9 B"]
    assert stacks.title.startswith(title)
    assert [cell.text for cell in stacks.rows[0]] == ["1,048,576", "50%", "cache_fill ← main"]
    assert any(sentence in line for line in lines(run, lang))
    assert not any(trial.counts for trial in analyse(run.run, run.trials).trials)
