"""Types of transaction, where a workload has several: how often each came, and how long it took."""

from __future__ import annotations

from loadcell.analysis.treatments import Treatment
from loadcell.analysis.types import FIGURES, OfType
from loadcell.report import numbers
from loadcell.report.blocks import Cell, Column, Table
from loadcell.report.scene import Scene
from loadcell.report.sections.pictures import title


def table(scene: Scene) -> Table | None:
    """A row for each type, then each outcome, of each treatment; None where no workload counts by type."""
    texts = scene.texts
    rows = [
        _row(treatment, found, scene)
        for treatment in scene.analysis.treatments
        for found in (*treatment.types, *treatment.outcomes)
    ]
    if not rows:
        return None
    columns = [
        Column(texts("column.number"), figure=True),
        Column(texts("column.treatment")),
        Column(texts("column.type"), code=True),
        Column(texts("column.transactions"), figure=True),
        Column(texts("column.share"), figure=True),
        Column(texts("column.per-second"), figure=True),
        *(Column(title(key, scene), figure=True) for key in FIGURES),
        Column(texts("column.errors"), figure=True),
    ]
    return Table("table-types", texts("table.types"), columns, rows, texts("table.types.note"))


def _row(treatment: Treatment, found: OfType, scene: Scene) -> list[Cell]:
    none = Cell(scene.texts("mark.none"))

    def figure(value: float | None, write: numbers.Write) -> Cell:
        return none if value is None else Cell(write(value), sort=value)

    return [
        Cell(str(treatment.index), sort=treatment.index),
        Cell(treatment.label, sort=treatment.index),
        Cell(found.name),
        figure(found.succeeded, numbers.whole),
        figure(found.share, numbers.share),
        figure(found.throughput.median, numbers.rate),
        *(figure(found.response[key].median, numbers.significant) for key in FIGURES),
        Cell(numbers.whole(found.failed), sort=found.failed, tone="problem" if found.failed else ""),
    ]
