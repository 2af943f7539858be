"""sysbench 1.0 and 1.1: cpu, memory, fileio, threads, mutex, and the OLTP scripts; several executions in one
text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from loadcell.ingest import columns
from loadcell.ingest.base import Interval, Measured, NotItsOutputError, Reading, Unread, number, understood
from loadcell.ingest.messages import OUTPUT_CUT_SHORT
from loadcell.ingest.readers import Reader
from loadcell.ingest.series import Intervals, Room
from loadcell.ingest.text import Output, Table, lines, stretches
from loadcell.model.message import MessageCode

OUTPUT_SYSBENCH = MessageCode("output.sysbench")

NAME = "sysbench"

_HEAD = re.compile(r"sysbench (?P<version>[\d.]+)\b")
_THREADS = re.compile(r"Number of threads: (\d+)")
_INTERVAL = re.compile(
    r"\[ (?P<at>[\d.]+)s \] thds: \d+ tps: (?P<tps>[\d.]+) qps: [\d.]+"
    r".*?lat \(ms,(?P<rank>\d+)%\): (?P<late>[\d.]+) err/s: (?P<errors>[\d.]+)"
)
_EVENTS_INTERVAL = re.compile(
    r"\[ (?P<at>[\d.]+)s \] thds: \d+ eps: (?P<tps>[\d.]+) lat \(ms,(?P<rank>\d+)%\): (?P<late>[\d.]+)"
)
_FILE_INTERVAL = re.compile(
    r"\[ (?P<at>[\d.]+)s \] reads: (?P<reads>[\d.]+) MiB/s writes: (?P<writes>[\d.]+) MiB/s "
    r"fsyncs: (?P<syncs>[\d.]+)/s "
    r"latency \(ms,(?P<rank>\d+)%\): (?P<late>[\d.]+)"
)
_MEMORY_INTERVAL = re.compile(r"\[ (?P<at>[\d.]+)s \] (?P<moved>[\d.]+) MiB/sec")
_INTERVALS = (_INTERVAL, _EVENTS_INTERVAL, _FILE_INTERVAL, _MEMORY_INTERVAL)
_BLOCK_SIZE = re.compile(r"(?:Block size|\s+block size:) (?P<number>\d+)(?P<unit>B|KiB|MiB|GiB)\s*$")
_UNITS = {"B": 2**-20, "KiB": 2**-10, "MiB": 1, "GiB": 2**10}
_TRANSACTIONS = re.compile(r"\s*transactions:\s+(\d+)\s+\(([\d.]+) per sec")
_QUERIES = re.compile(r"\s*queries:\s+(\d+)\s+\(([\d.]+) per sec")
_IGNORED = re.compile(r"\s*ignored errors:\s+(\d+)\s+\(")
_RECONNECTS = re.compile(r"\s*reconnects:\s+(\d+)\s+\(")
_CPU = re.compile(r"\s*events per second:\s+([\d.]+)")
_MEMORY = re.compile(r"\s*([\d.]+) MiB transferred \(([\d.]+) MiB/sec\)")
_OPERATIONS = re.compile(r"Total operations: (\d+) \(\s*([\d.]+) per second\)")
_FILE = re.compile(r"\s*(reads/s|writes/s|fsyncs/s|read, MiB/s|written, MiB/s):\s+([\d.]+)")
_TIME = re.compile(r"\s*(?:total time|time elapsed):\s+([\d.]+)s")
_COUNT = re.compile(r"\s*total number of events:\s+(\d+)")
_LATENCY = re.compile(r"\s+(min|avg|max|(\d+)th percentile|sum):\s+([\d.]+)\s*$")
_BLOCK = re.compile(r"\s+(block size|total size|operation|scope): (\S+)")
_FATAL = re.compile(r"FATAL: .*|\(last message repeated.*|ALERT: .*")
#: The first line of an execution whose head was left out, as in texts that were copied into a report.
_BEGIN = re.compile(r"Running the test with|Prime numbers limit:|Running memory speed test|SQL statistics:")
_LAST = re.compile(r"\s+execution time \(avg/stddev\)")
#: What is printed and measures nothing.
_IGNORED_LINES = re.compile(
    r"Running the test|Initializing|Threads started|SQL statistics|\s+queries performed|\s+(read|"
    r"write|other|total):|General statistics|"
    r"Latency \(ms\)|Threads fairness|\s+(events|execution time) \(avg/stddev\)|CPU speed|Running "
    r"memory speed|Prime numbers limit|"
    r"Report intermediate|File operations|Throughput:|Throughput|Doing|Creating|Inserting|"
    r"Dropping|WARNING|Extra file|"
    r"\d+ files|[\d.]+[KMG]iB total|Block size|Number of|Read/Write ratio|Periodic FSYNC|Calling "
    r"fsync|Using|\s+eps"
)

#: Traffic of files and of memory in an interval.
_MOVED = ("reads", "writes", "moved")
_FILE_NAMES = {
    "reads/s": "reads_per_s", "writes/s": "writes_per_s", "fsyncs/s": "fsyncs_per_s",
    "read, MiB/s": "read_mib_per_s", "written, MiB/s": "written_mib_per_s",
}  # fmt: skip


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
        for line in part:
            head = _HEAD.match(line)
            if head is not None or ((current is None or current.ended) and _BEGIN.match(line)):
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
        #: Whether it printed the last of its lines.
        self.ended = False

    def take(self, line: str) -> bool:
        """True if the line was understood."""
        if line.startswith("[ "):
            return self._interval(line) or self._moved(line)
        if (match := _BLOCK_SIZE.match(line)) is not None:
            self.block_mib = int(match["number"]) * _UNITS[match["unit"]]
        if (match := _THREADS.match(line)) is not None:
            self.threads = int(match[1])
        elif (match := _TRANSACTIONS.match(line)) is not None:
            self.kind, self.unit, self.count, self.rate = (
                "oltp",
                "transaction",
                int(match[1]),
                float(match[2]),
            )
        elif (match := _QUERIES.match(line)) is not None:
            self.figures["queries_per_s"] = float(match[2])
        elif (match := _IGNORED.match(line)) is not None:
            if int(match[1]):
                self.errors["ignored"] = int(match[1])
        elif (match := _RECONNECTS.match(line)) is not None:
            if int(match[1]):
                self.errors["reconnect"] = int(match[1])
        elif (match := _CPU.match(line)) is not None:
            self.kind, self.rate = "cpu", float(match[1])
        elif (match := _MEMORY.match(line)) is not None:
            self.figures["mib_per_s"] = float(match[2])
        elif (match := _OPERATIONS.match(line)) is not None:
            self.kind, self.rate = "memory", float(match[2])
        elif (match := _FILE.match(line)) is not None:
            self.kind = "fileio"
            self.figures[_FILE_NAMES[match[1]]] = float(match[2])
        elif (match := _TIME.match(line)) is not None:
            self.duration_s = float(match[1])
        elif (match := _COUNT.match(line)) is not None:
            self.count = self.count if self.count is not None else int(match[1])
        elif (match := _LATENCY.match(line)) is not None:
            name = {"min": "min_ms", "avg": "mean_ms", "max": "max_ms"}.get(match[1])
            name = name or (f"p{match[2]}_ms" if match[2] else None)
            if name is not None:
                self.response[name] = float(match[3])
        elif (match := _BLOCK.match(line)) is not None:
            self.settings[match[1].replace(" ", "_")] = match[2]
        elif _LAST.match(line) is not None:
            self.ended = True
        elif _FATAL.match(line) is not None:
            self.errors["fatal"] = self.errors.get("fatal", 0) + 1
        else:
            return _IGNORED_LINES.match(line) is not None or not line.strip()
        return True

    def _interval(self, line: str) -> bool:
        match = _INTERVAL.match(line) or _EVENTS_INTERVAL.match(line)
        if match is None:
            return False
        at = number(match["at"])
        failed = match.groupdict().get("errors")
        length = at - self.ended_s
        response = {f"p{match['rank']}_ms": float(match["late"])} if float(match["late"]) else {}
        lost = None if failed is None else round(float(failed) * length)
        self.intervals.append(Interval(self.ended_s, length, float(match["tps"]), lost, response))
        self.ended_s = at
        return True

    def _moved(self, line: str) -> bool:
        """Traffic of files and memory in an interval, as operations: blocks, and syncs of files."""
        match = _FILE_INTERVAL.match(line) or _MEMORY_INTERVAL.match(line)
        if match is None or self.block_mib is None:
            return False
        groups = match.groupdict()
        moved_mib = sum(float(groups[name]) for name in _MOVED if name in groups)
        rate = moved_mib / self.block_mib + float(groups.get("syncs", 0))
        response = {f"p{groups['rank']}_ms": float(groups["late"])} if "rank" in groups else {}
        at = number(groups["at"])
        self.intervals.append(Interval(self.ended_s, at - self.ended_s, rate, None, response))
        self.ended_s = at
        return True

    def take_many(self, table: Table) -> bool:
        """Intervals at once; False where they have to be looked at one by one."""
        shapes = (shape.match(table.first) for shape in _INTERVALS)
        match = next((candidate for candidate in shapes if candidate is not None), None)
        values = table.columns(match) if match is not None else None
        if values is None or ("tps" not in values and self.block_mib is None):
            return False
        response = {}
        if "tps" in values:
            rate = values["tps"]
        else:
            assert self.block_mib is not None
            moved_mib = columns.total([values[name] for name in _MOVED if name in values])
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
        rate = self.rate
        if rate is None and self.count is not None and self.duration_s:
            rate = self.count / self.duration_s
        if rate is None:
            return None
        return Measured(
            self.kind, self.unit, rate, self.count, sum(self.errors.values()), self.duration_s, self.threads,
            self.response, self.figures, self.settings, self.errors, self.intervals,
        )  # fmt: skip


READER = Reader(NAME, read_output, line_starts=(b"sysbench 1.", b"sysbench 0."))
