"""A block of a tool's table as columns: what is no number is null, as is what a short line lacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


def columns(part: bytes, schema: Mapping[str, Any], used: Sequence[str], separator: str) -> pl.DataFrame:
    """Those of `used`, a row for each line; blank lines are rows of nulls."""
    import polars as pl

    names = list(schema)
    shape: dict[str, Any] = {
        "separator": separator, "has_header": False, "schema": dict(schema), "columns": [names.index(name) for name in used],
        "quote_char": None,
    }  # fmt: skip
    try:
        return pl.read_csv(part, **shape)
    except (
        pl.exceptions.PolarsError
    ):  # what is not as it should be is looked for only where there is such a thing
        words = {name: kind if kind == pl.Int64 else pl.String for name, kind in schema.items()}
        shape |= {
            "schema": words,
            "ignore_errors": True,
            "truncate_ragged_lines": True,
            "encoding": "utf8-lossy",
        }
        frame = pl.read_csv(part, **shape)
        return frame.with_columns(pl.col(name).cast(schema[name], strict=False) for name in used)


def lines_of(part: bytes, which: pl.Series) -> Iterator[bytes]:
    """The lines of the rows that are true in `which`; all lines where rows and lines do not match."""
    rows = part.split(b"\n")
    if not rows[-1]:
        rows.pop()
    if len(rows) == len(which):
        yield from (rows[number] for number in which.arg_true().to_list())
    else:
        yield from rows
