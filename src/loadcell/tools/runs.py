"""Stretches of a text whose lines differ in numbers alone: a tool's own intervals, thousands of them, are read as a table."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loadcell.tools.blocks import Output

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Column = npt.NDArray[np.float64]

#: What the engine takes for a number.
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")


@dataclass(frozen=True)
class Table:
    """Lines that are the first of them but for their numbers, of which each place has a row in `numbers`.

    `text` gives the lines themselves, until the next part of the text is asked for.
    """

    first: str
    numbers: npt.NDArray[np.float64]
    text: Callable[[], bytes]

    def columns(self, shape: re.Match[str]) -> Mapping[str, Column] | None:
        """By the names of the groups that matched the first line; None where one is not exactly a number."""
        places = {found.span(): place for place, found in enumerate(_NUMBER.finditer(shape.string))}
        if len(places) != len(self.numbers) or any(
            shape.span(name) not in places for name in shape.groupdict()
        ):
            return None
        return {name: self.numbers[places[shape.span(name)]] for name in shape.groupdict()}


def stretches(output: Output, begin: bytes) -> Iterator[bytes | Table]:
    """An output in its order, read ahead by the engine: tables of lines that begin so, and the lines between; few alike ones stay
    among the others."""
    from loadcell import _engine

    parts = _engine.Stretches(list(output.files), begin)
    for text, columns, numbers in parts:
        output.went(parts.read_bytes)
        yield _table(text, columns, numbers, parts.text) if columns else text


def _table(line: bytes, columns: int, numbers: bytes, text: Callable[[], bytes]) -> Table:
    import numpy as np

    first = line.decode("utf-8", "replace").rstrip("\r\n")
    return Table(first, np.frombuffer(numbers).reshape(columns, -1), text)
