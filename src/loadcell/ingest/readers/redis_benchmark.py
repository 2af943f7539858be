"""redis-benchmark 2.6 and later, and valkey-benchmark: CSV (`--csv`), text, and short form (`-q`)."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from itertools import chain

from loadcell.ingest.base import Measured, NotItsOutputError, Reading, Unread, understood
from loadcell.ingest.checks import counted_rate
from loadcell.ingest.printed_numbers import integer, number
from loadcell.ingest.readers import Reader, by_line
from loadcell.model.message import MessageCode

OUTPUT_REDIS_BENCHMARK = MessageCode("output.redis-benchmark")

NAME = "redis-benchmark"

_TITLE = re.compile(r"(?:.*\r|.* )?====== (?P<name>.+?) ======\s*$")
_DONE = re.compile(r"\s*(?P<count>\d+) requests completed in (?P<s>[\d.,]+) seconds")
_CLIENTS = re.compile(r"\s*(?P<clients>\d+) parallel clients")
_RATE = re.compile(r"\s*throughput summary: (?P<rate>[\d.,]+) requests per second")
_SUMMARY = re.compile(r"\s*avg\s+min\s+p50\s+p95\s+p99\s+max")
_SETTING = re.compile(
    r"\s*(?:(?P<payload_bytes>\d+) bytes payload|keep alive: (?P<keep_alive>\d)|threads: (?P<threads>\d+)|"
    r"multi-thread: (?P<single>no)|"
    r"host configuration \"(?P<key>\w+)\": (?P<value>.*))"
)
#: Before 6.2 the end of a test, after the share of requests up to each millisecond.
_OLD_RATE = re.compile(r"(?P<rate>[\d.]+) requests per second\s*$")
#: Of `-q`: the only line of a test, without the median before 6.2.
_QUIET = re.compile(
    r"(?:(?P<test>\S.*): (?P<rate>[\d.]+) requests per second, p50=(?P<p50>[\d.]+) msec|"
    r"(?P<old_test>[A-Z]+(?:_[A-Z0-9]+)?(?: \([^)]*\))?): (?P<old_rate>[\d.]+) requests per second)\s*$"
)
_SHARE = re.compile(r"(?P<share>[\d.]+)% <= (?P<ms>[\d.]+) milliseconds\s*$")
_TIME_ROUNDING_S = 0.005
_RANKS = (50, 90, 95, 99, 99.9)
#: A row of the CSV of before 6.2, which has no head.
_OLD_ROW = re.compile(r'"(?P<test>[A-Z]+(?:_[A-Z0-9]+)?(?: \([^"]*\))?)","(?P<rps>[\d.]+)"\s*$')
_IGNORED_LINES = re.compile(
    r"\s*(host configuration|multi-thread|node|latency summary|cluster|throughput)|Latency by|"
    r"[\d.]+% <=|Cumulative|Summary:|.*rps=|WARNING: Keepalive"
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
    test: _Test | None = None
    for line in rows:
        if line.startswith('"test","rps"'):
            return line
        if (title := _TITLE.match(line)) is not None:
            test = _Test(title["name"])
        elif (row := _OLD_ROW.match(line)) is not None:
            measured.append(Measured(row["test"], "request", number(row["rps"])))
        elif (quiet := _QUIET.match(line)) is not None:
            measured.append(_quiet(quiet))
        elif test is not None and understood(test.take, line):
            if test.ended:
                measured.append(test.measured())
                test = None
        elif _IGNORED_LINES.match(line) is None:
            unread.add(line)
    if not measured:
        raise NotItsOutputError(OUTPUT_REDIS_BENCHMARK())
    return measured


def _quiet(line: re.Match[str]) -> Measured:
    response = {"p50_ms": number(line["p50"])} if line["p50"] else {}
    rate = number(line["rate"] or line["old_rate"])
    return Measured(line["test"] or line["old_test"], "request", rate, response=response)


class _Test:
    """The text of one test."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.ended = False
        self._values: dict[str, float] = {}
        self._settings: dict[str, str | int | float] = {}
        self._response: dict[str, float] = {}
        self._times_follow = False

    def take(self, line: str) -> bool:
        """True if the line was understood. Raises ValueError."""
        if self._times_follow:
            self._times_follow = False
            self._response = dict(zip(_NAMES, map(number, line.split()), strict=True))
            self.ended = True
        elif (match := _DONE.match(line)) is not None:
            self._values |= {"count": integer(match["count"]), "s": number(match["s"])}
        elif (match := _CLIENTS.match(line) or _RATE.match(line)) is not None:
            self._values |= {name: number(value) for name, value in match.groupdict().items()}
        elif (match := _SETTING.match(line)) is not None:
            self._set(match)
        elif (match := _OLD_RATE.match(line)) is not None:
            self._values["rate"] = number(match["rate"])
            self.ended = True
        elif (match := _SHARE.match(line)) is not None:
            self._share(number(match["share"]), number(match["ms"]))
        else:
            self._times_follow = _SUMMARY.match(line) is not None
            return self._times_follow
        return True

    def _set(self, match: re.Match[str]) -> None:
        for name in ("payload_bytes", "threads"):
            if match[name]:
                self._settings[name] = integer(match[name])
        if match["keep_alive"]:
            self._settings["keep_alive"] = "yes" if integer(match["keep_alive"]) else "no"
        if match["single"]:
            self._settings["threads"] = 1
        if match["key"]:
            self._settings[match["key"]] = match["value"].strip() or "none"

    def _share(self, percent: float, ms: float) -> None:
        """Times of old versions are whole milliseconds, of which 0 stands for anything below one."""
        for rank in _RANKS:
            if percent >= rank:
                self._response.setdefault(f"p{rank:g}_ms", ms)

    def measured(self) -> Measured:
        values = self._values
        count, clients = values.get("count"), values.get("clients")
        return Measured(
            self.title,
            "request",
            values.get("rate"),
            int(count) if count is not None else None,
            None,
            values.get("s"),
            int(clients) if clients is not None else None,
            {name: ms for name, ms in self._response.items() if ms},
            {},
            self._settings,
            printed=counted_rate("requests completed in seconds", count, values.get("s"), _TIME_ROUNDING_S)
            if "rate" in values
            else (),
        )


READER = Reader(
    NAME, by_line(read), line_starts=(b'"test","rps"',), anywhere=(b"====== ", b" requests per second")
)
