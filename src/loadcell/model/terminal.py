"""Output on a terminal whose texts are printable; only styles of loadcell become escape sequences."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table

from loadcell.model.printable import printable

#: A width that no table has.
ANY_WIDTH = 100_000
#: Columns between two columns of a table.
GAP = 2
#: Columns of output that goes to no terminal, unless the variable COLUMNS has another number.
WIDTH = 100


def stacked(cells: Iterable[tuple[RenderableType, RenderableType]], width: int) -> Table:
    """A row of a table that does not fit into `width`: a line for each cell that is not empty, with its
    heading.
    """
    lines = Table.grid(padding=(0, GAP))
    lines.add_column(style="dim", max_width=width // 2, overflow="fold")
    lines.add_column(overflow="fold")
    for heading, cell in cells:
        if str(cell):
            lines.add_row(heading, cell)
    return lines


class Terminal(Console):
    """A console that escapes control characters in all it prints."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # Without a width, rich takes that of the terminal of another stream.
        if not self.is_terminal and "width" not in settings and not os.environ.get("COLUMNS", "").isdigit():
            self.width = WIDTH

    def print_table(self, rows: Table) -> None:
        """Print a table; where it is wider than the terminal, its rows one below the other."""
        needed = Measurement.get(self, self.options.update(width=ANY_WIDTH), rows).minimum
        if needed <= self.width:
            self.print(rows)
            return
        columns = [[*column.cells] for column in rows.columns]
        for cells in zip(*columns, strict=True):
            headings = (column.header for column in rows.columns)
            self.print(stacked(zip(headings, cells, strict=True), self.width))
            self.print()

    def on_broken_pipe(self) -> None:
        """Raise BrokenPipeError: the command decides on its exit status."""
        raise BrokenPipeError

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Segments with printable texts; those that control the terminal are rich's."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(printable(segment.text), segment.style)
