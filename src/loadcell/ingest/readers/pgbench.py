"""pgbench 9.6 to 18: its summary and its progress (`-P`)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from loadcell.ingest.base import (
    OUTPUT_CUT_SHORT,
    Interval,
    Measured,
    NotItsOutputError,
    Reading,
    Unread,
    number,
    understood,
)
from loadcell.ingest.readers import Reader, by_line
from loadcell.ingest.series import Intervals
from loadcell.model.message import MessageCode

OUTPUT_PGBENCH = MessageCode("output.pgbench", summary=str)

NAME = "pgbench"

_HEAD = re.compile(r"pgbench \((?P<version>[\d.]+\w*)")
_PROGRESS = re.compile(
    r"progress: (?P<at>[\d.]+) s, (?P<tps>[\d.]+) tps, lat (?P<mean>[\d.]+|NaN) ms stddev "
    r"(?P<stdev>[\d.]+|NaN)(?:, (?P<failed>\d+) failed)?"
)
_FIELD = re.compile(r"(?P<name>[a-z][\w -]+?)(?: =|:) (?P<value>.+)")
_TYPE = re.compile(r"(?:transaction type|SQL script \d+): (?P<name>.+)")
_TPS = re.compile(
    r"tps = (?P<tps>[\d.]+) \((?P<how>including connections|excluding|without initial|including reconn)"
)
_IGNORED_LINES = re.compile(
    r"starting vacuum|statement latencies|\s+[\d.]+\s|progress:|.*scale option|SQL script| - |"
    r"pghost|client \d+ (executing|sending|receiving)"
)
_ERROR = re.compile(r"pgbench: error: |(?:.*)client \d+ (?:aborted|script \d+ aborted)")
_FIELDS = {
    "number of clients",
    "number of threads",
    "duration",
    "scaling factor",
    "query mode",
    "maximum number of tries",
    "number of transactions actually processed",
    "number of failed transactions",
    "latency average",
    "latency stddev",
    "number of transactions per client",
    "initial connection time",
    "number of transactions above the",
    "rate limit schedule lag",
    "number of transactions retried",
    "total number of retries",
    "number of transactions skipped",
    "number of transactions below the",
    "latency limit",
}
_SUMMARY = "transaction type"


def read(lines: Iterable[str]) -> Reading:
    """Each execution of the text."""
    measured: list[Measured] = []
    unread = Unread()
    current: _Execution | None = None
    for line in lines:
        # Older versions print no head: the first progress line, or the summary, after a finished one begins
        # another.
        fresh = current is None or current.tps is not None
        if _HEAD.match(line) is not None or (fresh and (_PROGRESS.match(line) or _TYPE.match(line))):
            if current is None or current.begun:
                _close(current, measured, unread)
                current = _Execution()
            head = _HEAD.match(line)
            if head is not None:
                current.settings["version"] = head["version"]
        if current is None or not understood(current.take, line):
            unread.add(line)
    _close(current, measured, unread)
    if not measured and (current is None or not current.begun):
        raise NotItsOutputError(OUTPUT_PGBENCH(summary=_SUMMARY))
    return unread.reading(measured)


def _close(current: _Execution | None, measured: list[Measured], unread: Unread) -> None:
    if current is None or not current.begun:
        return
    if current.tps is None:
        unread.add(OUTPUT_CUT_SHORT(execution=NAME))
    else:
        measured.append(current.measured())


class _Execution:
    def __init__(self) -> None:
        self.begun = False
        self.tps: float | None = None
        self.title = "pgbench"
        self.values: dict[str, str] = {}
        self.settings: dict[str, str | int | float] = {}
        self.intervals = Intervals()
        self.errors: dict[str, int] = {}
        self.ended_s = 0.0

    def take(self, line: str) -> bool:
        """True if the line was understood."""
        if _HEAD.match(line) is not None:
            return True
        if (match := _PROGRESS.match(line)) is not None:
            self.begun = True
            self._interval(match)
        elif (match := _TYPE.match(line)) is not None:
            self.begun = True
            self.title = match["name"].removeprefix("<builtin: ").removesuffix(">").strip()
        elif (match := _TPS.match(line)) is not None:
            # Of the two lines that old versions print, the one without the time of connecting is the
            # throughput.
            if self.tps is None or match["how"] != "including connections":
                self.tps = float(match["tps"])
        elif _ERROR.match(line) is not None:
            self.errors["client"] = self.errors.get("client", 0) + 1
        elif (match := _FIELD.match(line)) is not None and any(
            match["name"].startswith(name) for name in _FIELDS
        ):
            self.values[match["name"]] = match["value"]
        else:
            return _IGNORED_LINES.match(line) is not None or not line.strip()
        return True

    def _interval(self, match: re.Match[str]) -> None:
        at = float(match["at"])
        response = {}
        if match["mean"] != "NaN":
            response = {"mean_ms": float(match["mean"])}
        failed = int(match["failed"]) if match["failed"] else None
        self.intervals.append(
            Interval(self.ended_s, at - self.ended_s, float(match["tps"]), failed, response)
        )
        self.ended_s = at

    def measured(self) -> Measured:
        values = self.values
        done = values.get("number of transactions actually processed", "").partition("/")[0]
        failed = values.get("number of failed transactions", "").partition(" ")[0]
        response = {
            key: number(values[name].split()[0])
            for name, key in (("latency average", "mean_ms"), ("latency stddev", "stdev_ms"))
            if name in values
        }
        settings = dict(self.settings)
        for name, key in (("scaling factor", "scale"), ("query mode", "protocol")):
            if name in values:
                settings[key] = values[name]
        count = int(done) if done.isdecimal() else None
        duration = values.get("duration", "").partition(" ")[0]
        length_s = float(duration) if duration else count / self.tps if count and self.tps else None
        clients = values.get("number of clients")
        return Measured(
            self.title, "transaction", self.tps, count, int(failed) if failed.isdecimal() else None, length_s,
            int(clients) if clients else None, response, {}, settings, self.errors, self.intervals,
        )  # fmt: skip


READER = Reader(NAME, by_line(read), line_starts=(b"pgbench (", b"progress: ", b"transaction type: "))
