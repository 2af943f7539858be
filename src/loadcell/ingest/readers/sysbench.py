"""sysbench 0.4 to 1.1: cpu, memory, fileio, threads, mutex, and the OLTP scripts; several executions in one
text.

The patterns of all lines stand first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from loadcell.ingest import checks, columns
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
from loadcell.ingest.printed_numbers import integer, milliseconds, number, real
from loadcell.ingest.readers import Reader
from loadcell.ingest.series import Intervals, Room
from loadcell.ingest.text import Output, Table, lines, stretches
from loadcell.model.message import MessageCode

OUTPUT_SYSBENCH = MessageCode("output.sysbench")

HEAD = re.compile(r"sysbench (?P<version>[\d.]+)\b")
THREADS = re.compile(r"Number of threads: (\d+)")
INTERVAL = re.compile(
    r"\[ (?P<at>[\d.]+)s \] thds: \d+ tps: (?P<tps>[\d.]+) qps: [\d.]+"
    r".*?lat \(ms,(?P<rank>\d+)%\): (?P<late>[\d.]+) err/s:? (?P<errors>[\d.]+)"
)
EVENTS_INTERVAL = re.compile(
    r"\[ (?P<at>[\d.]+)s \] thds: \d+ eps: (?P<tps>[\d.]+) lat \(ms,(?P<rank>\d+)%\): (?P<late>[\d.]+)"
)
FILE_INTERVAL = re.compile(
    r"\[ (?P<at>[\d.]+)s \] reads: (?P<reads>[\d.]+) MiB/s writes: (?P<writes>[\d.]+) MiB/s "
    r"fsyncs: (?P<syncs>[\d.]+)/s "
    r"latency \(ms,(?P<rank>\d+)%\): (?P<late>[\d.]+)"
)
MEMORY_INTERVAL = re.compile(r"\[ (?P<at>[\d.]+)s \] (?P<moved>[\d.]+) MiB/sec")
#: 0.5, at first without a comma behind the writes; the operations of its fileio have no counts.
OLD_INTERVAL = re.compile(
    r"\[ *(?P<at>[\d.]+)s\] threads: \d+, tps: (?P<tps>[\d.]+), reads(?:/s)?: [\d.]+, writes(?:/s)?: [\d.]+"
    r",? response time: (?P<late>[\d.]+)ms \((?P<rank>\d+)%\)(?:, errors: (?P<errors>[\d.]+))?"
)
CHECKPOINT = re.compile(r"\[ *[\d.]+s ?\] Checkpoint report:")
INTERVALS = (INTERVAL, EVENTS_INTERVAL, FILE_INTERVAL, MEMORY_INTERVAL)
BLOCK_SIZE = re.compile(r"(?:Block size|\s*block size:) (?P<number>\d+)(?P<unit>B|KiB|MiB|GiB)\s*$")
UNITS = {"B": 2**-20, "KiB": 2**-10, "MiB": 1, "GiB": 2**10}
TRANSACTIONS = re.compile(r"\s*transactions:\s+(\d+)\s+\(([\d.]+) per sec")
QUERIES = re.compile(r"\s*queries:\s+(\d+)\s+\(([\d.]+) per sec")
IGNORED = re.compile(r"\s*ignored errors:\s+(\d+)\s+\(")
RECONNECTS = re.compile(r"\s*reconnects:\s+(\d+)\s+\(")
CPU = re.compile(r"\s*events per second:\s+([\d.]+)")
#: 1.1, of every test
EVENTS = re.compile(r"\s*events/s \(eps\):\s+([\d.]+)")
MEMORY = re.compile(r"\s*([\d.]+) Mi?B transferred \(([\d.]+) Mi?B/sec\)")
OPERATIONS = re.compile(
    r"(?:Total operations|Operations performed): (\d+) \(\s*([\d.]+) (?:per second|ops/sec)\)"
)
FILE = re.compile(r"\s*(reads/s|writes/s|fsyncs/s|read, MiB/s|written, MiB/s):\s+([\d.]+)")
#: 1.1: `read:  IOPS=8849.33 138.27 MiB/s (144.99 MB/s)`
FILE_IOPS = re.compile(r"\s*(?P<name>read|write|fsync):\s+IOPS=(?P<rate>[\d.]+)(?: (?P<mib>[\d.]+) MiB/s)?")
#: 0.4: `9.375Mb/sec` (2^20 bytes) and `600.03 Requests/sec executed`
OLD_FILE = re.compile(
    r"Read [\d.]+\w+\s+Written [\d.]+\w+\s+Total transferred [\d.]+\w+\s+\(([\d.]+)([KMG])b/sec\)"
)
OLD_FILE_RATE = re.compile(r"\s*([\d.]+) Requests/sec executed")
TIME = re.compile(r"\s*(?:total time|time elapsed):\s+([\d.]+)s")
COUNT = re.compile(r"\s*total number of events:\s+(\d+)")
#: 0.4 and 0.5: `approx.  95 percentile:   3.10ms`
LATENCY = re.compile(
    r"\s*(min|avg|max|(?:approx\.\s+)?(\d+)(?:th|st|nd|rd)? percentile|sum):\s+([\d.]+)(ms|s)?\s*$"
)
BLOCK = re.compile(r"\s*(block size|total size|operation|scope|Prime numbers limit): (\S+)")
FATAL = re.compile(r"FATAL: .*|ALERT: .*")
#: Repeats of the line before: a failure, or only the end of each thread's time.
REPEATED = re.compile(r"\(last message repeated (\d+) times?\)")
DEADLOCKS = re.compile(r"\s*deadlocks:\s+(\d+)\s+\(")
#: What is printed of the options of fileio, and of memory before 0.5.
OPTIONS = re.compile(
    r"Doing (?P<test>.+?) test(?: \(.*)?$|(?P<files>\d+ files, \S+ each)|Using (?P<io_mode>\w+) I/O mode|"
    r"Block size (?P<block_size>\S+)|Extra file open flags: (?P<extra_flags>.+?)\s*$|"
    r"Read/Write ratio for combined random IO test: (?P<read_write_ratio>[\d.]+)|"
    r"Periodic FSYNC enabled, calling fsync\(\) each (?P<fsync_after>\d+) requests|"
    r"Running (?P<oltp>simple|mixed|custom) OLTP|"
    r"Memory (?P<memory>block size|transfer size|operations type|scope type): (?P<value>\S+)"
)
#: The first line of an execution whose head was left out, as in texts that were copied into a report.
BEGIN = re.compile(
    r"Running the test with|Prime numbers limit:|Running memory speed test|SQL statistics:|"
    r"OLTP test statistics:|CPU speed:|File operations:|Total operations:|Operations performed:|"
    r"Throughput:\s*$"
)
LAST = re.compile(r"\s*execution time \(avg/stddev\)")
#: What is printed and measures nothing.
IGNORED_LINES = re.compile(
    r"Running the test|Initializing|Threads started|SQL statistics|\s*queries performed|\s*(read|"
    r"write|other|total):|General statistics|"
    r"Latency \(ms\)|Threads fairness|\s*(events|execution time) \(avg/stddev\)|CPU speed|Running "
    r"memory speed|Prime numbers limit|"
    r"Report intermediate|File operations|Throughput:|Throughput|Doing|Creating|Inserting|"
    r"Dropping|WARNING|Extra file|"
    r"\d+ files|[\d.]+[KMG]i?[Bb] total|Block size|Number of|Read/Write ratio|Periodic FSYNC|Calling "
    r"fsync|Using|\s*eps|Report checkpoint|Latency histogram|\s*value\s+-+|\s*[\d.]+ \|\**\s+\d+\s*$|"
    r"Time limit exceeded|Done\.|OLTP test|Test execution summary|\s*(read/write requests|other operations):|"
    r"\s*total time taken by|\s*(per-request statistics|response time):|Operations performed:|"
    r"No DB drivers|Skipping BEGIN|Maximum prime|Random number|Memory (block size|transfer|operations|scope)|"
    r"Running (simple|mixed|custom) OLTP"
)

#: Traffic of files and of memory in an interval.
MOVED = ("reads", "writes", "moved")
IOPS_NAMES = {
    "read": ("reads_per_s", "read_mib_per_s"), "write": ("writes_per_s", "written_mib_per_s"),
    "fsync": ("fsyncs_per_s", ""),
}  # fmt: skip
FILE_NAMES = {
    "reads/s": "reads_per_s", "writes/s": "writes_per_s", "fsyncs/s": "fsyncs_per_s",
    "read, MiB/s": "read_mib_per_s", "written, MiB/s": "written_mib_per_s",
}  # fmt: skip


NAME = "sysbench"


def read(text: Iterable[str]) -> Reading:
    """Each execution from its lines."""
    return _read([text])


def read_output(output: Output) -> Reading:
    """The same of a file, whose long rows of intervals are read as tables; what is not printed as the first
    of its row goes line by line.
    """
    return _read(some if isinstance(some, Table) else lines([some]) for some in stretches(output, b"[ "))


def _read(parts: Iterable[Iterable[str] | Table]) -> Reading:
    """Each execution; one without a summary is not measured, and its lines are among the unread."""
    measured: list[Measured] = []
    unread = Unread()
    room = Room()
    current: _Execution | None = None
    for part in parts:
        if isinstance(part, Table):
            if current is not None and current.take_many(part):
                continue
            part = lines([part.text()])
        for line in map(str.lstrip, part):
            head = HEAD.match(line)
            if head is not None or ((current is None or current.summarised) and BEGIN.match(line)):
                _close(current, measured, unread, room)
                current = _Execution(head["version"] if head is not None else "")
            if head is None and (current is None or not understood(current.take, line)):
                unread.add(line)
    _close(current, measured, unread, room)
    if not measured and current is None:
        raise NotItsOutputError(OUTPUT_SYSBENCH())
    return unread.reading(measured)


def _close(current: _Execution | None, parts: list[Measured], unread: Unread, room: Room) -> None:
    if current is None:
        return
    measured = current.measured()
    if measured is None:
        unread.add(OUTPUT_CUT_SHORT(execution=f"sysbench {current.version}"))
    else:
        room.add(current.intervals)
        parts.append(measured)


class _Execution:
    """Lines of one execution, as they come."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.threads: int | None = None
        self.kind = "sysbench"
        self.unit = "operation"
        self.count: int | None = None
        self.rate: float | None = None
        self.duration_s: float | None = None
        self.response: dict[str, float] = {}
        self.figures: dict[str, float] = {}
        self.settings: dict[str, str | int | float] = {"version": version} if version else {}
        self.errors: dict[str, int] = {}
        self.block_mib: float | None = None
        self.intervals = Intervals()
        self.ended_s = 0.0
        self.events: int | None = None
        self.events_per_s: str | None = None
        #: True after its summary was printed, so that another summary is another execution.
        self.ended = False
        #: Summaries of `--report-checkpoints`, each counted since the one before.
        self.checkpoints: list[_Summary] = []
        self.checkpoint = False
        self.failed_line = False

    @property
    def summarised(self) -> bool:
        """True if its summary was printed to the end, or as far as it counts."""
        return not self.checkpoint and (self.ended or self.events is not None)

    def take(self, line: str) -> bool:
        """True if the line was understood."""
        repeated, self.failed_line = self.failed_line, False
        if line.startswith("["):
            if CHECKPOINT.match(line) is not None:
                self.checkpoint = True
                return True
            return self._interval(line) or self._moved(line)
        if (match := BLOCK_SIZE.match(line)) is not None:
            self.block_mib = integer(match["number"]) * UNITS[match["unit"]]
        if (match := OPTIONS.match(line)) is not None:
            self._set(match)
        elif (match := THREADS.match(line)) is not None:
            self.threads = integer(match[1])
        elif (match := TRANSACTIONS.match(line)) is not None:
            self.kind, self.unit, self.count, self.rate = (
                "oltp",
                "transaction",
                integer(match[1]),
                real(match[2]),
            )
        elif (match := QUERIES.match(line)) is not None:
            self.figures["queries_per_s"] = real(match[2])
        elif (match := IGNORED.match(line)) is not None:
            if integer(match[1]):
                self.errors["ignored"] = integer(match[1])
        elif (match := RECONNECTS.match(line)) is not None:
            if integer(match[1]):
                self.errors["reconnect"] = integer(match[1])
        elif (match := CPU.match(line)) is not None:
            self.kind, self.rate = "cpu", real(match[1])
        elif (match := EVENTS.match(line)) is not None:
            self.events_per_s = match[1]
        elif (match := MEMORY.match(line)) is not None:
            self.figures["mib_per_s"] = real(match[2])
        elif (match := OPERATIONS.match(line)) is not None:
            self.kind, self.rate = "memory", real(match[2])
        elif (match := FILE.match(line)) is not None:
            self.kind = "fileio"
            self.figures[FILE_NAMES[match[1]]] = real(match[2])
        elif (match := FILE_IOPS.match(line)) is not None:
            self.kind = "fileio"
            rate, moved = IOPS_NAMES[match["name"]]
            self.figures[rate] = real(match["rate"])
            if match["mib"]:
                self.figures[moved] = real(match["mib"])
        elif (match := OLD_FILE.match(line)) is not None:
            self.kind = "fileio"
            self.figures["mib_per_s"] = real(match[1]) * {"K": 2**-10, "M": 1, "G": 2**10}[match[2]]
        elif (match := OLD_FILE_RATE.match(line)) is not None:
            self.kind, self.rate = "fileio", real(match[1])
        elif (match := TIME.match(line)) is not None:
            self.duration_s = real(match[1])
        elif (match := COUNT.match(line)) is not None:
            self.events = integer(match[1])
        elif (match := LATENCY.match(line)) is not None:
            name = {"min": "min_ms", "avg": "mean_ms", "max": "max_ms"}.get(match[1])
            name = name or (f"p{match[2]}_ms" if match[2] else None)
            if name is not None:
                self.response[name] = milliseconds(match[3] + (match[4] or "ms"))
            elif match[1] == "sum":
                self._end()
        elif (match := BLOCK.match(line)) is not None:
            self.settings[match[1].replace(" ", "_")] = match[2]
        elif LAST.match(line) is not None:
            self._end()
        elif (match := DEADLOCKS.match(line)) is not None:
            if integer(match[1]):
                self.errors["deadlock"] = integer(match[1])
        elif (match := REPEATED.match(line)) is not None:
            if repeated:
                self.errors["fatal"] += integer(match[1])
        elif FATAL.match(line) is not None:
            self.errors["fatal"] = self.errors.get("fatal", 0) + 1
            self.failed_line = True
        else:
            return IGNORED_LINES.match(line) is not None or not line.strip()
        return True

    def _set(self, match: re.Match[str]) -> None:
        named = {name: value for name, value in match.groupdict().items() if value}
        if "memory" in named:
            named = {named["memory"].replace(" ", "_"): named["value"]}
        self.settings |= named

    def _end(self) -> None:
        """The summary is complete: the execution's, or a checkpoint's, after which counts begin again."""
        if self.count is self.events is self.rate is None and not self.figures:
            return  # a line after the summary of a checkpoint
        if not self.checkpoint:
            self.ended = True
        elif self.events is not None:
            self.checkpoints.append(
                _Summary(self.count if self.count is not None else self.events, self.response)
            )
            self.count = self.rate = self.events = self.events_per_s = None
            self.response, self.figures, self.checkpoint = {}, {}, False

    def _interval(self, line: str) -> bool:
        match = INTERVAL.match(line) or EVENTS_INTERVAL.match(line) or OLD_INTERVAL.match(line)
        if match is None:
            return False
        at = number(match["at"])
        failed = match.groupdict().get("errors")
        length = at - self.ended_s
        response = {f"p{match['rank']}_ms": real(match["late"])} if real(match["late"]) else {}
        lost = None if failed is None else round(real(failed) * length)
        self.intervals.append(Interval(self.ended_s, length, real(match["tps"]), lost, response))
        self.ended_s = at
        return True

    def _moved(self, line: str) -> bool:
        """Traffic of files and memory in an interval, as operations: blocks, and syncs of files."""
        match = FILE_INTERVAL.match(line) or MEMORY_INTERVAL.match(line)
        if match is None or self.block_mib is None:
            return False
        groups = match.groupdict()
        moved_mib = sum(real(groups[name]) for name in MOVED if name in groups)
        rate = moved_mib / self.block_mib + real(groups.get("syncs", "0"))
        response = {f"p{groups['rank']}_ms": real(groups["late"])} if "rank" in groups else {}
        at = number(groups["at"])
        self.intervals.append(Interval(self.ended_s, at - self.ended_s, rate, None, response))
        self.ended_s = at
        return True

    def take_many(self, table: Table) -> bool:
        """Intervals at once; False where they have to be looked at one by one."""
        matches = (shape.match(table.first) for shape in INTERVALS)
        match = next((candidate for candidate in matches if candidate is not None), None)
        values = table.columns(match) if match is not None else None
        if values is None or ("tps" not in values and self.block_mib is None):
            return False
        response = {}
        if "tps" in values:
            rate = values["tps"]
        else:
            assert self.block_mib is not None
            moved_mib = columns.total([values[name] for name in MOVED if name in values])
            syncs = [values["syncs"]] if "syncs" in values else []
            rate = columns.total([moved_mib / self.block_mib, *syncs])
        if "rank" in values:
            if (values["rank"] != values["rank"][0]).any():
                return False
            late = values["late"]
            key = f"p{values['rank'][0]:.0f}_ms"
            response[key] = columns.positive(late) if "tps" in values else late
        failed_per_s = values.get("errors") if "tps" in values else None
        self.intervals.extend(columns.of_printed(self.ended_s, values["at"], rate, failed_per_s, **response))
        self.ended_s = float(values["at"][-1])
        return True

    def measured(self) -> Measured | None:
        """None when it ended before it said what came out."""
        count = self.count if self.count is not None else self.events
        rate = self.rate
        if self.checkpoints:
            return self._of_checkpoints(count)
        printed = (
            [printed_total("events/s (eps)", self.events_per_s, THROUGHPUT)] if self.events_per_s else []
        )
        per_s = count / self.duration_s if count is not None and self.duration_s else None
        rates = [self.figures[name] for name, _ in IOPS_NAMES.values() if name in self.figures]
        if rate is None:
            rate = real(self.events_per_s) if self.events_per_s else per_s
        if rate is None and rates:
            rate = sum(rates)
        if rate is None:
            return None
        if per_s is not None:
            printed.append(PrintedTotal("events / total time", per_s, THROUGHPUT))
        if rates and self.kind == "fileio":
            printed.append(PrintedTotal("reads + writes + fsyncs", sum(rates), THROUGHPUT))
        if self.events is not None:
            printed.append(PrintedTotal("total number of events", self.events, "succeeded"))
        printed.append(PrintedTotal("per second", rate, checks.INTERVALS))
        return Measured(
            self.kind, self.unit, rate, count, sum(self.errors.values()), self.duration_s, self.threads,
            self.response, self.figures, self.settings, self.errors, self.intervals, printed=tuple(printed),
        )  # fmt: skip

    def _of_checkpoints(self, count: int | None) -> Measured | None:
        """All stretches between checkpoints together; of percentiles and of other rates nothing is known."""
        if count is None or not self.duration_s:
            return None
        stretches = [*self.checkpoints, _Summary(count, self.response)]
        done = sum(stretch.count for stretch in stretches)
        rate = done / self.duration_s
        return Measured(
            self.kind, self.unit, rate, done, sum(self.errors.values()), self.duration_s, self.threads,
            _merged(stretches), {}, self.settings, self.errors, self.intervals,
            printed=(PrintedTotal("per second", rate, checks.INTERVALS),),
        )  # fmt: skip


@dataclass(frozen=True)
class _Summary:
    """Count of events of a stretch, and its response times."""

    count: int
    response: Mapping[str, float]


def _merged(stretches: Sequence[_Summary]) -> dict[str, float]:
    """Mean and extremes of all stretches."""
    response: dict[str, float] = {}
    parts = [stretch for stretch in stretches if stretch.count]
    for key, merge in (("min_ms", min), ("max_ms", max)):
        if all(key in part.response for part in parts):
            response[key] = merge(part.response[key] for part in parts)
    if parts and all("mean_ms" in part.response for part in parts):
        spent_ms = sum(part.count * part.response["mean_ms"] for part in parts)
        response["mean_ms"] = spent_ms / sum(part.count for part in parts)
    return response


READER = Reader(NAME, read_output, line_starts=(b"sysbench 1.", b"sysbench 0."))
