"""Memory that servers under valgrind had lost when they ended: how much, and where it was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loadcell.model import numbers
from loadcell.report.blocks import Block, Cell, Column, Paragraph, Section, Table
from loadcell.report.context import Scene

KINDS = ("definite", "indirect", "possible")


def section(scene: Scene) -> Section | None:
    """None where no target was run under valgrind."""
    if (found := summary(scene)) is None:
        return None
    blocks: list[Block] = [Paragraph(scene.texts("memory.meaning")), found]
    blocks += [
        losses(record, number, scene)
        for number, record in enumerate(_examined(scene), 1)
        if record["memory"].get("records")
    ]
    return Section("memory", scene.texts("section.memory"), blocks)


def _examined(scene: Scene) -> list[dict[str, Any]]:
    """The records of trials whose target was run under valgrind."""
    return [record for record in scene.stored.trials if record.get("memory")]


def summary(scene: Scene) -> Table | None:
    """A row a trial; None where there is none to speak of."""
    texts, records = scene.texts, _examined(scene)
    if not records:
        return None
    columns = [
        Column(texts("column.trial"), code=True),
        *(Column(texts(f"column.{kind}"), figure=True) for kind in KINDS),
        Column(texts("column.wrong-accesses"), figure=True),
    ]
    rows = [
        [
            Cell(record["name"]),
            *(_lost(record["memory"]["lost"][kind], scene) for kind in KINDS),
            Cell(numbers.whole(record["memory"]["errors"]), sort=record["memory"]["errors"]),
        ]
        for record in records
    ]
    return Table("table-memory", texts("table.memory"), columns, rows)


def _lost(lost: Mapping[str, int], scene: Scene) -> Cell:
    if not lost["blocks"]:
        return Cell("0", sort=0)
    said = scene.texts("mark.lost", bytes=numbers.whole(lost["bytes"]), blocks=numbers.whole(lost["blocks"]))
    return Cell(said, sort=lost["bytes"], tone="caution" if lost["bytes"] else "")


def losses(record: Mapping[str, Any], number: int, scene: Scene) -> Table:
    """Where one trial's server asked for what it lost."""
    texts, memory = scene.texts, record["memory"]
    columns = [
        Column(texts("column.kind")),
        Column(texts("column.bytes"), figure=True),
        Column(texts("column.blocks"), figure=True),
        Column(texts("column.stack"), code=True),
    ]
    rows = [
        [
            Cell(texts(f"column.{one['kind']}")),
            Cell(numbers.whole(one["bytes"]), sort=one["bytes"]),
            Cell(numbers.whole(one["blocks"]), sort=one["blocks"]),
            Cell(" ← ".join(one["stack"])),
        ]
        for one in memory["records"]
    ]
    note = texts("table.losses.note", shown=len(rows), count=memory["record_count"])
    title = texts("table.losses", trial=record["name"])
    return Table(f"table-losses-{number}", title, columns, rows, note)
