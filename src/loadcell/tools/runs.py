"""Stretches of a block whose lines differ in numbers alone: a tool's own intervals, thousands of them, are read as a table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
    """Lines that are the first of them but for their numbers, of which each has a row."""

    text: bytes
    numbers: npt.NDArray[np.float64]

    @property
    def first(self) -> str:
        """The first line, without its end."""
        return self.text.partition(b"\n")[0].decode("utf-8", "replace").rstrip("\r")

    def columns(self, shape: re.Match[str]) -> Mapping[str, Column] | None:
        """By the names of the groups that matched the first line; None where one is not exactly a number."""
        places = {found.span(): place for place, found in enumerate(_NUMBER.finditer(shape.string))}
        if len(places) != self.numbers.shape[1] or any(
            shape.span(name) not in places for name in shape.groupdict()
        ):
            return None
        return {name: self.numbers[:, places[shape.span(name)]] for name in shape.groupdict()}


def stretches(block: bytes, begin: bytes) -> Iterator[bytes | Table]:
    """The block in its order: tables of lines that begin so, and the lines between; few alike ones stay among the others."""
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

    return Table(text, np.frombuffer(numbers).reshape(-1, columns))
