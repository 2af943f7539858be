"""wrk 4, and wrk2, which prints the same head and the corrected distribution (`-L`) or both (`-U`)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from string import ascii_lowercase

from loadcell.ingest.base import (
    OUTPUT_CUT_SHORT,
    Measured,
    NotItsOutputError,
    PrintedTotal,
    Reading,
    Unread,
    understood,
)
from loadcell.ingest.checks import counted_rate, printed_total
from loadcell.ingest.printed_numbers import integer, milliseconds, number
from loadcell.ingest.readers import Reader, by_line
from loadcell.model.message import MessageCode

OUTPUT_WRK = MessageCode("output.wrk")

NAME = "wrk"

_HEAD = re.compile(r"Running (\S+) test @ (?P<url>\S+)")
_SIZE = re.compile(r"\s+(?P<threads>\d+) threads and (?P<clients>\d+) connections")
_LATENCY = re.compile(r"\s+Latency\s+(?P<mean>[\d.]+\w+)\s+(?P<stdev>[\d.]+\w+)\s+(?P<last>[\d.]+\w+)")
#: The last of its columns is a maximum, or in forks of wrk2 a percentile (`99%`).
_STATS = re.compile(r"\s+Thread Stats\s+Avg\s+Stdev\s+(?P<last>\d+%|Max)")
_PERCENT = re.compile(r"\s*(?P<rank>[\d.]+)%\s+(?P<time>[\d.]+[a-zµ]+)\s*$")
_COUNT = re.compile(r"\s+(?P<count>\d+) requests in (?P<time>[\d.]+\w+), ")
_RATE = re.compile(r"Requests/sec:\s+([\d.]+)\s*$")
_SOCKETS = re.compile(r"\s+Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)")
_STATUS = re.compile(r"\s+Non-2xx or 3xx responses: (\d+)")
#: wrk2's distributions; that of `-U` leaves out the time that requests waited to be sent.
_DISTRIBUTION = re.compile(r"\s+Latency Distribution(?: \(HdrHistogram - (?P<kind>\w+) Latency)?")
_MEAN = re.compile(r"\s*#?\[Mean\s+=\s+(?P<mean>[\d.]+), Std")
#: `5.095     0.550000      1914665         2.22`
_SPECTRUM = re.compile(r"\s*[\d.]+\s+[01]\.\d+\s+\d+\s+(?:[\d.]+|-?inf)\s*$")
_IGNORED_LINES = re.compile(
    r"\s+(Thread (Stats|calibration)|Req/Sec)|Transfer/sec:|"
    r"\s+Initialised|\s*[-#\[]|\s+Detailed|\s+Value"
)


def read(lines: Iterable[str]) -> Reading:
    """Each execution."""
    measured: list[Measured] = []
    unread, current = Unread(), None
    for line in lines:
        head = _HEAD.match(line)
        if head is not None:
            _close(current, measured, unread)
            current = _Execution(head["url"])
        elif current is None or not understood(current.take, line):
            unread.add(line)
    _close(current, measured, unread)
    if not measured and current is None:
        raise NotItsOutputError(OUTPUT_WRK())
    return unread.reading(measured)


def _close(current: _Execution | None, measured: list[Measured], unread: Unread) -> None:
    if current is None:
        return
    if current.count is None or not current.duration_s:
        unread.add(OUTPUT_CUT_SHORT(execution=NAME))
        return
    lost = sum(current.errors.values())
    well = max(0, current.count - current.errors.get("status", 0))
    rate, errors = well / current.duration_s, current.errors
    printed = list(current.printed)
    if current.rate_per_s is not None:  # of all requests; the count over the rounded time is up to 3% off
        rate = current.rate_per_s * (well / current.count if current.count else 1.0)
        printed += counted_rate("requests in time", well, current.duration_s, current.rounding_s)
    measured.append(
        Measured(
            "wrk",
            "request",
            rate,
            well,
            lost,
            current.duration_s,
            current.clients,
            current.response,
            {},
            current.settings,
            errors,
            printed=tuple(printed),
        )
    )


class _Execution:
    def __init__(self, url: str) -> None:
        self.settings: dict[str, str | int | float] = {"url": url}
        self.clients: int | None = None
        self.count: int | None = None
        self.duration_s: float | None = None
        self.rounding_s = 0.0
        self.rate_per_s: float | None = None
        self.response: dict[str, float] = {}
        self.errors: dict[str, int] = {}
        self.printed: list[PrintedTotal] = []
        self.uncorrected = False
        self.last = "max_ms"

    def take(self, line: str) -> bool:
        """True if the line was understood."""
        if (match := _SIZE.match(line)) is not None:
            self.clients, self.settings["threads"] = integer(match["clients"]), integer(match["threads"])
        elif (match := _LATENCY.match(line)) is not None:
            self.response |= {f"{name}_ms": milliseconds(match[name]) for name in ("mean", "stdev")}
            self.response[self.last] = milliseconds(match["last"])
        elif (match := _STATS.match(line)) is not None:
            rank = match["last"].removesuffix("%")
            self.last = "max_ms" if rank == "Max" else f"p{rank}_ms"
        elif (match := _DISTRIBUTION.match(line)) is not None:
            self.uncorrected = match["kind"] == "Uncorrected"
        elif (match := _MEAN.match(line)) is not None:
            if not self.uncorrected:
                self.printed.append(printed_total("Mean", match["mean"], "mean_ms"))
        elif _SPECTRUM.match(line) is not None:
            pass
        elif (match := _PERCENT.match(line)) is not None:
            percent = number(match["rank"])
            if percent < 100 and not self.uncorrected:
                self.response[f"p{percent:g}_ms"] = milliseconds(match["time"])
        elif (match := _COUNT.match(line)) is not None:
            self.count, self.duration_s = integer(match["count"]), milliseconds(match["time"]) / 1e3
            self.rounding_s = _rounding_s(match["time"])
        elif (match := _RATE.match(line)) is not None:
            self.rate_per_s = number(match[1])
        elif (match := _SOCKETS.match(line)) is not None:
            names = ("connect", "read", "write", "timeout")
            self.errors |= {
                name: integer(count)
                for name, count in zip(names, match.groups(), strict=True)
                if integer(count)
            }
        elif (match := _STATUS.match(line)) is not None:
            self.errors["status"] = integer(match[1])
        else:
            return _IGNORED_LINES.match(line) is not None or not line.strip()
        return True


def _rounding_s(time: str) -> float:
    """Half of the last digit of a time: 1 minute in `1.67m`, 0.3 s."""
    unit = milliseconds("1" + time.lstrip("0123456789.")) / 1e3
    return printed_total("", time.rstrip(ascii_lowercase), "", factor=unit).rounding


READER = Reader(NAME, by_line(read), anywhere=(b" test @ ",))
