"""Charts of single cores, disks, interfaces and threads: folded, the busiest of them, of bounded size."""

from __future__ import annotations

import numpy as np
import pytest

from loadcell.model.panels import Line, Panel, all_panels
from loadcell.report.blocks import Chart, Details, Report, Section
from loadcell.report.charts.parts import MOST_LINES, by_part
from loadcell.store.frames import Frame
from loadcell.systems.postgres.monitor.samples import REPLICATION_TABLE

PANEL = Panel("host.cores", "axis.cores", (Line("cpu_busy_percent", ""),), position=80, by="core")
TYPES = {"trial": "text", "t_s": "number", "core": "text", "cpu_busy_percent": "number"}


def values(frame: Frame, column: str) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in frame.numbers(column)]


def test_each_part_is_a_line_and_each_instant_a_row() -> None:
    rows = [
        ("a", 1.0, "cpu0", 10.0),
        ("a", 1.0, "cpu1", 90.0),
        ("a", 2.0, "cpu1", 80.0),
        ("b", 1.0, "cpu0", 20.0),
    ]
    panel, frame = by_part(PANEL, Frame.from_rows(TYPES, rows))
    assert [line.proper for line in panel.lines] == ["cpu1", "cpu0"], "the busiest first"
    assert frame.text("trial").tolist() == ["a", "a", "b"]
    assert values(frame, panel.lines[0].column) == [90, 80, None]
    assert values(frame, panel.lines[1].column) == [10, None, 20]


def test_of_many_parts_the_busiest_are_drawn() -> None:
    rows = [("a", float(second), f"cpu{n}", float(n)) for second in range(3) for n in range(100)]
    panel, frame = by_part(PANEL, Frame.from_rows(TYPES, rows))
    assert [line.proper for line in panel.lines] == [f"cpu{n}" for n in range(99, 99 - MOST_LINES, -1)]
    assert len(frame) == 3


def test_threads_with_one_name_are_the_busiest_of_them_and_the_total_is_no_line() -> None:
    types = {"trial": "text", "t_s": "number", "tid": "number", "name": "text", "cpu_percent": "number"}
    rows = [("a", 1.0, 0.0, "total", 150.0), ("a", 1.0, 7.0, "worker", 90.0), ("a", 1.0, 8.0, "worker", 60.0)]
    threads = Panel("target.threads", "axis.threads-cpu", (Line("cpu_percent", ""),), position=85, by="name")
    panel, frame = by_part(threads, Frame.from_rows(types, rows))
    assert [line.proper for line in panel.lines] == ["worker"]
    assert values(frame, panel.lines[0].column) == [90]


def test_each_standby_has_its_lag_in_bytes_and_in_time() -> None:
    lags = [panel for panel in all_panels() if panel.source == "postgres.replication"]
    assert [panel.lines[0].column for panel in lags] == ["replay_lag_bytes", "replay_lag_ms"]
    assert {*REPLICATION_TABLE.columns} >= {panel.lines[0].column for panel in lags}
    types = {"trial": "text", "t_s": "number", "standby": "text", "replay_lag_bytes": "number"}
    rows = [("a", 1.0, "standby_1", 2048.0), ("a", 1.0, "standby_2", 4096.0)]
    panel, _ = by_part(lags[0], Frame.from_rows(types, rows))
    assert [line.proper for line in panel.lines] == ["standby_2", "standby_1"]
    assert panel.lines[0].divide == 1024


@pytest.mark.parametrize("folded", [False, True])
def test_a_report_has_charts_that_are_folded_away(folded: bool) -> None:
    chart = Chart("chart-parts", "Parts", {}, {}, [])
    section = Section("series", "", [Details("Parts", [chart]) if folded else chart])
    report = Report("en", "", "", "", (), [section])
    assert report.charts() == [chart]
