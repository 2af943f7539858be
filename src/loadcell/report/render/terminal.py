"""Render a report on a terminal: the blocks as text of the terminal's width, without charts and folded
details.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from rich import box
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table as Grid
from rich.text import Text

from loadcell.model.terminal import ANY_WIDTH, GAP, Terminal, stacked
from loadcell.report.blocks import (
    Block,
    Cell,
    Code,
    Column,
    Definitions,
    Paragraph,
    Remark,
    Report,
    Section,
    Sentences,
    Table,
    Tone,
)
from loadcell.report.render.folding import (
    LEAST_WIDTH,
    folded,
    heading,
    heading_width,
    lines,
    longest_word,
    narrowest_heading,
)
from loadcell.report.texts import Part, Texts, pieces

if TYPE_CHECKING:
    from loadcell.model.message import Severity

#: On a terminal narrower than this, rows whose texts would be cut stand one below the other.
NARROW = 60
#: Texts of sentences are not folded to less on a narrow terminal.
LEAST_SENTENCE = 20
#: Names of a definition list are folded beyond this width.
MOST_NAME = 32

_STYLES: dict[Tone, str] = {"": "", "good": "green", "info": "", "caution": "yellow", "problem": "red"}
_SIGNS: dict[Severity, tuple[str, str]] = {
    "good": ("✓", "green"),
    "info": ("·", "dim"),
    "caution": ("!", "yellow"),
    "problem": ("✕", "red"),
}


def render(report: Report, console: Console | None = None) -> None:
    """Print to `console` (default: standard output)."""
    out = console or Terminal(highlight=False)
    texts = Texts(report.language, report.unit, micro=report.micro)
    if report.title:
        out.print()
        out.print(Text(report.title, style="bold"))
    if report.question:
        _print_lines(lines(Text(report.question, style="dim"), out.width), out)
    shown = [section for section in report.sections if any(isinstance(b, _SHOWN) for b in section.blocks)]
    for number, section in enumerate(shown):
        if number or report.title:
            out.print()
        _print_section(section, texts, out)
    out.print()


def coded(sentence: str | Iterable[Part]) -> Text:
    """A sentence with bold numbers and coloured code, without backticks."""
    return Text.assemble(
        *(
            (piece.text, " ".join(filter(None, ("bold" * piece.figure, "cyan" * piece.code))))
            for piece in pieces(sentence)
        )
    )


def _print_section(section: Section, texts: Texts, out: Console) -> None:
    blocks = [block for block in section.blocks if isinstance(block, _SHOWN)]
    if section.title:
        out.print(Text(section.title, style="bold"))
    for before, block in pairwise([None, *blocks]):
        if before is not None and block is not None and _apart(before, block):
            out.print()
        if block is not None:
            _print_block(block, texts, out)


#: Blocks that a terminal shows; key values are in the sentences, too.
_SHOWN = (Paragraph, Sentences, Remark, Table, Definitions, Code)


def _apart(before: Block, block: Block) -> bool:
    """True if a blank line separates two blocks: not blocks of one kind, nor a note from what it is about."""
    if isinstance(block, Paragraph) and block.quiet:
        return isinstance(before, Sentences)
    apart = (Sentences, Code, Paragraph)
    return not (type(before) is type(block) and isinstance(block, apart))


def _print_block(block: Block, texts: Texts, out: Console) -> None:
    match block:
        case Paragraph():
            text = coded(f"{block.text}: `{block.file}`" if block.file else block.text)
            text.stylize("dim" if block.quiet else "")
            _print_lines(lines(text, out.width), out)
        case Sentences():
            _print_findings(block, texts, out)
        case Remark():
            colon = texts("mark.colon") if block.subject and block.text else ""
            text = Text.assemble((block.subject, "bold"), colon, coded(block.text))
            _print_marked(text, block.severity, out)
            for line in lines(coded(block.advice), out.width - 2) if block.advice else ():
                line.stylize("dim")
                out.print(Text.assemble("  ", line), soft_wrap=True)
        case Table():
            if block.title and not block.only:
                out.print(Text(block.title, style="bold"))
            _print_table(block, out)
            if block.note:
                _print_lines(lines(Text.assemble(coded(block.note), style="dim"), out.width), out)
        case Definitions():
            if block.title:
                out.print(Text(block.title, style="bold"))
            out.print(_definitions(block))
        case Code():
            if block.title:
                out.print(Text(f"  {block.title}", style="dim"), soft_wrap=True)
            for row in block.text.splitlines():
                out.print(Text(f"{'    ' if block.title else '  '}{row}"), soft_wrap=True)


def _print_table(block: Table, out: Console) -> None:
    """A table that fits the terminal, or its rows one below the other; in a file or a pipe it is complete,
    however wide, unless the variable COLUMNS has a width.
    """
    width = out.width
    if out.is_terminal:
        if _fits(block, width):
            out.print(_grid(block, width))
        else:
            _print_rows(block, out)
        return
    if os.environ.get("COLUMNS", "").isdigit() and not _fits(block, width, complete=True):
        _print_rows(block, out, complete=True)
        return
    grid = _grid(block, width, complete=True)
    out.width = max(width, Measurement.get(out, out.options.update(width=ANY_WIDTH), grid).maximum)
    try:
        out.print(grid)
    finally:
        out.width = width


def _fits(block: Table, width: int, *, complete: bool = False) -> bool:
    """True if no number has to be cut, nor, on a narrow terminal, a text."""
    positions = _positions(block, ANY_WIDTH if complete else width)
    columns = [block.columns[position] for position in positions]
    rows = [[row[position] for position in positions] for row in block.rows]
    widths = column_widths(columns, rows, width, complete=complete)
    if width < NARROW:
        for position, (column, shown) in enumerate(zip(columns, widths, strict=True)):
            needed = max((cell_len(row[position].text) for row in rows), default=0)
            if not column.figure and shown < (min(needed, LEAST_SENTENCE) if column.many else needed):
                return False
    return sum(widths) + GAP * (len(widths) - 1) <= width


def _print_rows(block: Table, out: Console, *, complete: bool = False) -> None:
    """The rows of a table one below the other: the first cell, then a line for each other cell."""
    positions = _positions(block, ANY_WIDTH if complete else out.width)
    for row in block.rows:
        first, *others = positions
        head = Text.assemble((f"{block.columns[first].title} ".lstrip(), "dim"), (row[first].text, "bold"))
        _print_lines(lines(head, out.width), out)
        cells = (
            (Text(f"  {block.columns[position].title}"), _cell(row[position], row[position].text))
            for position in others
            if row[position].text
        )
        out.print(stacked(cells, out.width))


def _print_findings(block: Sentences, texts: Texts, out: Console) -> None:
    """Findings with their signs; a link is the name of the section that holds the evidence, on one line."""
    sections = [f"[{link.title}]" if link is not None else "" for link in block.links]
    sections = sections or [""] * len(block.findings)
    for finding, evidence in zip(block.findings, sections, strict=True):
        text = coded(texts.parts(finding.message))
        if evidence:
            text.append(f" {evidence}", style="dim")
        _print_marked(text, finding.severity, out, unbroken=len(evidence))


def _print_marked(text: Text, severity: Severity, out: Console, *, unbroken: int = 0) -> None:
    sign, style = _SIGNS[severity]
    for number, line in enumerate(lines(text, out.width - 2, unbroken=unbroken)):
        out.print(Text.assemble((f"{sign} " if number == 0 else "  ", style), line), soft_wrap=True)


def _print_lines(texts: Iterable[Text], out: Console) -> None:
    for line in texts:
        out.print(line, soft_wrap=True)


def _definitions(block: Definitions) -> Grid:
    grid = Grid.grid(padding=(0, 2))
    grid.add_column(style="dim", max_width=MOST_NAME, overflow="fold")
    grid.add_column(overflow="fold")
    for name, value in block.entries:
        grid.add_row(Text("\n".join(_broken_at_dots(name))), coded(value))
    return grid


def _broken_at_dots(name: str) -> list[str]:
    """Lines of a dotted path that is longer than a column of names."""
    parts = [""]
    for part in re.split(r"(?<=\.)(?=\S)", name):
        if parts[-1] and cell_len(parts[-1] + part) > MOST_NAME:
            parts.append("")
        parts[-1] += part
    return parts


def _grid(block: Table, width: int, *, complete: bool = False) -> Grid:
    """A table: numbers are never cut; where there is no room, headings are broken, then text is cut.

    A `complete` one has all columns, and text is folded or wider than `width`, not cut.
    """
    positions = _positions(block, ANY_WIDTH if complete else width)
    columns = [block.columns[position] for position in positions]
    rows = [[row[position] for position in positions] for row in block.rows]
    head = any(column.title for column in columns)
    grid = Grid(
        box=box.SIMPLE_HEAD if head else None, show_header=head, show_edge=False, pad_edge=False,
        padding=(0, 1 if head else GAP, 0, 0),
    )  # fmt: skip
    widths = column_widths(columns, rows, width, complete=complete)
    for column, least in zip(columns, widths, strict=True):
        title = Text("\n").join(heading(column.title, least))
        justify: Literal["left", "right"] = "right" if column.figure else "left"
        if column.folds or (column.many and not column.figure):
            grid.add_column(title, justify=justify, overflow="fold", width=least)
        else:
            grid.add_column(title, justify=justify, overflow="ellipsis", no_wrap=True, width=least)
    shown = [
        distinct([row[position].text for row in rows], least)
        for position, least in enumerate(widths)
        if not (columns[position].many or columns[position].folds)
    ]
    texts = iter(shown)
    cells = [
        [folded(row[position].text, widths[position]) for row in rows]
        if column.many or column.folds
        else next(texts)
        for position, column in enumerate(columns)
    ]
    for number, row in enumerate(rows):
        grid.add_row(
            *(
                _cell(cell, "" if _repeats(cells, columns, number, position) else cells[position][number])
                for position, cell in enumerate(row)
            )
        )
    return grid


def _positions(block: Table, width: int) -> list[int]:
    """Positions of the shown columns: all that fit with whole numbers and headings, without details."""
    shown = [position for position, column in enumerate(block.columns) if not column.detail]
    needed = {
        position: max(cell_len(text) for text in (block.columns[position].title, *_texts(block, position)))
        for position in shown
    }
    needed |= {p: min(LEAST_WIDTH, needed[p]) for p in shown if not block.columns[p].figure}
    spare = sorted((p for p in shown if block.columns[p].yields), key=lambda p: block.columns[p].yields)
    for position in spare:
        if sum(needed[p] + GAP for p in shown) - GAP > width:
            shown.remove(position)
    return shown


def _texts(block: Table, position: int) -> list[str]:
    return [row[position].text for row in block.rows]


def _repeats(cells: Sequence[Sequence[str]], columns: Sequence[Column], row: int, position: int) -> bool:
    """True if the first column repeats the row above: it is shown once."""
    return position == 0 < row and not columns[0].figure and cells[0][row] == cells[0][row - 1]


def _cell(cell: Cell, text: str) -> Text:
    return Text(text, style=" ".join(filter(None, ("bold" * cell.strong, _STYLES[cell.tone]))))


def column_widths(
    columns: Sequence[Column], rows: Sequence[Sequence[Cell]], width: int, *, complete: bool = False
) -> list[int]:
    """Widths of columns that fit into `width`: headings give way first, then text, never numbers.

    In a `complete` table only text that can be folded gives way, and headings within words where the table
    fits then.
    """
    cells = [
        max((cell_len(row[position].text) for row in rows), default=0) for position in range(len(columns))
    ]
    room = width - GAP * (len(columns) - 1)
    widths = [max(needed, cell_len(column.title)) for needed, column in zip(cells, columns, strict=True)]
    texts = [c.folds or (not c.figure and (c.many or not complete)) for c in columns]
    floors = [_least_width(column, [row[at].text for row in rows]) for at, column in enumerate(columns)]
    for width_of in (longest_word, narrowest_heading) if complete else (heading_width,):
        least = [max(needed, width_of(column.title)) for needed, column in zip(cells, columns, strict=True)]
        narrowest = [
            min(floor, size) if fold else size for size, fold, floor in zip(least, texts, floors, strict=True)
        ]
        if width_of is narrowest_heading and sum(narrowest) > room:
            break  # wider than the page in any case
        for position in sorted(range(len(widths)), key=lambda position: least[position] - widths[position]):
            excess = max(0, sum(widths) - room)
            widths[position] -= min(excess, max(0, widths[position] - least[position]))
    for flexible in (
        [position for position, column in enumerate(columns) if texts[position] and not column.keep],
        [position for position, is_text in enumerate(texts) if is_text],
    ):
        while flexible and sum(widths) > room:
            widest = max(flexible, key=lambda position: widths[position] - floors[position])
            if widths[widest] <= floors[widest]:
                break
            widths[widest] -= 1
    return widths


def _least_width(column: Column, texts: Sequence[str]) -> int:
    """Least width of texts; of those that are broken between words, their longest word."""
    return max(LEAST_WIDTH, *map(longest_word, texts)) if column.folds else LEAST_WIDTH


def distinct(names: Sequence[str], width: int) -> list[str]:
    """Names for a column: cut at their beginning where names that are cut at their end would be equal."""
    cut = [name if cell_len(name) <= width else set_cell_size(name, width - 1) for name in names]
    if len(set(cut)) == len(set(names)):
        return list(names)
    return [
        name if cell_len(name) <= width else "…" + set_cell_size(name[::-1], width - 1)[::-1]
        for name in names
    ]
