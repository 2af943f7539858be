"""Plain CSV with a mapping: a row a measurement, its columns named as a run's are."""

from __future__ import annotations

import csv
import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import dropwhile, islice
from pathlib import Path

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
IMPORT_NO_THROUGHPUT_COLUMN = MessageCode("import.no-throughput-column")
IMPORT_NO_COLUMN = MessageCode("import.no-column", path=str, column=str, columns=list)
IMPORT_SEVERAL_COLUMNS = MessageCode("import.several-columns", path=str, column=str, columns=list)
IMPORT_NO_HEAD = MessageCode("import.no-head", path=str, column=str)

#: Roles of a column, besides a factor of its name: throughput, counts, time, and latencies by `latency.p99`
#: ...
INTEGERS = ("throughput", "succeeded", "failed", "duration", "clients", "title")
LATENCIES = ("mean", "stdev", "min", "max", "p50", "p75", "p90", "p95", "p99", "p99.9", "p99.99")
TARGETS = (*INTEGERS, *(f"latency.{name}" for name in LATENCIES), "factor")
#: Any other name is a metric of the run, unless it is nearly one of these.
_METRIC = re.compile(r"[A-Za-z][A-Za-z0-9_%-]{0,63}")
_NEAR = 0.8

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
    """Every row with a throughput; others are unread.

    Latencies are taken as milliseconds, metrics as they stand; a metric's cell may be empty. Raises
    ImportProblemError, also for a metric's column without any number.
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
    unread, measured = Unread(), []
    for row in rows:
        try:
            measured.append(_measured(dict(zip(columns, row, strict=True)), mapping, unit))
        except ValueError:
            unread.add(",".join(row))
    _check_metrics(path, [dict(zip(columns, row, strict=False)) for row in rows], mapping)
    return Source(path, "csv", unread.reading(measured))


def _check_metrics(path: Path, rows: Sequence[Mapping[str, str]], mapping: Mapping[str, str]) -> None:
    for column, role in mapping.items():
        cells = [text for row in rows if (text := row.get(column, "").strip())]
        if role not in TARGETS and not any(_is_number(cell) for cell in cells):
            example = repr(cells[0]) if cells else "-"
            raise ImportProblemError(
                IMPORT_COLUMN_NO_NUMBERS(path=path, column=repr(column), example=example)
            )


def _is_number(text: str) -> bool:
    try:
        number(text)
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


def _measured(row: Mapping[str, str], mapping: Mapping[str, str], unit: str) -> Measured:
    """Read a row. Raises ValueError if it lacks a throughput, or a cell is no valid number."""
    named = {
        role: row[column] for column, role in mapping.items() if role != "factor" and row[column].strip()
    }
    if "throughput" not in named:
        raise ValueError("no throughput")
    factors = {column: row[column].strip() for column, role in mapping.items() if role == "factor"}
    response = {
        f"{role.removeprefix('latency.')}_ms": number(value)
        for role, value in named.items()
        if role.startswith("latency.")
    }
    metrics = {role: number(value) for role, value in named.items() if role not in TARGETS}
    counts = {role: count(named[role]) for role in ("succeeded", "failed", "clients") if role in named}
    duration = number(named["duration"]) if "duration" in named else None
    throughput = number(named["throughput"])
    if min(throughput, duration or 0, *counts.values()) < 0:
        raise ValueError("less than nothing")
    return Measured(
        named.get("title", ""), unit, throughput, counts.get("succeeded"), counts.get("failed"),
        duration, counts.get("clients"), response, metrics, dict(factors),
    )  # fmt: skip
