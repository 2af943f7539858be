"""Tables of results for Arrow and pandas, which are extras: imported when a table is requested."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from loadcell.api.errors import CallError
from loadcell.model.message import MessageCode
from loadcell.store import frames
from loadcell.store.layout import FRONT, ColumnType, column_types

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

LIBRARY_MISSING = MessageCode("api.library-missing", package=str, python=str)


@dataclass(frozen=True)
class Columns:
    """Columns of one length, and their types."""

    frame: frames.Frame
    types: Mapping[str, ColumnType]

    @classmethod
    def of_frame(cls, frame: frames.Frame) -> Columns:
        """Columns of a run's files."""
        texts = {name for name, column in frame.columns.items() if isinstance(column, frames.Text)}
        return cls(frame, {**column_types(list(frame.columns), texts), **FRONT})

    @classmethod
    def of_rows(cls, rows: Sequence[Mapping[str, object]], types: Mapping[str, ColumnType]) -> Columns:
        """Rows as columns; what a row lacks is missing."""
        values = [[row.get(name) for name in types] for row in rows]
        return cls(frames.Frame.from_rows(types, values), types)

    def arrow(self) -> pa.Table:
        """The columns as an Arrow table: `string`, `int64` and `double`. Raises CallError without pyarrow."""
        arrow = _library("pyarrow")
        return arrow.table({name: self._array(arrow, name) for name in self.frame.columns})

    def _array(self, arrow: Any, name: str) -> pa.Array:
        column = self.frame.columns[name]
        if isinstance(column, frames.Text):
            codes = arrow.array(column.codes, mask=column.codes < 0)
            values = arrow.array(list(column.values), arrow.string())
            return arrow.DictionaryArray.from_arrays(codes, values).cast(arrow.string())
        missing = np.isnan(column)
        if self.types.get(name) == "integer":
            return arrow.array(np.where(missing, 0, column).astype(np.int64), mask=missing)
        return arrow.array(column, mask=missing)

    def pandas(self) -> pd.DataFrame:
        """The columns as a pandas frame; integers with missing values are `Int64`. Raises CallError without
        pandas.
        """
        library = _library("pandas")
        return library.DataFrame({name: self._series(library, name) for name in self.frame.columns})

    def _series(self, library: Any, name: str) -> pd.Series[Any]:
        column = self.frame.columns[name]
        if isinstance(column, frames.Text):
            return library.Series(column.tolist(), dtype="str")
        missing = np.isnan(column)
        if self.types.get(name) != "integer":
            return library.Series(column)
        integers = np.where(missing, 0, column).astype(np.int64)
        return library.Series(library.arrays.IntegerArray(integers, missing) if missing.any() else integers)


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise CallError(LIBRARY_MISSING(package=name, python=sys.executable)) from None
