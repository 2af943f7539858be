"""What a report is made of, before it is a page: sections of plain blocks that every format can write.

All text here is already in the reader's language and is plain: whoever writes a format escapes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from loadcell.analysis.flames import Node
from loadcell.analysis.phrase import Finding, Severity

Tone = Literal["", "good", "info", "caution", "problem"]


@dataclass(frozen=True)
class Paragraph:
    """Running text; `quiet` for remarks."""

    text: str
    quiet: bool = False


@dataclass(frozen=True)
class Link:
    """A place in the same report: an anchor, and what it is called."""

    anchor: str
    title: str


@dataclass(frozen=True)
class Sentences:
    """Findings in sentences, each with its severity, and, where there are `links`, the place of its evidence."""

    findings: Sequence[Finding]
    links: Sequence[Link] = ()


@dataclass(frozen=True)
class Tile:
    """One key figure: its name, its value with unit, and where it was seen."""

    name: str
    value: str
    unit: str = ""
    note: str = ""
    tone: Tone = ""


@dataclass(frozen=True)
class Tiles:
    """Key figures side by side."""

    tiles: Sequence[Tile]


@dataclass(frozen=True)
class Column:
    """A table's column; figures are aligned right, `many` in a cell may wrap, `code` is set in a fixed width,
    `keep` is not broken inside words, `said` has sentences of the catalogue's, `spare` can be left out where no row has a figure for it (`loadcell.report.columns`)."""

    title: str
    figure: bool = False
    code: bool = False
    many: bool = False
    keep: bool = False
    spare: bool = False
    said: bool = False


@dataclass(frozen=True)
class Cell:
    """One cell. `sort` orders it where the text cannot; `bar` (0..1) draws its size behind it."""

    text: str
    sort: float | None = None
    bar: float | None = None
    tone: Tone = ""
    title: str = ""


@dataclass(frozen=True)
class Table:
    """A table with a heading of its own; `only` says that its section's heading serves."""

    id: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    only: bool = False


@dataclass(frozen=True)
class Definitions:
    """Names with their values."""

    entries: Sequence[tuple[str, str]]
    title: str = ""


@dataclass(frozen=True)
class Code:
    """Something to copy, or as it was written."""

    title: str
    text: str
    language: str = "sh"


@dataclass(frozen=True)
class Chart:
    """A picture: a Vega-Lite specification whose data sources are names, and their rows.

    `captions` say what is drawn. `panels` is how many views lie above one another in it, `columns` how many side
    by side at most, `legend` whether something stands at their right. `choices` are the values the reader can choose from: trials for `chooser` "trial" (with
    `series` holding each trial's columns), treatments for "treatments"; `chosen` are those shown at first.
    """

    id: str
    title: str
    spec: dict[str, Any]
    data: dict[str, list[dict[str, Any]]]
    captions: Sequence[str] = ()
    panels: int = 1
    columns: int = 1
    legend: bool = True
    chooser: Literal["", "trial", "treatments"] = ""
    choices: Sequence[tuple[str, str]] = ()
    chosen: Sequence[str] = ()
    series: dict[str, dict[str, dict[str, list[Any]]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Flame:
    """A flame graph: the tree of what called what. `plain` stands for it where nothing can be zoomed or searched."""

    id: str
    title: str
    caption: str
    plain: str
    root: Node


@dataclass(frozen=True)
class Details:
    """Blocks that are folded away at first."""

    title: str
    blocks: Sequence[Block]


Block = Paragraph | Sentences | Tiles | Table | Definitions | Code | Chart | Flame | Details


@dataclass(frozen=True)
class Section:
    """A part of a report with a heading; `id` is its anchor."""

    id: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Report:
    """A whole report in one language. `badges` are short facts under the title; `kind` is the key of what it is, `unit` what throughput counts, `micro` whether response times are read in microseconds."""

    language: str
    title: str
    question: str
    run_id: str
    badges: Sequence[tuple[str, Tone]]
    sections: Sequence[Section]
    version: str
    kind: str = "page.report"
    unit: str = "transaction"
    micro: bool = False

    def charts(self) -> list[Chart]:
        """Every chart, in order."""
        return [block for section in self.sections for block in section.blocks if isinstance(block, Chart)]

    def flames(self) -> list[Flame]:
        """Every flame graph, in order."""
        return [block for section in self.sections for block in section.blocks if isinstance(block, Flame)]


TONE_OF: dict[Severity, Tone] = {"good": "good", "info": "info", "caution": "caution", "problem": "problem"}
