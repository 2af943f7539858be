"""Bounds of expectations in the charts of throughput and response times."""

from __future__ import annotations

from pathlib import Path

import pytest

from fake_runs import Shape, write_run
from loadcell.report.blocks import Chart
from loadcell.report.build import build
from loadcell.store.read import read_run


def charts(path: Path, lang: str = "en") -> dict[str, Chart]:
    sections = build(read_run(path), lang).sections
    return {block.id: block for section in sections for block in section.blocks if isinstance(block, Chart)}


def bounds(chart: Chart) -> list[tuple[object, object]]:
    rows = (row for rows in chart.data.values() for row in rows)
    return [(row["treatment"], row["value"]) for row in rows if row.get("role") == "bound"]


def median(chart: Chart) -> float:
    return max(row["value"] for rows in chart.data.values() for row in rows if row.get("role") == "median")


@pytest.fixture
def usual(tmp_path: Path) -> dict[str, Chart]:
    return charts(write_run(tmp_path / "usual", Shape()))


def test_a_bound_near_the_values_is_drawn(tmp_path: Path, usual: dict[str, Chart]) -> None:
    rate = round(median(usual["chart-throughput"]))
    expect = (f"throughput > {rate}/s", "latency.p99 < 1000h", "errors == 0")
    drawn = charts(write_run(tmp_path / "run", Shape(expect=expect)))
    assert bounds(drawn["chart-throughput"]) == [(f"throughput > {rate}/s", rate)]
    assert any(f"throughput > {rate}/s" in text for text in drawn["chart-throughput"].captions)
    assert bounds(drawn["chart-latency"]) == [], "too far out"
    assert not any("1000h" in text for text in drawn["chart-latency"].captions)


def test_a_bound_of_a_response_time_is_in_the_unit_of_the_axis(
    tmp_path: Path, usual: dict[str, Chart]
) -> None:
    latency = median(usual["chart-latency"])
    micro = any("µs" in str(value) for value in (usual["chart-latency"].spec,))
    unit = "us" if micro else "ms"
    text = f"latency.p99 < {latency:.3f}{unit}"
    drawn = charts(write_run(tmp_path / "run", Shape(expect=(text,))))
    [(name, value)] = bounds(drawn["chart-latency"])
    assert name == text
    assert value == pytest.approx(latency, abs=0.001)


def test_without_expectations_there_are_no_lines(tmp_path: Path, usual: dict[str, Chart]) -> None:
    assert bounds(usual["chart-throughput"]) == bounds(usual["chart-latency"]) == []
