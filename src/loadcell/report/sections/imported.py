"""Where the figures of a run come from that was made of other tools' outputs: its files, what was not understood, how the tools were run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loadcell.analysis.import_findings import sources
from loadcell.model import numbers
from loadcell.report.blocks import Block, Cell, Column, Definitions, Section, Table
from loadcell.report.context import Scene
from loadcell.report.sections.environment import facts, said


def section(scene: Scene) -> Section | None:
    """None for a run that loadcell made itself."""
    read = sources(scene.stored.run)
    if not read:
        return None
    blocks: list[Block] = [table(read, scene)]
    told = [
        (key.partition(".")[2] or key, said(key, values, scene.texts))
        for key, values in facts(_settings(treatment) for treatment in scene.stored.run["treatments"]).items()
    ]
    if told:
        blocks.append(Definitions(told, scene.texts("sources.settings")))
    return Section("sources", scene.texts("section.sources"), blocks)


def table(read: list[Mapping[str, Any]], scene: Scene) -> Table:
    """A row a file."""
    texts = scene.texts
    samples = any(one.get("samples") for one in read)
    unread = any(one.get("unread") for one in read)
    columns = [
        Column(texts("column.source.file"), code=True),
        Column(texts("column.source.tool")),
        Column(texts("column.source.executions"), figure=True),
        *([Column(texts("column.looks"), figure=True)] if samples else []),
        Column(texts("column.source.unread"), figure=True),
        *([Column(texts("column.source.examples"), code=True)] if unread else []),
    ]
    rows = [
        [
            Cell(str(one.get("file"))),
            Cell(str(one.get("tool"))),
            _count(one.get("measured")),
            *([_count(one.get("samples"))] if samples else []),
            _count(one.get("unread"), problem=True),
            *([Cell(" ⏎ ".join(map(str, one.get("examples") or ())))] if unread else []),
        ]
        for one in read
    ]
    return Table("table-sources", texts("table.sources"), columns, rows, texts("table.sources.note"))


def _count(value: Any, *, problem: bool = False) -> Cell:
    count = int(value or 0)
    return Cell(numbers.whole(count), sort=count, tone="caution" if problem and count else "")


def _settings(treatment: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the tool says of how it was run, under its name; clients first."""
    settings = treatment.get("settings") or {}
    tool, load = settings.get("tool"), settings.get("load")
    return {**({"load": load} if load else {}), **(tool if isinstance(tool, Mapping) else {})}
