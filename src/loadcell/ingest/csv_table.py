"""Plain CSV with a mapping: a row a measurement, its columns named as a run's are."""

from __future__ import annotations

import csv
import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile, islice
from pathlib import Path
from typing import TypeVar

from loadcell.ingest import dating
from loadcell.ingest.base import ImportProblemError, Measured, Source, Unread
from loadcell.ingest.printed_numbers import count, number
from loadcell.ingest.read import IMPORT_FOLDER, is_directory, must_be_text
from loadcell.ingest.text import BLOCK_BYTES, Output
from loadcell.model.message import ForeignText, MessageCode

IMPORT_CSV_UNREADABLE = MessageCode("import.csv-unreadable", path=str, reason=ForeignText)
IMPORT_COLUMN_ROLE = MessageCode("import.column-role", text=str, roles=list)
IMPORT_COLUMN_ROLE_NEAR = MessageCode("import.column-role-near", text=str, near=str, roles=list)
IMPORT_COLUMN_TWICE = MessageCode("import.column-twice", text=str)
IMPORT_COLUMN_NO_NUMBERS = MessageCode("import.column-no-numbers", path=str, column=str, example=str)
IMPORT_COLUMN_NO_DATES = MessageCode("import.column-no-dates", path=str, column=str, example=str)
IMPORT_NO_THROUGHPUT_COLUMN = MessageCode("import.no-throughput-column")
IMPORT_NO_COLUMN = MessageCode("import.no-column", path=str, column=str, columns=list)
IMPORT_SEVERAL_COLUMNS = MessageCode("import.several-columns", path=str, column=str, columns=list)
IMPORT_NO_HEAD = MessageCode("import.no-head", path=str, column=str)

#: Roles of a column, besides a factor of its name: throughput, counts, length, beginning, and latencies by
#: `latency.p99` ...
INTEGERS = ("throughput", "succeeded", "failed", "duration", "clients", "title", "date")
LATENCIES = ("mean", "stdev", "min", "max", "p50", "p75", "p90", "p95", "p99", "p99.9", "p99.99")
TARGETS = (*INTEGERS, *(f"latency.{name}" for name in LATENCIES), "factor")
#: Any other name is a metric of the run, unless it is nearly one of these.
_METRIC = re.compile(r"[A-Za-z][A-Za-z0-9_%-]{0,63}")
_NEAR = 0.8

#: Without these a row is not read.
_ROW = ("throughput", "clients")
#: Characters of a cell in a message.
_SHOWN = 40

Value = TypeVar("Value")

#: What can stand between cells; where two show the same columns the first is taken.
_SEPARATORS = (",", ";", "\t", "|")


def parse(mapping: Iterable[str]) -> dict[str, str]:
    """`throughput=tps`, `latency.p99=p99 (ms)`, `factor=storage`, `cpu_mean=cpu` -> column -> what it is.

    A name that is no role is a metric. Raises ImportProblemError.
    """
    roles: dict[str, str] = {}
    for text in mapping:
        role, equals, column = text.partition("=")
        if not equals or not column or not (role in TARGETS or _METRIC.fullmatch(role)):
            raise ImportProblemError(IMPORT_COLUMN_ROLE(text=repr(text), roles=TARGETS))
        if role not in TARGETS and (near := difflib.get_close_matches(role, TARGETS, 1, _NEAR)):
            raise ImportProblemError(IMPORT_COLUMN_ROLE_NEAR(text=repr(text), near=near[0], roles=TARGETS))
        if column in roles or (role != "factor" and role in roles.values()):
            raise ImportProblemError(IMPORT_COLUMN_TWICE(text=repr(text)))
        roles[column] = role
    if "throughput" not in roles.values():
        raise ImportProblemError(IMPORT_NO_THROUGHPUT_COLUMN())
    return roles


def read_csv(path: Path, mapping: Mapping[str, str], unit: str) -> Source:
    """Every row with a throughput and, if mapped, usable clients; others are unread.

    Latencies are taken as milliseconds, metrics as they stand, dates as ISO 8601. Another cell may be empty,
    and is missing where it is no usable value. Raises ImportProblemError, also for a column without any.
    """
    try:
        columns, rows = _table(path, mapping)
    except (OSError, csv.Error) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or error
        raise ImportProblemError(IMPORT_CSV_UNREADABLE(path=path, reason=why)) from None
    for column in mapping:
        if columns.count(column) != 1:
            code = (
                IMPORT_SEVERAL_COLUMNS
                if column in columns
                else IMPORT_NO_COLUMN
                if columns
                else IMPORT_NO_HEAD
            )
            message = code.pick(path=path, column=repr(column), columns=list(map(repr, columns)))
            raise ImportProblemError(message)
    unread, missing, measured = Unread(), Unread(), []
    for row in rows:
        try:
            cells = _Cells(dict(zip(columns, row, strict=True)), mapping, missing)
            measured.append(_measured(cells, unit))
        except ValueError:
            unread.add(",".join(row))
    _check_columns(path, [dict(zip(columns, row, strict=False)) for row in rows], mapping)
    reading = replace(
        unread.reading(measured),
        missing=missing.count,
        missing_examples=tuple(missing.examples),
        unused=tuple(column for column in columns if column and column not in mapping),
    )
    return Source(path, "csv", reading)


def _check_columns(path: Path, rows: Sequence[Mapping[str, str]], mapping: Mapping[str, str]) -> None:
    """Raises ImportProblemError for a column of which no cell is what it is mapped to.

    Only a metric's column may not be empty.
    """
    for column, role in mapping.items():
        if role in (*_ROW, "title", "factor"):
            continue
        cells = [text for row in rows if (text := row.get(column, "").strip())]
        read = dating.instant if role == "date" else number
        if any(_is_read(read, cell) for cell in cells) or (role in TARGETS and not cells):
            continue
        code = IMPORT_COLUMN_NO_DATES if role == "date" else IMPORT_COLUMN_NO_NUMBERS
        example = repr(cells[0][:_SHOWN]) if cells else "-"
        raise ImportProblemError(code(path=path, column=repr(column), example=example))


def _is_read(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


def _table(path: Path, mapping: Mapping[str, str]) -> tuple[list[str], list[list[str]]]:
    """The names in the first line, and the rows below, parted by what shows the most of the columns that are
    asked for.
    """
    if is_directory(path):
        raise ImportProblemError(IMPORT_FOLDER(path=path))
    with path.open("rb") as file:
        must_be_text(path, file.read(BLOCK_BYTES))
    text = list(dropwhile(lambda line: not line.strip(), Output([path]).lines()))

    def names(separator: str) -> list[str]:
        return [cell.strip() for cell in next(csv.reader(text, delimiter=separator, skipinitialspace=True))]

    best = max(
        _SEPARATORS, key=lambda candidate: (len(set(names(candidate)) & set(mapping)), len(names(candidate)))
    )
    rows = csv.reader(text, delimiter=best, skipinitialspace=True)
    return names(best), [row for row in islice(rows, 1, None) if row]


@dataclass(frozen=True)
class _Cells:
    """The cells of a row by their roles; those that are no usable values are counted as missing."""

    row: Mapping[str, str]
    mapping: Mapping[str, str]
    missing: Unread

    def text(self, role: str) -> str:
        """Text of a cell; empty without such a column."""
        return next(
            (self.row[column].strip() for column, mapped in self.mapping.items() if mapped == role), ""
        )

    def required(self, role: str, read: Callable[[str], Value]) -> Value | None:
        """The value; None where it is empty. Raises ValueError if it is not usable."""
        text = self.text(role)
        value = read(text) if text else None
        if isinstance(value, int | float) and value < 0 and role in TARGETS:
            raise ValueError(role)
        return value

    def optional(self, role: str, read: Callable[[str], Value]) -> Value | None:
        """The value; None where it is empty or not usable."""
        try:
            return self.required(role, read)
        except ValueError:
            column = next(column for column, mapped in self.mapping.items() if mapped == role)
            self.missing.add(f"{column}: {self.text(role)[:_SHOWN]}")
            return None

    def numbers(self, *, of_latencies: bool) -> dict[str, float]:
        """Latencies, or metrics, by their roles."""
        roles = [
            role
            for role in self.mapping.values()
            if (role.startswith("latency.") if of_latencies else role not in TARGETS)
        ]
        values = {role: self.optional(role, number) for role in roles}
        return {role: value for role, value in values.items() if value is not None}


def _measured(cells: _Cells, unit: str) -> Measured:
    """Read a row. Raises ValueError if it lacks a throughput, or throughput or clients are no valid numbers:
    without these its place in the run is not known.
    """
    throughput, clients = cells.required("throughput", number), cells.required("clients", count)
    if throughput is None:
        raise ValueError("no throughput")
    latencies = cells.numbers(of_latencies=True)
    return Measured(
        cells.text("title"),
        unit,
        throughput,
        cells.optional("succeeded", count),
        cells.optional("failed", count),
        cells.optional("duration", number),
        clients,
        {f"{role.removeprefix('latency.')}_ms": value for role, value in latencies.items()},
        cells.numbers(of_latencies=False),
        {column: cells.row[column].strip() for column, role in cells.mapping.items() if role == "factor"},
        began_s=cells.optional("date", dating.instant),
    )
