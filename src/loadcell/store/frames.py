"""Immutable tables in memory: named columns of numbers and texts, with the few operations that analysis and
charts need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from loadcell.store.layout import ColumnType

Numbers = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Text:
    """A column of texts: row `i` is `values[codes[i]]`; the code -1 is a missing text."""

    codes: npt.NDArray[np.int32]
    values: tuple[str, ...]

    @classmethod
    def of(cls, texts: Sequence[str | None]) -> Text:
        """Encode texts; codes are in the order of first appearance."""
        distinct = dict.fromkeys(texts)
        distinct.pop(None, None)
        codes: dict[str | None, int] = dict(zip(distinct, range(len(distinct)), strict=True))
        codes[None] = -1
        numbers = np.fromiter(map(codes.__getitem__, texts), np.int32, len(texts))
        return cls(numbers, tuple(text for text in distinct if text is not None))

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Rows | Mask | slice) -> Text:
        return Text(self.codes[rows], self.values)

    def isin(self, *texts: str) -> Mask:
        """Mask of the rows with one of these texts."""
        return np.isin(self.codes, [code for code, value in enumerate(self.values) if value in texts])

    def map(self, function: Callable[[str], float | None]) -> Numbers:
        """A number for each row, by its text; NaN where the function returns None or the text is missing."""
        numbers = [function(value) for value in self.values]
        table = np.array([np.nan if number is None else number for number in (*numbers, None)], np.float64)
        return table[self.codes]

    def ranks(self) -> Rows:
        """Position of each row's text in sorted order; missing texts come first."""
        ranks = np.zeros(len(self.values) + 1, dtype=np.intp)
        ranks[np.array(sorted(range(len(self.values)), key=self.values.__getitem__), dtype=np.intp)] = (
            np.arange(len(self.values)) + 1
        )
        return ranks[self.codes]

    def tolist(self) -> list[str | None]:
        """Plain texts, None where missing."""
        table = (*self.values, None)
        return [table[code] for code in self.codes.tolist()]


Column = Numbers | Text


@dataclass(frozen=True, eq=False)
class Frame:
    """Columns of one length by name. In numbers NaN stands for a missing value."""

    columns: Mapping[str, Column]

    @classmethod
    def from_rows(cls, types: Mapping[str, ColumnType], rows: Iterable[Sequence[Any]]) -> Frame:
        """A frame of rows whose values are in the order of `types`; integers become numbers, None is a
        missing value.
        """
        by_column = list(zip(*rows, strict=True)) or [()] * len(types)
        return cls(
            {
                name: Text.of(values) if kind == "text" else number_column(values)
                for (name, kind), values in zip(types.items(), by_column, strict=True)
            }
        )

    @classmethod
    def concat(cls, frames: Sequence[Frame]) -> Frame:
        """Rows of all frames, one frame after the other; a column that a frame lacks is empty in its rows."""
        if len(frames) == 1:
            return frames[0]
        names = dict.fromkeys(name for frame in frames for name in frame.columns)
        return cls({name: _concat([frame.columns.get(name) for frame in frames], frames) for name in names})

    def __len__(self) -> int:
        return next((len(column) for column in self.columns.values()), 0)

    def has(self, *names: str) -> bool:
        """True when the frame has all these columns."""
        return all(name in self.columns for name in names)

    def numbers(self, name: str) -> Numbers:
        """A column of numbers; of a column of texts, all missing. Raises KeyError."""
        column = self.columns[name]
        return np.full(len(column), np.nan) if isinstance(column, Text) else column

    def text(self, name: str) -> Text:
        """A column of texts; of a column of numbers, all missing. Raises KeyError."""
        column = self.columns[name]
        return column if isinstance(column, Text) else Text(np.full(len(column), -1, np.int32), ())

    def has_values(self, name: str) -> bool:
        """True when the column exists and has a value that is not missing."""
        column = self.columns.get(name)
        if column is None:
            return False
        return bool((column.codes >= 0).any() if isinstance(column, Text) else (~np.isnan(column)).any())

    def take(self, rows: Rows | Mask | slice) -> Frame:
        """The rows of a mask, a slice, or of indexes in their order."""
        return Frame({name: column[rows] for name, column in self.columns.items()})

    def select(self, *names: str) -> Frame:
        """These columns only. Raises KeyError."""
        return Frame({name: self.columns[name] for name in names})

    def adding(self, columns: Mapping[str, Column]) -> Frame:
        """The frame with further or replaced columns."""
        return Frame({**self.columns, **columns})

    def sorted_by(self, *names: str) -> Frame:
        """Rows in ascending order of these columns; equal rows keep their order."""
        return self.take(np.lexsort([_ranks(self.columns[name]) for name in reversed(names)]))

    def groups(self, *names: str) -> Groups:
        """Groups of rows with equal values in these columns, in the order of their first rows."""
        return group_rows(*(self.columns[name] for name in names))

    def rows(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """Plain values of these columns row by row; None where missing."""
        return zip(*(plain_values(self.columns[name]) for name in names), strict=True)


@dataclass(frozen=True)
class Groups:
    """A partition of rows: the group number of each row, and the first row of each group."""

    index: Rows
    first: Rows

    def __len__(self) -> int:
        return len(self.first)

    @cached_property
    def _order(self) -> Rows:
        return np.argsort(self.index, kind="stable")

    @cached_property
    def sizes(self) -> Rows:
        """Number of rows in each group."""
        return np.bincount(self.index, minlength=len(self))

    @cached_property
    def _starts(self) -> Rows:
        return np.cumsum(self.sizes) - self.sizes

    def count(self, values: Numbers) -> Rows:
        """Number of values in each group that are not missing."""
        counts: Rows = np.bincount(self.index[~np.isnan(values)], minlength=len(self))
        return counts

    def sum(self, values: Numbers) -> Numbers:
        """Sum of the values in each group; 0 without any."""
        weights = np.where(np.isnan(values), 0.0, values)
        return np.bincount(self.index, weights=weights, minlength=len(self)).astype(np.float64)

    def sum_of_any(self, values: Numbers) -> Numbers:
        """Sum of the values in each group; NaN without any."""
        sums: Numbers = np.where(self.count(values) > 0, self.sum(values), np.nan)
        return sums

    def mean(self, values: Numbers) -> Numbers:
        """Mean of the values in each group; NaN without any."""
        return quotient(self.sum(values), self.count(values))

    def max(self, values: Numbers) -> Numbers:
        """Largest value of each group; NaN without any."""
        return self._reduce(np.fmax, values)

    def min(self, values: Numbers) -> Numbers:
        """Smallest value of each group; NaN without any."""
        return self._reduce(np.fmin, values)

    def last(self) -> Rows:
        """Last row of each group."""
        rows: Rows = self._order[self._starts + self.sizes - 1]
        return rows

    def positions(self) -> Rows:
        """Position of each row within its group, from 0."""
        positions = np.empty(len(self.index), dtype=np.intp)
        positions[self._order] = np.arange(len(self.index)) - np.repeat(self._starts, self.sizes)
        return positions

    def parts(self) -> list[Rows]:
        """Rows of each group."""
        return np.split(self._order, self._starts[1:]) if len(self) else []

    def _reduce(self, function: np.ufunc, values: Numbers) -> Numbers:
        reduced: Numbers = function.reduceat(values[self._order], self._starts)
        return reduced


def group_rows(*columns: Column | npt.NDArray[Any]) -> Groups:
    """Groups of rows with equal values in all columns (at least one), in the order of their first rows."""
    combined: Rows = np.zeros(len(columns[0]), dtype=np.intp)
    for column in columns:
        keys, codes = np.unique(
            column.codes if isinstance(column, Text) else column, return_inverse=True, equal_nan=True
        )
        combined = combined * len(keys) + codes
    _, first, index = np.unique(combined, return_index=True, return_inverse=True)
    order = np.argsort(first)
    numbers = np.empty(len(order), dtype=np.intp)
    numbers[order] = np.arange(len(order))
    return Groups(numbers[index], first[order])


def matching_rows(frame: Frame, other: Frame, *names: str) -> Rows:
    """For each row of `frame` the row of `other` with equal values in these columns; -1 if there is none."""
    rows = {key: row for row, key in enumerate(other.rows(*names))}
    return np.array([rows.get(key, -1) for key in frame.rows(*names)], dtype=np.intp)


def taken(values: Numbers, rows: Rows) -> Numbers:
    """Values at these rows; NaN for -1, as `matching_rows` returns it."""
    return np.append(values, np.nan)[rows]


def number_column(values: Iterable[float | None]) -> Numbers:
    """A column of numbers; None becomes NaN."""
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def plain_values(column: Column) -> list[Any]:
    """Values as Python has them; None where missing."""
    values = column.tolist()
    return values if isinstance(column, Text) else [None if value != value else value for value in values]


def quotient(part: npt.NDArray[Any], base: npt.NDArray[Any]) -> Numbers:
    """`part / base`; NaN where `base` is 0 or missing."""
    divided: Numbers = np.divide(part, base, out=np.full(len(part), np.nan), where=base != 0)
    return divided


def _ranks(column: Column) -> npt.NDArray[Any]:
    return column.ranks() if isinstance(column, Text) else column


def _concat(columns: Sequence[Column | None], frames: Sequence[Frame]) -> Column:
    if any(isinstance(column, Text) for column in columns):
        codes_by_text: dict[str, int] = {}
        codes = []
        for column, frame in zip(columns, frames, strict=True):
            text = column if isinstance(column, Text) else Text(np.full(len(frame), -1, np.int32), ())
            table = np.array(
                [*(codes_by_text.setdefault(value, len(codes_by_text)) for value in text.values), -1],
                np.int32,
            )
            codes.append(table[text.codes])
        return Text(np.concatenate(codes), tuple(codes_by_text))
    return np.concatenate(
        [
            np.full(len(frame), np.nan) if column is None else column
            for column, frame in zip(columns, frames, strict=True)
        ]
    )


def repeated(counts: Sequence[int]) -> Rows:
    """Each index as often as its count."""
    return np.repeat(np.arange(len(counts)), counts)
