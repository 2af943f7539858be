"""The heap of systems under massif over time: a line a trial."""

from __future__ import annotations

import csv
from pathlib import Path

import altair as alt

from loadcell.report.blocks import Chart, DataRow
from loadcell.report.charts import chart, style
from loadcell.report.context import ReportContext
from loadcell.report.palette import SERIES
from loadcell.store.layout import HEAP

#: The data source of the lines.
SOURCE = "heap"
#: Lines that are distinguishable.
MOST_TRIALS = len(SERIES)
_MIB = 2**20


@chart("memory", 1)
def draw(context: ReportContext) -> Chart | None:
    """None where no trial ran under massif; of many, those with the largest heaps."""
    texts = context.texts
    peaks = {record.name: record.heap.peak_bytes for record in context.stored.trials if record.heap}
    lengths = {
        record.name: record.measure.duration_s if record.measure else 0.0 for record in context.stored.trials
    }
    rows = {name: _rows(name, context.stored.directory(name) / HEAP, lengths[name]) for name in peaks}
    drawable = [name for name in peaks if rows[name]]
    if not drawable:
        return None
    shown = sorted(drawable, key=lambda name: -peaks[name])[:MOST_TRIALS]
    captions = [texts("caption.heap")]
    if len(shown) < len(drawable):
        captions.append(texts("caption.heap.most", shown=len(shown), count=len(drawable)))
    lines = alt.Chart().mark_line(interpolate="step-after").encode(
        x=alt.X("t:Q", title=texts("axis.time")),
        y=alt.Y("value:Q", title=texts("axis.heap"), scale=alt.Scale(zero=True)),
        color=alt.Color(
            "trial:N",
            scale=alt.Scale(domain=shown, range=list(SERIES[: len(shown)])),
            legend=alt.Legend(title=texts("column.trial"), labelLimit=300) if len(shown) > 1 else None,
        ),
        tooltip=[
            alt.Tooltip("trial:N", title=texts("column.trial")),
            alt.Tooltip("t:Q", title=texts("axis.time")),
            alt.Tooltip("value:Q", title=texts("axis.heap")),
        ],
    )  # fmt: skip
    data = [row for name in shown for row in rows[name]]
    return Chart(
        "chart-heap",
        texts("chart.heap"),
        style.document(style.layered(lines, height=style.CHART, data={"name": SOURCE})),
        {SOURCE: data},
        captions,
        legend=len(shown) > 1,
    )


def _rows(trial: str, file: Path, until_s: float) -> list[DataRow]:
    """Samples of one trial; none where the file is missing or has no sample.

    massif samples when memory is allocated or freed: after the last sample the heap stayed as it was.
    """
    if not file.is_file():
        return []
    rows: list[DataRow] = []
    with file.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            try:
                time_s, size = float(row["t_s"]), float(row["heap_bytes"])
            except (KeyError, TypeError, ValueError):
                continue  # a line that was cut
            rows.append({"trial": trial, "t": time_s, "value": round(size / _MIB, 4)})
    if rows and rows[-1]["t"] < until_s:
        rows.append({**rows[-1], "t": until_s})
    return rows
