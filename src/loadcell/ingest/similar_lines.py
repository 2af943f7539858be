"""Stretches of a text whose lines differ in numbers alone: a tool's own intervals, thousands of them, are
read as a table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loadcell.ingest.text_blocks import Output

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Column = npt.NDArray[np.float64]

#: What the engine takes for a number.
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")


@dataclass(frozen=True)
class Table:
    """Lines that are the first of them but for their numbers, each of which stands at one of so many
    `places`.

    `numbers` gives those of one place as doubles, and `text` the lines themselves, until the next part of the
    text is asked for.
    """

    first: str
    places: int
    numbers: Callable[[int], bytes]
    text: Callable[[], bytes]

    def columns(self, shape: re.Match[str]) -> Mapping[str, Column] | None:
        """By the names of the groups that matched the first line; None where one is not exactly a number."""
        import numpy as np

        places = {match.span(): index for index, match in enumerate(_NUMBER.finditer(shape.string))}
        named = {name: places.get(shape.span(name)) for name in shape.groupdict()}
        if len(places) != self.places or None in named.values():
            return None
        return {
            name: np.frombuffer(self.numbers(index)) for name, index in named.items() if index is not None
        }


def stretches(output: Output, begin: bytes) -> Iterator[bytes | Table]:
    """An output in its order, read ahead by the engine: tables of lines that begin so, and the lines between;
    few alike ones stay
    among the others."""
    from loadcell import _engine

    parts = _engine.Stretches(list(output.files), begin)
    for text, places in parts:
        output.went(parts.read_bytes)
        if places:
            first = text.decode("utf-8", "replace").rstrip("\r\n")
            yield Table(first, places, parts.column, parts.text)
        else:
            yield text
