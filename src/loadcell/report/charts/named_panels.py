"""Panels of series that monitors sampled by name: a panel each name, a line each set of labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from loadcell.model.message import Labels
from loadcell.model.panels import Line, Panel
from loadcell.monitors.series import Selector, Series, selects
from loadcell.report.context import ReportContext
from loadcell.store.frames import Frame, Rows

#: Lines of a panel: as many as can be looked at.
MOST_LINES: Final = 6
#: Place of the panels under the load, below throughput, response times and pauses.
_UNDER_LOAD: Final = 13
_NAME_SHOWN: Final = 48
_TITLE = Labels("axis.named-series", ("value", "rate", "mean"))
#: Columns of the tables of such monitors.
COLUMNS: Final = ("t_s", "name", "labels", "measure")


@dataclass(frozen=True)
class Family:
    """Series of one name: `rows` of each set of labels, the largest first; whether any of them changes."""

    name: str
    measure: str
    rows: tuple[tuple[str, Rows], ...]
    changes: bool


@dataclass(frozen=True)
class UnderLoad:
    """Panels of the series that the plan draws under the load, and their tables by source.

    `is_cut`: some panel has only the largest series of its name.
    """

    panels: list[Panel]
    frames: Mapping[str, Frame]
    is_cut: bool


def under_load(context: ReportContext) -> UnderLoad:
    """Nothing where plans name no such series."""
    patterns: dict[str, dict[str, None]] = {}
    for record in context.stored.trials:
        for name, of_trial in record.monitors.items():
            if of_trial.under_load:
                patterns.setdefault(name, {}).update(dict.fromkeys(of_trial.under_load))
    drawn: list[Panel] = []
    frames: dict[str, Frame] = {}
    is_cut = False
    for number, (monitor, texts) in enumerate(patterns.items()):
        frame = _selected(context.stored.samples(monitor), [Selector.parse(text) for text in texts])
        if len(frame):
            source = f"under{number}"
            of_frame = list(families(frame))
            frames[source], panels = wide(frame, of_frame, source, context, monitor)
            drawn += panels
            is_cut |= any(len(family.rows) > MOST_LINES for family in of_frame)
    return UnderLoad([replace(panel, position=_UNDER_LOAD) for panel in drawn], frames, is_cut)


def _selected(frame: Frame, selectors: list[Selector]) -> Frame:
    """The rows whose series the patterns select; none of a table without series."""
    if not frame.has(*COLUMNS):
        return frame.take(np.zeros(len(frame), dtype=bool))
    groups = frame.groups("name", "labels")
    names, labels = (frame.text(name)[groups.first].tolist() for name in ("name", "labels"))
    chosen = [
        selects(selectors, Series(name or "", of_series or ""))
        for name, of_series in zip(names, labels, strict=True)
    ]
    return frame.take(np.array(chosen, dtype=bool)[groups.index])


def families(frame: Frame) -> Iterator[Family]:
    """Series of a table by name, in the order of their first rows."""
    names, measures, labels = (frame.text(name).tolist() for name in ("name", "measure", "labels"))
    values = frame.numbers("value")
    groups = frame.groups("name", "measure")
    for rows in groups.parts():
        first = int(rows[0])
        of_labels: dict[str, list[int]] = {}
        for row in rows.tolist():
            of_labels.setdefault(labels[row] or "", []).append(row)
        lines = [(label, np.array(those, dtype=np.intp)) for label, those in of_labels.items()]
        changes = any(float(np.ptp(values[those])) > 0 for _, those in lines)
        lines.sort(key=lambda line: -float(np.abs(values[line[1]]).mean()))
        yield Family(names[first] or "", measures[first] or "", tuple(lines), changes)


def wide(
    frame: Frame, families: list[Family], source: str, context: ReportContext, monitor: str
) -> tuple[Frame, list[Panel]]:
    """The table with a column for each line and a row for each sample, and its panels."""
    texts = context.texts
    samples = frame.groups("trial", "t_s")
    table = frame.select("trial", "t_s").take(samples.first)
    values = frame.numbers("value")
    panels = []
    for index, family in enumerate(families):
        lines = []
        for number, (labels, rows) in enumerate(family.rows[:MOST_LINES]):
            column = np.full(len(samples), np.nan)
            column[samples.index[rows]] = values[rows]
            name = f"s{index}_{number}"
            table = table.adding({name: column})
            lines.append(Line(name, "", proper=_short(labels or family.name)))
        heading = texts(_TITLE(family.measure), name=_short(family.name), monitor=monitor)
        panels.append(
            Panel(
                source,
                "",
                tuple(lines),
                position=0,
                proper=heading,
                legend_below=len(lines) > 1,
                colour=index,
            )
        )
    return table, panels


def _short(name: str) -> str:
    return name if len(name) <= _NAME_SHOWN else f"{name[: _NAME_SHOWN - 1]}…"
