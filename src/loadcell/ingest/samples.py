"""Samples of a monitor's output: values at instants, in the columns of loadcell's monitor, others in a
separate table.
"""

from __future__ import annotations

import csv
import math
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, TypeVar

#: More instants than this (two days of seconds) are not taken from one file.
MOST = 200_000
#: Other values are held in memory up to this size, then in a file.
_SPOOLED_BYTES = 8 * 2**20

#: Columns of values without a dedicated column: their object (a device, a process; empty: the machine), name
#: and value.
OTHER_COLUMNS = ("object", "name", "value")

#: Rows that are written together.
ROWS_AT_ONCE = 4096

Row = TypeVar("Row")
How = Literal["set", "sum", "max"]


class TooManyError(Exception):
    """The file has more instants than are taken."""


@dataclass(frozen=True)
class OtherValue:
    """A value without a column."""

    object: str
    name: str
    value: float


class Samples:
    """Rows by the instant (s) they belong to; `absolute` where instants are seconds since 1970.

    `monitor` and `file` are those that such samples have in a run; `table` is what is beside them called.
    """

    def __init__(
        self, monitor: str, file: str, table: str, columns: Sequence[str], *, absolute: bool
    ) -> None:
        self.monitor, self.file, self.table, self.columns = monitor, file, table, tuple(columns)
        self.absolute = absolute
        self._rows: dict[float, array[float]] = {}
        self._places = {column: index for index, column in enumerate(columns)}
        self._instant: Callable[[float], float | None] = lambda at_s: at_s
        #: How far apart instants were taken to be, where the monitor printed no times.
        self.assumed_interval_s: float | None = None
        self._origin_s: float | None = None
        self._others = tempfile.SpooledTemporaryFile(  # noqa: SIM115 - closed with the samples
            _SPOOLED_BYTES, "w+", encoding="utf-8", newline=""
        )
        self._writer = csv.writer(self._others)
        self.others_count = 0

    def put(self, at_s: float, column: str, value: float, how: How = "set") -> None:
        """A value of an instant: several are added up, or the largest counts. Raises TooManyError."""
        row = self._row(at_s)
        position = self._places[column]
        old = row[position]
        if how == "set" or math.isnan(old):
            row[position] = value
        else:
            row[position] = old + value if how == "sum" else max(old, value)

    def get(self, at_s: float, column: str) -> float | None:
        """The value in a cell."""
        row = self._rows.get(at_s)
        value = math.nan if row is None else float(row[self._places[column]])
        return None if math.isnan(value) else value

    def touch(self, at_s: float) -> None:
        """There was a sample at this instant, whatever it held. Raises TooManyError."""
        self._row(at_s)

    def number(self, instant: Callable[[float], float | None]) -> None:
        """Instants of the rows put by number; a row without a known instant is left out."""
        self._instant = instant
        self._rows = {at_s: row for at_s, row in self._rows.items() if instant(at_s) is not None}

    def _row(self, at_s: float) -> array[float]:
        row = self._rows.get(at_s)
        if row is None:
            if len(self._rows) >= MOST:
                raise TooManyError
            row = self._rows[at_s] = array("d", [math.nan]) * len(self.columns)
        return row

    def add_other(self, at_s: float, kind: str, name: str, value: float) -> None:
        """A value that has no column. Raises TooManyError."""
        self._row(at_s)
        self._writer.writerow((repr(at_s), kind, name, repr(value)))
        self.others_count += 1

    def __len__(self) -> int:
        return len(self._rows)

    def _instants(self) -> list[tuple[float, float]]:
        """When, and under which key, in the order of time."""
        instants = ((self._instant(at_s), at_s) for at_s in self._rows)
        return sorted((when, at_s) for when, at_s in instants if when is not None)

    @property
    def origin_s(self) -> float:
        """Where the monitor's own clock begins; by default at the first instant."""
        return self.first_s if self._origin_s is None else self._origin_s

    @origin_s.setter
    def origin_s(self, origin_s: float) -> None:
        self._origin_s = origin_s

    @property
    def first_s(self) -> float:
        """The earliest instant."""
        return self._instants()[0][0]

    @property
    def last_s(self) -> float:
        """The latest instant."""
        return self._instants()[-1][0]

    def rows(self) -> Iterator[tuple[float, Mapping[str, float]]]:
        """Instants in their order, with what is known at each."""
        for when, at_s in self._instants():
            values = self._rows[at_s].tolist()
            yield (
                when,
                {column: value for column, value in zip(self.columns, values, strict=True) if value == value},
            )

    def others(self) -> Iterator[tuple[float, OtherValue]]:
        """Values without a column, in order."""
        self._others.flush()
        self._others.seek(0)
        for at_s, kind, name, value in csv.reader(self._others):
            when = self._instant(float(at_s))
            if when is not None:
                yield when, OtherValue(kind, name, float(value))

    def __del__(self) -> None:
        """The file is nobody else's."""
        self._others.close()


def batched(rows: Iterable[Row], count: int) -> Iterator[list[Row]]:
    """Rows in batches."""
    iterator = iter(rows)
    while some := list(islice(iterator, count)):
        yield some
