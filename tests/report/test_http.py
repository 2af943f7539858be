"""The section of HTTP: ab's names, a row a treatment, in both languages; none where nothing was HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fake_runs import two_treatments, write_run
from loadcell.report.blocks import Chart
from loadcell.report.build import build
from loadcell.report.render.markdown import render
from loadcell.report.sections.http import _time
from loadcell.store.read import read_run


def stage(count: int, mean: float) -> dict[str, Any]:
    times = {"mean_ms": mean, "stdev_ms": 1.0, "min_ms": 0.5, "p50_ms": 2.0, "max_ms": 7.0}
    return {"kind": "stage", "succeeded": count, "failed": 0, "service": {"count": count, **times}}


def page(home: Path, lang: str, *, http: bool = True, change: Callable[[Any], None] = lambda _: None) -> str:
    """The report of a run whose trials were of HTTP, or were not."""
    return render(build(read_run(run(home, http=http, change=change)), lang)).replace("\\", "")


def run(home: Path, *, http: bool = True, change: Callable[[Any], None] = lambda _: None) -> Path:
    """A run of that kind."""
    path = write_run(home / "run", two_treatments())
    for file in path.glob("trials/*/trial.json"):
        document = json.loads(file.read_text())
        if http and document["totals"]:
            document["unit"] = "request"
            document["measure"]["duration_s"] = 30.0
            document["totals"] |= {
                "statuses": {"2xx": 6_000, "5xx": 3_000},
                "received_bytes_per_s": 2_000_000.0,
            }
            document["totals"]["service"] = stage(6_000, 4.0)["service"]
            document["operations"] = {"connect": stage(60, 3.0), "first_byte": stage(6_000, 2.5)}
            document["errors"] = [
                {
                    "code": "http-500",
                    "operation": "transaction",
                    "count": 3_000,
                    "message": "",
                    "meaning": "",
                },
                {"code": "reset", "operation": "transaction", "count": 4, "message": "", "meaning": ""},
            ]
            change(document)
        file.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_it_has_ab_s_metrics_under_ab_s_names(tmp_path: Path, lang: str) -> None:
    text = page(tmp_path, lang)
    for name in (
        "Complete requests",
        "Non-2xx responses",
        "Requests per second",
        "Time per request",
        "Waiting",
    ):
        assert name in text
    [row] = [line for line in text.splitlines() if line.startswith("| 4 |") and "0 / 4 / 0 / 0" in line]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[1:5] == ["9,000", "4", "0 / 4 / 0 / 0", "3,000"]
    assert "300" in cells[5]
    rows = [line for line in text.splitlines() if line.startswith("| 4 |") and "Connect" in line]
    assert any("0.0300" in line for line in rows), "60 connections of 3 ms over 6000 requests"


def test_charts_of_all_treatments_come_before_its_tables(tmp_path: Path) -> None:
    """16 treatments have 96 rows of these tables: nobody scrolls through them to the first chart."""
    sections = build(read_run(run(tmp_path))).sections
    names = [section.id for section in sections]
    drawn = [section.id for section in sections if any(isinstance(block, Chart) for block in section.blocks)]
    assert names.index("results") < names.index(drawn[0]) < names.index("http")


def rows(text: str, stage: str) -> list[list[str]]:
    """The metrics of a stage, a row per treatment."""
    lines = [line for line in text.splitlines() if f"| {stage} |" in line]
    return [[cell.strip() for cell in line.strip("| ").split("|")][-5:] for line in lines]


def test_where_connections_are_used_again_processing_is_all_of_it(tmp_path: Path) -> None:
    def reused(document: Any) -> None:
        document["operations"]["connect"] = {"kind": "stage", "succeeded": 0, "failed": 0, "service": None}

    text = page(tmp_path, "en", change=reused)
    assert rows(text, "Processing") == rows(text, "Total")
    assert "–" not in str(rows(text, "Processing"))
    assert {figure for row in rows(text, "Connect") for figure in row} == {"0"}


def test_what_nothing_is_known_of_has_no_row_and_no_column(tmp_path: Path) -> None:
    def failed(document: Any) -> None:
        document["totals"]["service"] = None
        document["schedule"] = {"arrivals": "constant"}

    text = page(tmp_path, "en", change=failed)
    assert rows(text, "Waiting")
    assert not any(rows(text, stage) for stage in ("Connect", "Processing", "Total"))
    assert "| measured mean" not in text
    assert "| Time per request" not in text, "an open loop's connections rest between requests"


def test_of_connections_that_are_all_kept_no_digits_are_made_up() -> None:
    written = [_time(ms) for ms in (0.0, 0.000178, 0.001, 0.03, 12.345)]
    assert written == ["0", "<0.001", "0.00100", "0.0300", "12.3"]


def test_there_is_none_where_nothing_was_http(tmp_path: Path) -> None:
    assert "Non-2xx" not in page(tmp_path, "en", http=False)
