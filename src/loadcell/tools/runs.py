"""Stretches of a text whose lines differ in numbers alone: a tool's own intervals, thousands of them, are read as a table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loadcell.tools.blocks import Output

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Column = npt.NDArray[np.float64]

#: Fewer lines are read one by one as quickly.
FEWEST = 200
_NUMBER_BYTES = 8
#: What the engine takes for a number.
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")


@dataclass(frozen=True)
class Table:
    """Lines that are the first of them but for their numbers, of which each place has a row in `numbers`; `text` are all of them."""

    first: str
    numbers: npt.NDArray[np.float64]
    text: bytes

    def columns(self, shape: re.Match[str]) -> Mapping[str, Column] | None:
        """By the names of the groups that matched the first line; None where one is not exactly a number."""
        places = {found.span(): place for place, found in enumerate(_NUMBER.finditer(shape.string))}
        if len(places) != len(self.numbers) or any(
            shape.span(name) not in places for name in shape.groupdict()
        ):
            return None
        return {name: self.numbers[places[shape.span(name)]] for name in shape.groupdict()}


def stretches(output: Output, begin: bytes) -> Iterator[bytes | Table]:
    """An output in its order: tables of lines that begin so, and the lines between; few alike ones stay among the others."""
    for block in output.blocks():
        yield from _of_block(block, begin)


def _of_block(block: bytes, begin: bytes) -> Iterator[bytes | Table]:
    from loadcell import _engine

    kept = at = 0
    while True:
        if not block.startswith(begin, at):
            at = block.find(b"\n" + begin, at) + 1
            if not at:
                break
        end, columns, numbers = _engine.alike(block, at)
        if columns and len(numbers) >= FEWEST * columns * _NUMBER_BYTES:
            if at > kept:
                yield block[kept:at]
            yield _table(block[at:end], columns, numbers)
            kept = end
        at = end if end > at else block.find(b"\n", at) + 1
        if not at:
            break
    if kept < len(block):
        yield block[kept:]


def _table(text: bytes, columns: int, numbers: bytes) -> Table:
    import numpy as np

    first = text[: text.index(b"\n")].decode("utf-8", "replace").rstrip("\r")
    return Table(first, np.frombuffer(numbers).reshape(-1, columns).T, text)
