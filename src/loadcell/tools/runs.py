"""Stretches of a block whose lines begin alike: a tool's own intervals, thousands of them, are read as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

#: Fewer lines are read one by one as quickly.
FEWEST = 200


@dataclass(frozen=True)
class Run:
    """Lines that stand together; `alike` where all of them begin with what was looked for."""

    text: bytes
    alike: bool

    @property
    def first(self) -> str:
        """The first line, without its end."""
        return self.text.partition(b"\n")[0].decode("utf-8", "replace").rstrip("\r")

    def table(self, fields: Sequence[str], wanted: Mapping[str, bool]) -> pl.DataFrame | None:
        """Fields between blanks; `wanted` ones, as numbers or as words. None where any line has another shape."""
        import polars as pl

        schema = {name: pl.Float64 if wanted.get(name) else pl.String for name in fields}
        try:
            frame = pl.read_csv(
                self.text, separator=" ", has_header=False, schema=schema, columns=[fields.index(name) for name in wanted],
                quote_char=None,
            )  # fmt: skip
        except pl.exceptions.PolarsError:
            return None
        return None if frame.select(pl.any_horizontal(pl.all().has_nulls())).item() else frame


def runs(block: bytes, begin: bytes) -> Iterator[Run]:
    """The block in stretches; few lines that begin alike stay among the others."""
    if block.count(b"\n" + begin) + 1 < FEWEST:
        yield Run(block, alike=False)
        return
    import numpy as np

    content = np.frombuffer(block, dtype=np.uint8)
    starts = np.concatenate([[0], np.flatnonzero(content == 10) + 1])
    starts = starts[starts + len(begin) <= len(content)]
    alike = np.ones(len(starts), dtype=bool)
    for place, byte in enumerate(begin):
        alike &= content[starts + place] == byte
    turns = np.flatnonzero(np.diff(alike.astype(np.int8))) + 1
    firsts = np.concatenate([[0], turns])
    lengths = np.diff(np.concatenate([firsts, [len(alike)]]))
    kept = 0
    for first, length in zip(firsts.tolist(), lengths.tolist(), strict=True):
        if not alike[first] or length < FEWEST:
            continue
        begun = int(starts[first])
        ended = int(starts[first + length]) if first + length < len(starts) else len(block)
        if begun > kept:
            yield Run(block[kept:begun], alike=False)
        yield Run(block[begun:ended], alike=True)
        kept = ended
    if kept < len(block):
        yield Run(block[kept:], alike=False)
