"""Charts of a GC log on the page of `loadcell doctor`."""

from __future__ import annotations

from pathlib import Path

from loadcell.incidents import gc_logs
from loadcell.report.blocks import Chart
from loadcell.report.charts import collections as charts
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
