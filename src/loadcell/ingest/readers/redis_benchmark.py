"""redis-benchmark 6 and later: its CSV (`--csv`) and its text."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from itertools import chain

from loadcell.ingest.base import Measured, NotItsOutputError, Reading, Unread
from loadcell.ingest.printed_numbers import number, real
from loadcell.ingest.readers import Reader, by_line
from loadcell.model.message import MessageCode

OUTPUT_REDIS_BENCHMARK = MessageCode("output.redis-benchmark")

NAME = "redis-benchmark"

_TITLE = re.compile(r"(?:.*\r|.* )?====== (?P<name>.+?) ======\s*$")
_DONE = re.compile(r"\s+(?P<count>\d+) requests completed in (?P<s>[\d.,]+) seconds")
_CLIENTS = re.compile(r"\s+(?P<clients>\d+) parallel clients")
_RATE = re.compile(r"\s+throughput summary: (?P<rate>[\d.,]+) requests per second")
_SUMMARY = re.compile(r"\s+avg\s+min\s+p50\s+p95\s+p99\s+max")
_PAYLOAD = re.compile(r"\s+(?P<bytes>\d+) bytes payload")
_IGNORED_LINES = re.compile(
    r"\s+(keep alive|host configuration|multi-thread|threads|node|latency summary|cluster|"
    r"throughput)|Latency by|[\d.]+% <=|Cumulative|Summary:|.*rps="
)
_NAMES = ("mean_ms", "min_ms", "p50_ms", "p95_ms", "p99_ms", "max_ms")
_COLUMNS = {
    "avg_latency_ms": "mean_ms",
    "min_latency_ms": "min_ms",
    "p50_latency_ms": "p50_ms",
    "p95_latency_ms": "p95_ms",
    "p99_latency_ms": "p99_ms",
    "max_latency_ms": "max_ms",
}


def read(lines: Iterable[str]) -> Reading:
    """Each test of the output, in either form."""
    unread = Unread()
    iterator = iter(lines)
    measured = _text(iterator, unread)
    return unread.reading(
        measured if isinstance(measured, list) else _csv(chain([measured], iterator), unread)
    )


def _csv(rows: Iterable[str], unread: Unread) -> list[Measured]:
    """The rows after the head."""
    measured = []
    for row in csv.DictReader(rows):
        if row.get("test") == "test":
            continue  # the head of the next execution
        try:
            response = {key: number(row[column]) for column, key in _COLUMNS.items() if row.get(column)}
            measured.append(Measured(row["test"], "request", number(row["rps"]), response=response))
        except (ValueError, TypeError, AttributeError):
            unread.add(",".join(str(value) for value in row.values()))
    return measured


def _text(rows: Iterable[str], unread: Unread) -> list[Measured] | str:
    """The head of the CSV instead, when that came."""
    measured: list[Measured] = []
    figures = False
    title: str | None = None
    values: dict[str, float] = {}
    for line in rows:
        if line.startswith('"test","rps"'):
            return line
        if (match := _TITLE.match(line)) is not None:
            title, values, figures = match["name"], {}, False
        elif title is None:
            if _IGNORED_LINES.match(line) is None:
                unread.add(line)
        elif (match := _DONE.match(line)) is not None:
            values |= {"count": real(match["count"]), "s": number(match["s"])}
        elif (match := _CLIENTS.match(line) or _PAYLOAD.match(line) or _RATE.match(line)) is not None:
            values |= {name: number(value) for name, value in match.groupdict().items()}
        elif _SUMMARY.match(line) is not None:
            figures = True
        elif figures:
            figures = False
            try:
                response = dict(zip(_NAMES, map(number, line.split()), strict=True))
            except ValueError:
                unread.add(line)
                continue
            measured.append(_measured(title, values, response))
        elif _IGNORED_LINES.match(line) is None:
            unread.add(line)
    if not measured:
        raise NotItsOutputError(OUTPUT_REDIS_BENCHMARK())
    return measured


def _measured(title: str, values: dict[str, float], response: dict[str, float]) -> Measured:
    count, clients = values.get("count"), values.get("clients")
    settings = {"payload_bytes": int(values["bytes"])} if "bytes" in values else {}
    return Measured(
        title,
        "request",
        values.get("rate"),
        int(count) if count is not None else None,
        None,
        values.get("s"),
        int(clients) if clients is not None else None,
        response,
        {},
        settings,
    )


READER = Reader(NAME, by_line(read), line_starts=(b'"test","rps"',), anywhere=(b"====== ",))
