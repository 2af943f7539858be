"""netperf 2: its tables of streams and of requests, `-D`'s interim results, and `-k`'s keys of the omni
tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from loadcell.ingest import checks
from loadcell.ingest.base import (
    OUTPUT_CUT_SHORT,
    Interval,
    Measured,
    NotItsOutputError,
    PrintedTotal,
    Reading,
    Unread,
    understood,
)
from loadcell.ingest.checks import THROUGHPUT, printed_total
from loadcell.ingest.printed_numbers import real
from loadcell.ingest.readers import Reader, by_line
from loadcell.model.message import MessageCode

OUTPUT_NETPERF = MessageCode("output.netperf")

NAME = "netperf"

_HEAD = re.compile(
    r"(?:MIGRATED )?(?P<test>[A-Z]{2,}[A-Za-z]*(?: [A-Za-z/|]+)+) TEST (?:from .*? to |to )(?P<host>\S+)"
)
_INTERIM = re.compile(
    r"Interim result:\s+(?P<rate>[\d.]+) (?P<unit>\S+) over (?P<s>[\d.]+) seconds ending at [\d.]+"
)
_KEY = re.compile(r"(?P<key>[A-Z0-9_]{3,})=(?P<value>.*)")
_ROW = re.compile(r"\s*[\d.]+(?:\s+[-\d.]+)*\s*$")
_UNITS_OF_HEAD = re.compile(r"(10\^[369]bits|[KMG]Bytes)\s*/s")
_NOT_CONFIDENT = "!!! Desired confidence was not achieved"
_CONFIDENCE = re.compile(r"!!! Confidence intervals: Throughput\s*:\s*([\d.]+)%")
_IGNORED_LINES = re.compile(
    r"Recv +Send|Local ?/|Socket|Size +|bytes +|Send +|!!!|catcher:|Throughput|Utilization|"
    r"Service|RX |TX |enable_enobufs|Minimum|Microseconds"
)

#: Stands for a test whose head was not printed.
_OMNI = "omni"
#: The head's words for a test, and what `-t` calls it.
_TESTS = {"REQUEST/RESPONSE": "RR", "Connect/Request/Response": "CRR", "UNIDIRECTIONAL SEND": "STREAM"}
#: Bytes a second of one unit of a stream's throughput.
_BYTES = {
    "10^3bits": 1e3 / 8,
    "10^6bits": 1e6 / 8,
    "10^9bits": 1e9 / 8,
    "KBytes": 2**10,
    "MBytes": 2**20,
    "GBytes": 2**30,
}
#: `-k` keys, and the record's keys of times; netperf has them in microseconds.
_LATENCIES = {
    "MIN_LATENCY": "min_ms", "MEAN_LATENCY": "mean_ms", "MAX_LATENCY": "max_ms", "STDDEV_LATENCY": "stdev_ms",
    "P50_LATENCY": "p50_ms", "P90_LATENCY": "p90_ms", "P99_LATENCY": "p99_ms",
}  # fmt: skip
#: The heads of `-o` (a row of values between commas) for the same keys.
_CSV_KEYS = {
    "Throughput": "THROUGHPUT", "Throughput Units": "THROUGHPUT_UNITS", "Elapsed Time (sec)": "ELAPSED_TIME",
    "Protocol": "PROTOCOL", "Direction": "DIRECTION", "Transaction Rate Tran/s": "TRANSACTION_RATE",
    "Minimum Latency Microseconds": "MIN_LATENCY", "Mean Latency Microseconds": "MEAN_LATENCY",
    "Maximum Latency Microseconds": "MAX_LATENCY", "Stddev Latency Microseconds": "STDDEV_LATENCY",
    "50th Percentile Latency Microseconds": "P50_LATENCY",
    "90th Percentile Latency Microseconds": "P90_LATENCY",
    "99th Percentile Latency Microseconds": "P99_LATENCY",
}  # fmt: skip


def read(lines: Iterable[str]) -> Reading:
    """Each test: transactions per second of requests; received MiB per second of streams (and 10^6 bit/s as a
    metric), also of requests that were printed in bits (`-f`).

    Keys (`-k`) without a head (`-P 0`) are a test, too; a key that comes again begins the next one.
    """
    measured: list[Measured] = []
    unread = Unread()
    current: _Test | None = None
    for line in lines:
        head = _HEAD.match(line)
        if head is not None:
            _close(current, measured, unread)
            current = _Test(_named(head["test"]), head["host"])
        else:
            if (key := _KEY.match(line)) is not None and (current is None or current.has_value(key["key"])):
                if current is not None:
                    _close(current, measured, unread)
                current = _Test(_OMNI)
            if current is None or not understood(current.take, line):
                unread.add(line)
    _close(current, measured, unread)
    if not measured and (current is None or current.name == _OMNI):
        raise NotItsOutputError(OUTPUT_NETPERF())
    return unread.reading(measured)


def _close(current: _Test | None, parts: list[Measured], unread: Unread) -> None:
    if current is None:
        return
    measured = current.measured()
    if measured is None:
        unread.add(OUTPUT_CUT_SHORT(execution=f"netperf {current.name}"))
    else:
        parts.append(measured)


def _named(words: str) -> str:
    protocol, _, kind = words.partition(" ")
    return f"{protocol}_{_TESTS.get(kind, kind.replace(' ', '_'))}"


class _Test:
    """Lines of one test, as they come."""

    def __init__(self, name: str, host: str = "") -> None:
        self.name = name
        self.stream = not name.endswith(("RR", "_CC"))
        self.unit = "10^6bits" if self.stream else "Trans"
        self.rows: list[list[float]] = []
        self.keys: dict[str, str] = {}
        #: The names of the next row of `-o`.
        self.csv_head: list[str] = []
        self.intervals: list[Interval] = []
        self.figures: dict[str, float] = {}
        self.settings: dict[str, str | int | float] = {"host": host} if host else {}
        self.ended_s = 0.0

    def has_value(self, key: str) -> bool:
        """True if the key was printed already, so that it begins another test."""
        return key in self.keys

    def take(self, line: str) -> bool:
        """True if the line was understood."""
        values = line.strip().split(",")
        if len(values) > 1 and "Throughput" in values:
            self.csv_head = values
        elif len(values) > 1 and len(values) == len(self.csv_head):
            named = zip(self.csv_head, values, strict=True)
            self.keys |= {_CSV_KEYS[name]: value for name, value in named if name in _CSV_KEYS}
        elif (match := _INTERIM.match(line)) is not None:
            length_s = real(match["s"])
            rate = self._rate(real(match["rate"]), match["unit"].partition("/")[0])
            self.intervals.append(Interval(self.ended_s, length_s, rate))
            self.ended_s += length_s
        elif (match := _KEY.match(line)) is not None:
            self.keys[match["key"]] = match["value"].strip()
        elif _ROW.match(line) is not None:
            self.rows.append([real(word) for word in line.split()])
        elif line.startswith(_NOT_CONFIDENT):
            self.settings["confidence"] = "not achieved"
        elif (match := _CONFIDENCE.match(line)) is not None:
            self.figures["throughput_interval_percent"] = real(match[1])
        else:
            if (unit := _UNITS_OF_HEAD.search(line)) is not None:
                self.unit = unit[1]
            return _IGNORED_LINES.match(line) is not None or not line.strip()
        return True

    def _rate(self, value: float, unit: str) -> float:
        """Transactions a second as they are, a stream in MiB."""
        return value * _BYTES[unit] / 2**20 if unit in _BYTES else value

    def measured(self) -> Measured | None:
        """None when it ended before it said what came out."""
        figures = self._of_keys() if "THROUGHPUT" in self.keys else self._of_table()
        if figures is None or (self.name == _OMNI and not self.keys.get("THROUGHPUT_UNITS")):
            return None
        value, length_s = figures
        unit = self.keys.get("THROUGHPUT_UNITS", "").partition("/")[0] or self.unit
        if unit in _BYTES:
            self.figures["mbits_per_s"] = value * _BYTES[unit] * 8 / 1e6
        response = {
            name: real(self.keys[key]) / 1e3 for key, name in _LATENCIES.items() if self.keys.get(key)
        }
        rate = self._rate(value, unit)
        printed = [PrintedTotal("Throughput", rate, checks.INTERVALS)]
        if unit not in _BYTES and self.keys.get("TRANSACTION_RATE"):
            printed.append(printed_total("TRANSACTION_RATE", self.keys["TRANSACTION_RATE"], THROUGHPUT))
        return Measured(
            self._title(),
            "MiB" if unit in _BYTES else "transaction",
            rate,
            duration_s=length_s,
            clients=1,
            response=response,
            figures=self.figures,
            settings=self.settings,
            intervals=tuple(self.intervals),
            printed=tuple(printed),
        )

    def _title(self) -> str:
        """The test's name; without a head what its keys say of it."""
        words = [self.keys[key] for key in ("PROTOCOL", "DIRECTION") if self.keys.get(key)]
        return "_".join(words) if self.name == _OMNI and words else self.name

    def _of_keys(self) -> tuple[float, float | None]:
        length = self.keys.get("ELAPSED_TIME")
        return real(self.keys["THROUGHPUT"]), real(length) if length else None

    def _of_table(self) -> tuple[float, float] | None:
        """Throughput and time of the table's row; for datagrams those that arrived, in the second row."""
        if not self.rows:
            return None
        first = self.rows[0]
        if not self.stream:
            if len(first) < 6:
                return None
            self.settings |= {"request_bytes": int(first[2]), "response_bytes": int(first[3])}
            return first[5], first[4]
        if self.name.startswith("UDP") and len(first) >= 6:
            self.figures |= {
                "sent_mbits_per_s": first[5] * _BYTES[self.unit] * 8 / 1e6,
                "send_errors": first[4],
            }
            self.settings["message_bytes"] = int(first[1])
            arrived = self.rows[1] if len(self.rows) > 1 else []
            return (arrived[3], arrived[1]) if len(arrived) >= 4 else None
        if len(first) < 5:
            return None
        self.settings["message_bytes"] = int(first[2])
        return first[4], first[3]


READER = Reader(NAME, by_line(read), line_starts=(b"THROUGHPUT=",), anywhere=(b" TEST from ", b" TEST to "))
