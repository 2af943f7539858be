"""Output on a terminal whose texts are printable; only styles of loadcell become escape sequences."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from loadcell.model.printable import printable


class Terminal(Console):
    """A console that escapes control characters in all it prints."""

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
