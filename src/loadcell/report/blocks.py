"""The block model of reports: sections of plain blocks that every renderer writes.

All text is in the reader's language and plain: each renderer (`loadcell.report.render`) escapes it for its
medium.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from loadcell import __version__
from loadcell.model.message import Labels

if TYPE_CHECKING:
    from loadcell.analysis.finding import Finding
    from loadcell.analysis.flames import Node
    from loadcell.model.json import JsonObject
    from loadcell.model.message import Severity

Tone = Literal["", "good", "info", "caution", "problem"]
#: One row of a chart's data: the values of the fields that its specification encodes.
DataRow: TypeAlias = "JsonObject"
#: Samples of one trial by column, as the page gets them: source -> column -> values.
TrialSamples: TypeAlias = dict[str, dict[str, list[Any]]]


@dataclass(frozen=True)
class Paragraph:
    """Running text; `quiet` for remarks. With `file`, a path in the run directory, it is a link to that."""

    text: str
    quiet: bool = False
    file: str = ""


@dataclass(frozen=True)
class Link:
    """A place in the same report: an anchor, and what it is called.

    A chart in which the reader chooses a trial shows `trial`.
    """

    anchor: str
    title: str
    trial: str = ""


@dataclass(frozen=True)
class Sentences:
    """Findings in sentences, each with its severity and, where `links` exist, the place of its evidence;
    None for one that has none.
    """

    findings: Sequence[Finding]
    links: Sequence[Link | None] = ()


@dataclass(frozen=True)
class Remark:
    """A statement in plain text: an optional subject, its text, and what to do about it."""

    severity: Severity
    text: str
    subject: str = ""
    advice: str = ""


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
    """Headline values side by side."""

    tiles: Sequence[Tile]


@dataclass(frozen=True)
class Column:
    """A table's column.

    `figure`: numbers, aligned right. `many`: cells may wrap. `code`: fixed-width. `keep`: not broken inside
    words.
    `sentences`: text with inline code. `spare`: left out where no row has a value
    (`without_empty`).
    `folds`: a terminal breaks its cells between words, of numbers too.
    `detail`: for pages only; a terminal leaves it out. `yields`: a narrow terminal leaves it out, 1 before 2.
    """

    title: str
    figure: bool = False
    code: bool = False
    many: bool = False
    keep: bool = False
    folds: bool = False
    spare: bool = False
    sentences: bool = False
    detail: bool = False
    yields: int = 0


@dataclass(frozen=True)
class Cell:
    """One cell. `sort` orders it where the text cannot; `bar` (0..1) draws its size behind it; `strong` is
    emphasis.
    """

    text: str
    sort: float | None = None
    bar: float | None = None
    tone: Tone = ""
    strong: bool = False


@dataclass(frozen=True)
class Table:
    """A table with a heading; with `only` its section's heading serves.

    Without column titles it has no head row.
    """

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

    `captions` say what is drawn. `panels` is how many views lie above one another in it, `columns` how many
    side by side at most, `legend` whether something stands at their right. `choices` are the values the
    reader can choose from: trials for `chooser` "trial" (with `series` holding each trial's columns), what
    the chooser names for "treatments" and "faults"; `chosen` are those shown at first.
    With "trials" the reader chooses several, and the columns are those in the `series` of the chart with the
    id `shares`; `repeats` are the trials of each treatment.
    `detail`: for pages only; Markdown leaves it out, as each picture takes it up to half a second.
    """

    id: str
    title: str
    spec: JsonObject
    data: dict[str, list[DataRow]]
    captions: Sequence[str] = ()
    panels: int = 1
    columns: int = 1
    legend: bool = True
    chooser: Literal["", "trial", "trials", "treatments", "faults"] = ""
    choices: Sequence[tuple[str, str]] = ()
    chosen: Sequence[str] = ()
    series: dict[str, TrialSamples] = field(default_factory=dict)
    shares: str = ""
    repeats: Mapping[str, Sequence[str]] = field(default_factory=dict)
    detail: bool = False


#: Kinds of bars in flame graphs, in the order that the page's script knows them by; the outermost ones are
#: processes.
FLAME_KINDS = Labels("kind", ("process", "user", "kernel", "jit", "class", "unresolved"))


@dataclass(frozen=True)
class Flame:
    """A flame graph: the call tree. `plain` replaces it in media without zoom and search.

    `unit` is the unit of widths; empty for samples.
    """

    id: str
    title: str
    caption: str
    plain: str
    root: Node
    unit: str = ""


@dataclass(frozen=True)
class Details:
    """Blocks that are folded away at first.

    With `instead` only pages have them: Markdown has that sentence, if any, in their place.
    """

    title: str
    blocks: Sequence[Block]
    instead: str | None = None


Block = Paragraph | Sentences | Remark | Tiles | Table | Definitions | Code | Chart | Flame | Details


@dataclass(frozen=True)
class Section:
    """A part of a report; `id` is its anchor. Without a title it has no heading.

    Sections of a `group` follow each other: the contents have its name once, and their short `name`.
    """

    id: str
    title: str
    blocks: Sequence[Block]
    group: str = ""
    name: str = ""


@dataclass(frozen=True)
class Report:
    """A document in one language: a page, or the brief form that a terminal shows.

    `badges` are short facts under the title; `kind` is the catalogue key of the document's kind, `unit` the
    unit of throughput; with `micro` response times are in microseconds.
    """

    language: str
    title: str
    question: str
    run_id: str
    badges: Sequence[tuple[str, Tone]]
    sections: Sequence[Section]
    version: str = __version__
    kind: str = "page.report"
    unit: str = "transaction"
    micro: bool = False

    def charts(self) -> list[Chart]:
        """Every chart, in order."""
        return [block for block in self._blocks() if isinstance(block, Chart)]

    def pictures(self) -> list[Chart]:
        """Charts that are drawn outside of pages too, in order."""
        blocks = unfolded(
            block for section in self.sections for block in section.blocks if not _on_page(block)
        )
        return [block for block in blocks if isinstance(block, Chart) and not block.detail]

    def flames(self) -> list[Flame]:
        """Every flame graph, in order."""
        return [block for block in self._blocks() if isinstance(block, Flame)]

    def _blocks(self) -> Iterator[Block]:
        """Every block, folded ones included."""
        for section in self.sections:
            yield from unfolded(section.blocks)


@dataclass(frozen=True)
class Summary:
    """A verdict for a pull request: its heading, a line for each statement, the place of the whole report.

    `location` is an address (http, https), a path or a command; `report` is what it is called. `unit` is the
    unit of throughput.
    """

    language: str
    title: str
    statements: Sequence[Sentences | Remark]
    report: str
    location: str
    unit: str = "transaction"


def _on_page(block: Block) -> bool:
    """True if only pages have the block."""
    return isinstance(block, Details) and block.instead is not None


def unfolded(blocks: Iterable[Block]) -> Iterator[Block]:
    """These blocks, and the blocks folded away in them in the place of their folds."""
    for block in blocks:
        if isinstance(block, Details):
            yield from unfolded(block.blocks)
        else:
            yield block


TONE_OF: dict[Severity, Tone] = {"good": "good", "info": "info", "caution": "caution", "problem": "problem"}


Rows = Sequence[Sequence[Cell]]


def without_empty(columns: Sequence[Column], rows: Rows) -> tuple[Sequence[Column], Rows]:
    """The columns without each `spare` one that has no value: a value is what a cell is sorted by."""
    indices = [
        index
        for index, column in enumerate(columns)
        if not column.spare or any(row[index].sort is not None for row in rows)
    ]
    return [columns[index] for index in indices], [[row[index] for index in indices] for row in rows]
