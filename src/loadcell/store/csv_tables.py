"""CSV text as a frame, read by DuckDB."""

from __future__ import annotations

import os
from collections.abc import Collection
from functools import cache
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from loadcell.store.frames import Column, Frame, Text
from loadcell.store.layout import ColumnType, column_types, header_of, sql_types


def read_csv(content: bytes, text: Collection[str]) -> Frame | None:
    """A frame of complete lines that begin with a header, whose columns `text` hold text; None when a value
    is not of its column's type, a line too long, or a name unusable.
    """
    types = column_types(header_of(content), text)
    # In memory: the disk of temporary files may be full, and is no faster.
    with os.fdopen(os.memfd_create("loadcell-csv"), "wb") as file:
        file.write(content)
        file.flush()
        try:
            relation = _connection().read_csv(
                f"/proc/self/fd/{file.fileno()}", header=True, delimiter=",", quotechar='"', escapechar='"',
                columns=sql_types(types), auto_detect=False, null_padding=True, parallel=False,
            )  # fmt: skip
            columns = relation.fetchnumpy()
        except duckdb.Error:
            return None
    if columns.keys() != types.keys():  # a name with a NUL byte ends there for DuckDB
        return None
    return Frame({name: _column(columns[name], kind) for name, kind in types.items()})


#: No measured value is so large; sums of larger ones leave the range of floats. They count as missing.
_BEYOND_MEASURE = 1e100


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
    numbers: npt.NDArray[np.float64] = np.ma.filled(values.astype(np.float64), np.nan)
    return np.where(np.abs(numbers) < _BEYOND_MEASURE, numbers, np.nan)
