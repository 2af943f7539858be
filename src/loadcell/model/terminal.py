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
_ANY_WIDTH = 100_000
#: Columns of output that goes to no terminal, unless the variable COLUMNS has another number.
WIDTH = 100


class Terminal(Console):
    """A console that escapes control characters in all it prints."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # Without a width, rich takes that of the terminal of another stream.
        if not self.is_terminal and "width" not in settings and not os.environ.get("COLUMNS", "").isdigit():
            self.width = WIDTH

    def print_table(self, rows: Table) -> None:
        """Print a table; where it is wider than the terminal, its rows one below the other."""
        needed = Measurement.get(self, self.options.update(width=_ANY_WIDTH), rows).minimum
        if needed <= self.width:
            self.print(rows)
            return
        columns = [[*column.cells] for column in rows.columns]
        for cells in zip(*columns, strict=True):
            row = Table.grid(padding=(0, 2))
            for cell, column in zip(cells, rows.columns, strict=True):
                if str(cell):
                    row.add_row(column.header, cell)
            self.print(row)
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
