"""NUMA nodes of a machine with the distances between them, as a matrix."""

from __future__ import annotations

import altair as alt

from loadcell.model.json import JsonObject
from loadcell.report.blocks import Chart, DataRow
from loadcell.report.charts import chart, style
from loadcell.report.context import ReportContext
from loadcell.report.palette import SERIES
from loadcell.report.texts import Texts

#: More nodes give cells too small for their numbers.
MOST_NODES = 32
#: Side of a cell in pixels; and the widest matrix, which a telephone still shows.
_CELL, _WIDEST = 44, 300
#: Opacity of the nearest and of the farthest memory.
_OPACITIES = (0.06, 0.55)
#: The distance of a node's own memory (ACPI specification, SLIT).
_LOCAL = 10


@chart("environment", 10)
def _of_run(context: ReportContext) -> Chart | None:
    """The nodes of the first machine of the run that has several."""
    pictures = (of_host(host, context.texts) for host in context.stored.environment.get("hosts") or ())
    return next((picture for picture in pictures if picture is not None), None)


def of_host(host: JsonObject, texts: Texts) -> Chart | None:
    """None with one node, without distances, and with more than `MOST_NODES`."""
    rows = _rows(host)
    nodes = len({row["from"] for row in rows})
    if not 2 <= nodes <= MOST_NODES:
        return None
    side = min(_CELL * nodes, _WIDEST)
    order = sorted({row["to"] for row in rows})
    x = alt.X(
        "to:O",
        title=texts("axis.node-to"),
        sort=order,
        axis=alt.Axis(orient="top", labelAngle=0, grid=False, ticks=False, domain=False),
    )
    y = alt.Y(
        "from:O",
        title=texts("axis.node-from"),
        sort=sorted({row["from"] for row in rows}),
        axis=alt.Axis(grid=False, ticks=False, domain=False),
    )
    farthest = max(row["distance"] for row in rows)
    opacity = alt.Opacity(
        "distance:Q",
        scale=alt.Scale(domain=[_LOCAL, max(farthest, _LOCAL + 1)], range=list(_OPACITIES), clamp=True),
        legend=None,
    )
    tips = [
        alt.Tooltip("from:O", title=texts("axis.node-from")),
        alt.Tooltip("to:O", title=texts("axis.node-to")),
        alt.Tooltip("distance:Q", title=texts("axis.distance")),
    ]
    base = alt.Chart(style.data("nodes"))
    cells = base.mark_rect(color=SERIES[0], stroke="var(--line)").encode(
        x=x, y=y, opacity=opacity, tooltip=tips
    )
    values = base.mark_text(color="var(--ink)", fontSize=12 if side >= nodes * 28 else 8).encode(
        x=x, y=y, text=alt.Text("distance:Q")
    )
    return Chart(
        "chart-nodes",
        texts("chart.nodes"),
        style.document(style.layered(cells, values, width=side, height=side)),
        {"nodes": rows},
        [texts("caption.nodes"), *_devices(host, texts)],
        legend=False,
    )


def _rows(host: JsonObject) -> list[DataRow]:
    """A row a pair of nodes; none where a node does not state its distance to every other."""
    nodes = host.get("numa") or []
    names = [node["node"] for node in nodes]
    if any(len(node["distances"]) != len(nodes) for node in nodes):
        return []
    return [
        {"from": node["node"], "to": other, "distance": distance}
        for node in nodes
        for other, distance in zip(names, node["distances"], strict=True)
    ]


def _devices(host: JsonObject, texts: Texts) -> list[str]:
    """Disks and interfaces by their node, a sentence a node that has any."""
    by_node: dict[int, list[str]] = {}
    for device in [*(host.get("disks") or ()), *(host.get("network") or ())]:
        if device.get("numa_node") is not None:
            by_node.setdefault(device["numa_node"], []).append(device["name"])
    joined = texts("mark.list").join
    return [
        texts("caption.node-devices", node=node, devices=joined(names))
        for node, names in sorted(by_node.items())
    ]
