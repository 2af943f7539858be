"""Plain CSV with a mapping: a row a measurement, its columns named as a run's are."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path

from loadcell.imports.formats import ImportProblemError, Source
from loadcell.tools.base import Measured, Unread, number

#: What a column can be, beside a factor of its own name: throughput, counts, time, and latencies by `latency.p99` ...
WHOLE = ("throughput", "succeeded", "failed", "duration", "clients", "title")
LATENCIES = ("mean", "stdev", "min", "max", "p50", "p75", "p90", "p95", "p99", "p99.9", "p99.99")
TARGETS = (*WHOLE, *(f"latency.{name}" for name in LATENCIES), "factor")


def parse(mapping: Iterable[str]) -> dict[str, str]:
    """`throughput=tps`, `latency.p99=p99 (ms)`, `factor=storage` -> column -> what it is. Raises ImportProblemError."""
    found: dict[str, str] = {}
    for text in mapping:
        what, equals, column = text.partition("=")
        if not equals or what not in TARGETS or not column:
            raise ImportProblemError(
                f"--column {text!r} maps nothing: write WHAT=COLUMN, where WHAT is one of {', '.join(TARGETS)}."
            )
        found[column] = what
    if "throughput" not in found.values():
        raise ImportProblemError("no column is mapped to throughput: add --column throughput=COLUMN.")
    return found


def read_csv(path: Path, mapping: Mapping[str, str], unit: str) -> Source:
    """Every row with a throughput; others are unread. Latencies are taken as milliseconds. Raises ImportProblemError."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, csv.Error) as error:
        raise ImportProblemError(
            f"{path} cannot be read: {error}. Check its name, its rights and its quotes."
        ) from None
    columns = list(rows[0]) if rows else []
    missing = [column for column in mapping if column not in columns]
    if missing:
        raise ImportProblemError(
            f"{path} has no column {missing[0]!r}: it has {', '.join(map(str, columns)) or 'no rows'}."
        )
    unread, found = Unread(), []
    for row in rows:
        try:
            found.append(_measured(row, mapping, unit))
        except (ValueError, TypeError, AttributeError):
            unread.add(",".join(str(value) for value in row.values()))
    return Source(path, "csv", unread.reading(found))


def _measured(row: Mapping[str, str], mapping: Mapping[str, str], unit: str) -> Measured:
    named = {
        what: row[column] for column, what in mapping.items() if what != "factor" and row[column].strip()
    }
    factors = {column: row[column].strip() for column, what in mapping.items() if what == "factor"}
    response = {
        f"{what.removeprefix('latency.')}_ms": number(value)
        for what, value in named.items()
        if what.startswith("latency.")
    }
    whole = {what: int(number(named[what])) for what in ("succeeded", "failed", "clients") if what in named}
    duration = number(named["duration"]) if "duration" in named else None
    return Measured(
        named.get("title", ""), unit, number(named["throughput"]), whole.get("succeeded"), whole.get("failed"),
        duration, whole.get("clients"), response, {}, dict(factors),
    )  # fmt: skip
