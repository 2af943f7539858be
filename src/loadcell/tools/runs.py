"""Stretches of a block whose lines begin alike: a tool's own intervals, thousands of them, are read as a table."""

from __future__ import annotations

import re
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
    after = re.compile(rb"\n(?!" + re.escape(begin) + rb")")
    kept = at = 0
    while at < len(block):
        if not block.startswith(begin, at):
            at = block.find(b"\n" + begin, at) + 1
            if not at:
                break
        end = after.search(block, at)
        ended = end.end() if end is not None else len(block)
        if block.count(b"\n", at, ended) >= FEWEST:
            if at > kept:
                yield Run(block[kept:at], alike=False)
            yield Run(block[at:ended], alike=True)
            kept = ended
        at = ended
    if kept < len(block):
        yield Run(block[kept:], alike=False)
