"""ApacheBench of Apache 1.3 to 2.4."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from loadcell.ingest.base import (
    OUTPUT_CUT_SHORT,
    Measured,
    NotItsOutputError,
    Reading,
    Unread,
    understood,
)
from loadcell.ingest.checks import counted_rate
from loadcell.ingest.printed_numbers import integer, number, real
from loadcell.ingest.readers import PrintedForPeople, Reader, by_line
from loadcell.model.message import Labels, MessageCode

#: Times that reports have names for.
_FIGURE = Labels("figure", ("connect_mean_ms", "processing_mean_ms", "waiting_mean_ms"))
OUTPUT_AB = MessageCode("output.ab", head=str)

NAME = "ab"

#: The time of the tests is printed in milliseconds.
_TIME_ROUNDING_S = 0.0005
_HEAD = "This is ApacheBench"
_FIELDS = {
    "Concurrency Level": "clients",
    "Time taken for tests": "duration",
    "Complete requests": "complete",
    "Failed requests": "failed",
    "Non-2xx responses": "non_2xx",
    "Requests per second": "rate",
    "Document Length": "length",
    "Document Path": "path",
    "Transfer rate": "transfer",
    "Server Software": "server",
    "Server Hostname": "host",
    "Server Port": "port",
    "SSL/TLS Protocol": "tls",
    "Write errors": "write_errors",
    "Broken pipe errors": "write_errors",
    "Keep-Alive requests": "keep_alive_requests",
}
_FIELD = re.compile(r"(?P<name>[A-Z][\w /-]+?):\s+(?P<value>\S.*)")
#: The first of the fields of a summary, which may have been copied without the head.
_BEGIN = ("Server Software", "Server Hostname", "Document Path", "Concurrency Level")
#: Before 2.2 without `Receive`.
_CLASSES = re.compile(
    r"\s*\(Connect: (?P<connect>\d+),(?: Receive: (?P<receive>\d+),)? Length: (?P<length>\d+), "
    r"Exceptions: (?P<exceptions>\d+)\)"
)
#: With `-S` without deviation and median.
_TIMES = re.compile(
    r"(?P<name>Connect|Processing|Waiting|Total):\s+(?P<min>\d+)\s+(?P<mean>\d+)\s+"
    r"(?:(?P<stdev>[\d.]+)\s+\d+\s+)?(?P<max>\d+)\s*$"
)
_PERCENT = re.compile(r"\s*(\d+)%\s+(\d+)")
_IGNORED_LINES = re.compile(
    r"Copyright|Licensed|Benchmarking|Completed|Finished|Total transferred|"
    r"HTML transferred|"
    r"Server Temp|TLS Server|Server Software:\s*$|Connection Times|\s*min\s+mean|Percentage|Time per request|"
    r"Total (POST|PUT|body)|\.\.\.done|\s*min\s+avg\s+max|\s*[\d.]+ kb/s (sent|total)|"
    # what it thinks of means and medians, which loadcell judges by itself
    r"(WARNING|ERROR): The median and mean for|\s+(deviation apart\. )?These results are "
    r"(probably )?(not that|NOT) reliable"
)


def read(lines: Iterable[str]) -> Reading:
    """Each execution."""
    measured: list[Measured] = []
    unread, current = Unread(), None
    for line in lines:
        headed = line.startswith(_HEAD)
        if headed or _begins(current, line):
            _close(current, measured, unread)
            current = _Execution(headed=headed)
        if not headed and (current is None or not understood(current.take, line)):
            unread.add(line)
    _close(current, measured, unread)
    if not measured and (current is None or not current.headed):
        raise NotItsOutputError(OUTPUT_AB(head=_HEAD))
    return unread.reading(measured)


def _begins(current: _Execution | None, line: str) -> bool:
    """True if a summary without a head begins here: at its first field, or at one that the one before has."""
    match = _FIELD.match(line)
    if match is None or match["name"] not in _BEGIN:
        return False
    return current is None or ("rate" in current.values and _FIELDS[match["name"]] in current.values)


def _close(current: _Execution | None, parts: list[Measured], unread: Unread) -> None:
    measured = current.measured() if current is not None else None
    if measured is not None:
        parts.append(measured)
    elif current is not None:
        unread.add(OUTPUT_CUT_SHORT(execution=NAME))


class _Execution:
    def __init__(self, *, headed: bool) -> None:
        self.headed = headed
        self.values: dict[str, str] = {}
        self.response: dict[str, float] = {}
        self.figures: dict[str, float] = {}
        self.classes: dict[str, int] = {}

    def take(self, line: str) -> bool:
        """True if the line was understood."""
        if (match := _TIMES.match(line)) is not None:
            name = match["name"].lower()
            if name == "total":
                self.response |= {
                    f"{key}_ms": real(match[key]) for key in ("min", "mean", "stdev", "max") if match[key]
                }
            else:
                self.figures[f"{name}_mean_ms"] = real(match["mean"])
        elif (match := _PERCENT.match(line)) is not None:
            if match[1] != "100":
                self.response[f"p{match[1]}_ms"] = real(match[2])
        elif (match := _CLASSES.match(line)) is not None:
            self.classes = {
                name: integer(count) for name, count in match.groupdict("0").items() if integer(count)
            }
        elif (match := _FIELD.match(line)) is not None and match["name"] in _FIELDS:
            self.values[_FIELDS[match["name"]]] = match["value"].strip()
        else:
            return _IGNORED_LINES.match(line) is not None or not line.strip()
        return True

    def measured(self) -> Measured | None:
        """None when it ended before it said what came out.

        Answers that are not 2xx, which ab counts as complete, are failures.
        """
        values = self.values
        if "rate" not in values or "complete" not in values:
            return None
        complete, failed = integer(values["complete"]), integer(values.get("failed", "0"))
        other, unsent = integer(values.get("non_2xx", "0")), integer(values.get("write_errors", "0"))
        # A body of another length than the first is no failure of a page that changes. ab counts requests
        # that could not be sent as complete, and their empty bodies as of another length.
        lost = failed - self.classes.get("length", 0) + unsent
        errors = {name: count for name, count in self.classes.items() if name != "length"}
        errors |= {name: count for name, count in (("non-2xx", other), ("write", unsent)) if count}
        # Where connections are kept, nearly all requests make none, and ab counts each of these as one that
        # took no time.
        figures = {
            name: ms
            for name, ms in self.figures.items()
            if name != "connect_mean_ms" or not integer(values.get("keep_alive_requests", "0"))
        }
        duration = number(values["duration"].split()[0]) if "duration" in values else None
        well = max(0, complete - lost - other)
        # Of all that were completed. The time is rounded to milliseconds, the rate is not.
        rate = number(values["rate"].split()[0])
        return Measured(
            "ab",
            "request",
            rate * (well / complete) if complete else 0.0,
            well,
            lost + other,
            duration,
            integer(values["clients"]) if "clients" in values else None,
            _without_zeros(self.response),
            _without_zeros(figures),
            _settings(values),
            errors,
            printed=counted_rate("Complete requests/Time taken", well, duration, _TIME_ROUNDING_S),
        )


def _settings(values: Mapping[str, str]) -> dict[str, str | int | float]:
    """Settings of the test. The count of requests on kept connections is a result, and none."""
    settings: dict[str, str | int | float] = {
        key: values[key] for key in ("host", "path", "server", "tls") if key in values
    }
    if values.get("port", "").isdecimal():
        settings["port"] = integer(values["port"])
    return {**settings, "keep_alive": "yes" if "keep_alive_requests" in values else "no"}


def _without_zeros(times_ms: Mapping[str, float]) -> dict[str, float]:
    """Without zeros: ab writes whole milliseconds, and 0 stands for anything below half of one."""
    return {name: ms for name, ms in times_ms.items() if ms}


READER = Reader(
    NAME,
    by_line(read),
    line_starts=(b"Concurrency Level:",),
    anywhere=(b"This is ApacheBench",),
    for_people=PrintedForPeople(re.compile(rb"This is ApacheBench[^\n]*<br>"), "ab (without -w)"),
)
