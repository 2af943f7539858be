"""Levels that measure different quantities: the values of each are shown, and none are compared."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from fake_runs import Shape, write_run
from loadcell.report import brief
from loadcell.report.blocks import Table, Tiles
from loadcell.report.build import build
from loadcell.report.render import terminal
from loadcell.store.read import StoredRun, read_run

PROBES = {"cpu": {"cpu": {}}, "copy": {"memory": {"test": "copy"}}, "disk": {"disk": {"access": "read"}}}


@pytest.fixture(scope="module")
def probes(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    """A run of three probes."""
    shape = Shape(factors={"probe": list(PROBES)}, monitors=False, intervals=False)
    path = write_run(tmp_path_factory.mktemp("probes") / "run", shape)
    document = json.loads((path / "run.json").read_text(encoding="utf-8"))
    for entry in document["treatments"]:
        entry["settings"]["workload"] = {"probe": PROBES[entry["levels"]["probe"]]}
    (path / "run.json").write_text(json.dumps(document), encoding="utf-8")
    return read_run(path)


def words(path: StoredRun, lang: str) -> str:
    """The output on a terminal."""
    out = io.StringIO()
    terminal.render(
        brief.of_run(path, lang), Console(file=out, width=200, highlight=False, color_system=None)
    )
    return out.getvalue()


def test_the_page_shows_every_figure_and_ranks_none(probes: StoredRun) -> None:
    sections = {section.id: section for section in build(probes).sections}
    assert sections.keys().isdisjoint({"curves", "effects", "recommendation"})
    table = next(block for block in sections["results"].blocks if isinstance(block, Table))
    assert [row[1].text for row in table.rows] == list(PROBES)
    assert all(cell.bar is None for row in table.rows for cell in row)
    assert all(row[2].text != "–" for row in table.rows)
    [tiles] = [block for block in sections["summary"].blocks if isinstance(block, Tiles)]
    assert "Highest throughput" not in {tile.name for tile in tiles.tiles}


@pytest.mark.parametrize(
    ("lang", "sentence", "absent"),
    [
        ("en", "The treatments measure 3 different quantities", "highest median"),
        ("zh", "各参数组合测量的是 3 种不同的指标", "中位数最高"),
    ],
)
def test_the_terminal_says_so_too(probes: StoredRun, lang: str, sentence: str, absent: str) -> None:
    output = words(probes, lang)
    assert sentence in output
    assert absent not in output


def test_one_probe_over_sizes_is_ranked(tmp_path: Path) -> None:
    path = write_run(
        tmp_path / "run", Shape(factors={"size": ["8KiB", "4MiB"]}, monitors=False, intervals=False)
    )
    assert "highest median" in words(read_run(path), "en")
