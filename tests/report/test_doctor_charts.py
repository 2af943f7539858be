"""Charts of GC logs and of logs of services on the page of `loadcell doctor`."""

from __future__ import annotations

from pathlib import Path

from loadcell.incidents import application_logs, gc_logs
from loadcell.report.blocks import Chart
from loadcell.report.charts import collections as charts
from loadcell.report.charts import log_entries
from loadcell.report.texts import Texts


def test_pauses_and_heap_have_the_same_axis_of_time(tmp_path: Path) -> None:
    lines = ["[0.010s][info][gc] Using G1"]
    for at_s in range(10, 500, 10):
        # the heap after the later ones is not stated
        sizes = " 50M->10M(64M)" if at_s < 100 else ""
        lines.append(f"[{at_s}.000s][info][gc] GC({at_s}) Pause Remark{sizes} 5.000ms")
    lines.append("[620.000s][info][gc] Heap region size: 1M")
    path = tmp_path / "gc.log"
    path.write_text("\n".join(lines) + "\n")
    [jvm] = gc_logs.read([(path, "gc.log")]).jvms
    blocks = charts.draw(jvm, 1, Texts("en"))
    drawings = [block for block in blocks if isinstance(block, Chart)]
    assert [drawing.id for drawing in drawings] == ["chart-pauses-1", "chart-heap-1"]
    scales = [drawing.spec["layer"][0]["encoding"]["x"]["scale"] for drawing in drawings]
    assert scales == [{"domain": [0, 619.99], "nice": False}] * 2


def log(path: Path, begin_s: int, end_s: int) -> tuple[Path, str]:
    """A log with an entry each second."""
    lines = (
        f"2026-11-29T10:{at_s // 60:02}:{at_s % 60:02}.7Z INFO request {at_s} done"
        for at_s in range(begin_s, end_s + 1)
    )
    path.write_text("\n".join(lines) + "\n")
    return path, path.name


def entries_chart(*files: tuple[Path, str]) -> Chart:
    evidence, _ = application_logs.read(files)
    chart = log_entries.draw(evidence, 1, Texts("en"))[0]
    assert isinstance(chart, Chart)
    return chart


def test_entries_of_several_services_are_apart_and_have_their_begin_and_end(tmp_path: Path) -> None:
    long, short, late = (
        log(tmp_path / f"{name}.log", *span)
        for name, span in (("long", (0, 1800)), ("short", (0, 600)), ("late", (1200, 1800)))
    )
    chart = entries_chart(long, short, late)
    kinds = {row["kind"] for row in chart.data["log-entries-1"]}
    assert kinds == {"late.log", "long.log", "short.log"}
    spans = {row["name"]: (row["t"], row["end"]) for row in chart.data["log-extents-1"]}
    assert spans == {"late.log": (1200, 1800), "long.log": (0, 1800), "short.log": (0, 600)}
    assert [row["name"] for row in chart.data["log-extents-1"] if row["late"]] == ["late.log"]
    assert sum(row["value"] for row in chart.data["log-entries-1"]) == 1801 + 601 + 601
    assert chart.panels == 2


def test_many_services_have_few_colours_and_no_lost_entries(tmp_path: Path) -> None:
    chart = entries_chart(*(log(tmp_path / f"s{number:02}.log", 0, 100) for number in range(20)))
    assert len({row["kind"] for row in chart.data["log-entries-1"]}) == 7
    assert sum(row["value"] for row in chart.data["log-entries-1"]) == 20 * 101
    assert len(chart.data["log-extents-1"]) == 12
    assert chart.captions[1] == "Bars of 12 of 20 logs."


def test_the_axis_of_a_log_begins_at_its_first_line(tmp_path: Path) -> None:
    chart = entries_chart(log(tmp_path / "a.log", 0, 1800))
    [view] = [view for view in chart.spec["layer"] if view["data"]["name"] == "log-entries-1"]
    assert view["encoding"]["x"]["scale"]["domain"] == [0, 1800]
    rows = chart.data["log-entries-1"]
    assert (rows[0]["t"], rows[-1]["end"]) == (0, 1800)
    assert "log-extents-1" not in chart.data
