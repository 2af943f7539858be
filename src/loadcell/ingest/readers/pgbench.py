"""pgbench 8.3 to 18: its summary, each of several scripts, its progress (`-P`, `--progress-timestamp`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from loadcell.ingest.base import (
    OUTPUT_CUT_SHORT,
    Interval,
    Measured,
    NotItsOutputError,
    Part,
    PrintedTotal,
    Reading,
    Unread,
    understood,
)
from loadcell.ingest.checks import THROUGHPUT
from loadcell.ingest.printed_numbers import integer, number, real
from loadcell.ingest.readers import Reader, by_line
from loadcell.ingest.series import Intervals
from loadcell.model.message import Labels, MessageCode

OUTPUT_PGBENCH = MessageCode("output.pgbench", summary=str)

NAME = "pgbench"

#: Progress with `--progress-timestamp` counts from 1970; no run takes as long.
EPOCH_S = 1e9
_HEAD = re.compile(r"pgbench \((?P<version>[\d.]+\w*)")
PROGRESS = re.compile(
    r"progress: (?P<at>[\d.]+) s, (?P<tps>[\d.]+) tps, lat (?P<mean>[\d.]+|NaN) ms stddev "
    r"(?P<stdev>[\d.]+|NaN)(?:, (?P<failed>\d+) failed)?(?:, lag [\d.]+ ms(?:, (?P<skipped>\d+) skipped)?)?"
)
#: Lines come without their indentation; `- ` begins the statistics of one script.
_FIELD = re.compile(r"(?P<script>- )?(?P<name>[a-z][\w. -]+?)(?: =|:) (?P<value>.+)")
_TYPE = re.compile(r"transaction type: (?P<name>.+)")
_SCRIPT = re.compile(r"SQL script \d+: (?P<name>.+)")
_SCRIPT_COUNT = re.compile(r"- (?P<count>\d+) transactions \([\d.]+% of total, tps = ")
_TPS = re.compile(
    r"tps = (?P<tps>[\d.]+) \((?P<how>including connections|excluding|without initial|including reconn)"
)
_IGNORED_LINES = re.compile(
    r"starting vacuum|script statistics|(- )?statement latencies|[\d.]+(?:\s{2,}|\t)|progress:|"
    r".*scale option|"
    # of --debug and --verbose-errors: failures are counted in the summary
    r"(pgbench: )?(debug: )?pghost|"
    r"(pgbench: )?(debug: )?client \d+ (executing|sending|receiving|got an error|repeats|ends the failed)|"
    # the places of errors in statements
    r"LINE \d+:|\^|(DETAIL|HINT|CONTEXT|STATEMENT):"
)
_ERROR = re.compile(r"pgbench: error: (?!Run was aborted)|.*client \d+ (aborted|script \d+ aborted)")
_BUILTIN = re.compile(r"<builtin: (?P<name>.*)>$")
_FIRST_LINES = (re.compile(r"starting vacuum"), PROGRESS, _TYPE)
#: Those of which only the beginning is compared end in a number that was asked for, or explain themselves.
_FIELDS = (
    "number of clients", "number of threads", "duration", "scaling factor", "query mode",
    "maximum number of tries", "number of transactions actually processed", "number of failed transactions",
    "number of serialization failures", "number of deadlock failures", "latency average", "latency stddev",
    "number of transactions per client", "initial connection time", "average connection time",
    "number of transactions above the", "number of transactions below the", "rate limit schedule lag",
    "number of transactions retried", "total number of retries", "number of transactions skipped",
    "weight",
)  # fmt: skip
_SETTINGS = {
    "scaling factor": "scale",
    "query mode": "protocol",
    "number of threads": "threads",
    "maximum number of tries": "max_tries",
}
_TIMES = {"latency average": "mean_ms", "latency stddev": "stdev_ms"}
_LATENCY_ROUNDING_MS = 0.0005
#: Counted within the failed transactions, where pgbench tells them apart (`--failures-detailed`).
_FAILURES = {"number of serialization failures": "serialization", "number of deadlock failures": "deadlock"}
_LATE = re.compile(r"number of transactions (?P<side>above|below) the (?P<limit>[\d.]+) ms latency limit")
_LAG = re.compile(r"avg (?P<mean>[\d.]+) \(max (?P<max>[\d.]+)\) ms")
_SUMMARY = "transaction type"
#: Values beside the times that reports have names for.
_FIGURE = Labels(
    "figure", ("retries", "above_limit", "schedule_lag_mean_ms", "schedule_lag_max_ms", "connecting_mean_ms")
)


def read(lines: Iterable[str]) -> Reading:
    """Each execution of the text."""
    measured: list[Measured] = []
    unread = Unread()
    current: _Execution | None = None
    for line in map(str.lstrip, lines):
        # Older versions print no head: another line that comes first after a finished one begins another.
        fresh = current is None or current.tps is not None
        if _HEAD.match(line) is not None or (fresh and any(first.match(line) for first in _FIRST_LINES)):
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
        #: By how much the throughputs with and without the time of connecting differ, in old versions.
        self.connecting_per_s = 0.0
        self.reconnects = False
        self.title = "pgbench"
        self.values: dict[str, str] = {}
        #: Of each script where there are several, by its name.
        self.scripts: dict[str, dict[str, str]] = {}
        self.settings: dict[str, str | int | float] = {}
        self.intervals = Intervals()
        self.errors: dict[str, int] = {}
        self.ended_s = 0.0
        #: The first line of progress that counts from 1970: the next one tells how long it was.
        self.first: Interval | None = None
        self.began_s: float | None = None

    def take(self, line: str) -> bool:
        """True if the line was understood."""
        if _HEAD.match(line) is not None:
            return True
        if (match := PROGRESS.match(line)) is not None:
            self.begun = True
            self._interval(match)
        elif (match := _TYPE.match(line)) is not None:
            self.begun = True
            self.title = _name(match["name"])
        elif (match := _SCRIPT.match(line)) is not None:
            self._script(_name(match["name"]))
        elif (match := _SCRIPT_COUNT.match(line)) is not None and self.scripts:
            self._of_script()["number of transactions actually processed"] = match["count"]
        elif (match := _TPS.match(line)) is not None:
            # Of the two lines that old versions print, the one without the time of connecting is the
            # throughput.
            tps = real(match["tps"])
            self.connecting_per_s = 0.0 if self.tps is None else abs(self.tps - tps)
            if self.tps is None or match["how"] != "including connections":
                self.tps = tps
            self.reconnects = match["how"] == "including reconn"
        elif _ERROR.match(line) is not None:
            self.errors["client"] = self.errors.get("client", 0) + 1
        elif (match := _FIELD.match(line)) is not None and match["name"].startswith(_FIELDS):
            values = self._of_script() if match["script"] and self.scripts else self.values
            values[match["name"]] = match["value"]
        else:
            return _IGNORED_LINES.match(line) is not None or not line.strip()
        return True

    def _script(self, name: str) -> None:
        """The statistics of a script follow; the same script may be given twice."""
        number = 1
        while (key := name if number == 1 else f"{name} ({number})") in self.scripts:
            number += 1
        self.scripts[key] = {}

    def _of_script(self) -> dict[str, str]:
        return self.scripts[next(reversed(self.scripts))]

    def _interval(self, match: re.Match[str]) -> None:
        at = real(match["at"])
        interval = interval_of(match, self.ended_s, at - self.ended_s)
        if at > EPOCH_S and self.began_s is None:
            if self.first is None:
                self.first, self.ended_s = interval, at
                return
            self._begin(interval.duration_s)
        start_s = interval.start_s - (self.began_s or 0.0)
        self.intervals.append(replace(interval, start_s=start_s))
        self.ended_s = at

    def _begin(self, period_s: float) -> None:
        """The first interval, once its length is known."""
        assert self.first is not None
        self.began_s = self.ended_s - period_s
        self.intervals.append(replace(self.first, start_s=0.0, duration_s=period_s))

    def measured(self) -> Measured:
        values = self.values
        succeeded, failed, errors = _counts(values)
        duration = values.get("duration", "").partition(" ")[0]
        clients = values.get("number of clients")
        length_s = real(duration) if duration else succeeded / self.tps if succeeded and self.tps else None
        if self.first is not None and self.began_s is None and length_s:
            self._begin(length_s)
        return Measured(
            self.title, "transaction", self.tps, succeeded, failed, length_s,
            integer(clients) if clients else None, _response(values), _figures(values),
            {**self.settings, **self._settings()}, {**errors, **self.errors}, self.intervals,
            {name: _part(script) for name, script in self.scripts.items()}, self.began_s,
            printed=self._printed(succeeded, failed, real(duration) if duration else None),
        )  # fmt: skip

    def _printed(
        self, succeeded: int | None, failed: int | None, duration_s: float | None
    ) -> tuple[PrintedTotal, ...]:
        """The rate and the clients that count, time and mean latency imply.

        The time is the one asked for: connecting is within it, the end of the last transactions beyond it.
        The clients of a paced run wait, and those that were aborted stop.
        """
        values, tps = self.values, self.tps
        if not tps or not succeeded or "client" in self.errors:
            return ()
        printed = []
        response = _response(values)
        longest_s = (response.get("mean_ms", 0.0) + 3 * response.get("stdev_ms", 0.0)) / 1e3
        if duration_s:
            connecting_s = _first_number(values, "initial connection time") / 1e3
            rate = succeeded / duration_s
            margin = rate * min(1.0, (longest_s + connecting_s) / duration_s) + self.connecting_per_s
            printed.append(PrintedTotal("transactions actually processed/duration", rate, THROUGHPUT, margin))
        waits = any(name.startswith("rate limit") for name in values) or self.reconnects
        if "mean_ms" in response and not waits:
            # Transactions that fail take time, and are not in tps.
            mean_s = response["mean_ms"] / 1e3
            clients = mean_s * tps * (1 + (failed or 0) / succeeded)
            # At the end each waits for the last transactions of the others.
            waiting = clients * min(1.0, longest_s * tps / succeeded)
            rounding = _LATENCY_ROUNDING_MS / 1e3 * tps + mean_s * self.connecting_per_s + waiting
            printed.append(PrintedTotal("latency average x tps", clients, "clients", rounding))
        return tuple(printed)

    def _settings(self) -> dict[str, str | int | float]:
        settings: dict[str, str | int | float] = {
            key: integer(value) if (value := self.values[name]).isdecimal() else value
            for name, key in _SETTINGS.items()
            if name in self.values
        }
        if (limit := next(filter(None, map(_LATE.match, self.values)), None)) is not None:
            settings["latency_limit_ms"] = real(limit["limit"])
        if self.scripts:
            weights = ((name, script.get("weight", "1").split()[0]) for name, script in self.scripts.items())
            settings["scripts"] = ", ".join(f"{name}@{weight}" for name, weight in weights)
        return {**settings, "reconnect": "yes" if self.reconnects else "no"}


def interval_of(match: re.Match[str], start_s: float, duration_s: float) -> Interval:
    """The interval of a line of progress; those skipped count as failed."""
    counts = [integer(count) for count in match.group("failed", "skipped") if count]
    response = {} if match["mean"] == "NaN" else {"mean_ms": real(match["mean"])}
    return Interval(start_s, duration_s, real(match["tps"]), sum(counts) if counts else None, response)


def _name(text: str) -> str:
    builtin = _BUILTIN.match(text.strip())
    return builtin["name"] if builtin else text.strip()


def _count(values: Mapping[str, str], name: str) -> int | None:
    """The count before a slash, a blank or a share in parentheses."""
    match = re.match(r"\d+", values.get(name, ""))
    return integer(match[0]) if match else None


def _counts(values: Mapping[str, str]) -> tuple[int | None, int | None, dict[str, int]]:
    """Transactions that succeeded; that failed, or were skipped as they began too late; and why."""
    failed = _count(values, "number of failed transactions")
    skipped = _count(values, "number of transactions skipped")
    errors = {key: _count(values, name) or 0 for name, key in _FAILURES.items()}
    errors["failed"] = (failed or 0) - sum(errors.values())
    errors["skipped"] = skipped or 0
    lost = None if failed is None and skipped is None else (failed or 0) + (skipped or 0)
    succeeded = _count(values, "number of transactions actually processed")
    return succeeded, lost, {key: count for key, count in errors.items() if count > 0}


def _first_number(values: Mapping[str, str], name: str) -> float:
    return number(values[name].split()[0]) if name in values else 0.0


def _response(values: Mapping[str, str]) -> dict[str, float]:
    return {key: number(values[name].split()[0]) for name, key in _TIMES.items() if name in values}


def _part(values: Mapping[str, str]) -> Part:
    succeeded, failed, _ = _counts(values)
    return Part(succeeded or 0, failed or 0, _response(values))


def _figures(values: Mapping[str, str]) -> dict[str, float]:
    figures: dict[str, float] = {}
    if (lag := _LAG.match(values.get("rate limit schedule lag", ""))) is not None:
        figures |= {f"schedule_lag_{name}_ms": real(ms) for name, ms in lag.groupdict().items()}
    if (retries := _count(values, "total number of retries")) is not None:
        figures["retries"] = retries
    for name in values:
        if (late := _LATE.match(name)) is not None and late["side"] == "above":
            figures["above_limit"] = _count(values, name) or 0
    if "average connection time" in values:
        figures["connecting_mean_ms"] = number(values["average connection time"].split()[0])
    return figures


READER = Reader(NAME, by_line(read), line_starts=(b"pgbench (", b"progress: ", b"transaction type: "))
