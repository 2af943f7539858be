"""CSV text as a frame, read by DuckDB."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from tempfile import NamedTemporaryFile
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from loadcell.store.frames import Column, Frame, Text
from loadcell.store.layout import ColumnType, column_types, header_of, sql_types


def read_csv(content: bytes, text: Collection[str]) -> Frame | None:
    """A frame of complete lines that begin with a header, whose columns `text` hold text; None when a value
    is not of its column's type, or a line too long.
    """
    types = column_types(header_of(content), text)
    with NamedTemporaryFile(prefix="loadcell-", suffix=".csv") as file:
        file.write(content)
        file.flush()
        try:
            relation = _connection().read_csv(
                file.name, header=True, delimiter=",", quotechar='"', escapechar='"',
                columns=sql_types(types), auto_detect=False, null_padding=True, parallel=False,
            )  # fmt: skip
            columns = relation.fetchnumpy()
        except duckdb.Error:
            return None
    return Frame({name: _column(columns[name], kind) for name, kind in types.items()})


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    """The connection for all files: making one takes as long as reading a small file."""
    return duckdb.connect()


def _column(values: npt.NDArray[Any], kind: ColumnType) -> Column:
    """A column as DuckDB returns it: a masked array where values are missing."""
    if kind == "text":
        texts = np.ma.getdata(values)
        texts[np.ma.getmaskarray(values)] = None
        return Text.of(texts.tolist())
    return np.ma.filled(values.astype(np.float64), np.nan)
