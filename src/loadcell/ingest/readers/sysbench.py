"""sysbench 0.4 to 1.1: cpu, memory, fileio, threads, mutex, and the OLTP scripts; several executions in one
text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from loadcell.ingest import columns, totals
from loadcell.ingest import sysbench_lines as shapes
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
from loadcell.ingest.printed_numbers import integer, milliseconds, number, real
from loadcell.ingest.readers import Reader
from loadcell.ingest.series import Intervals, Room
from loadcell.ingest.text import Output, Table, lines, stretches
from loadcell.ingest.totals import THROUGHPUT, printed_total
from loadcell.model.message import MessageCode

OUTPUT_SYSBENCH = MessageCode("output.sysbench")

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
            head = shapes.HEAD.match(line)
            if head is not None or ((current is None or current.summarised) and shapes.BEGIN.match(line)):
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
            if shapes.CHECKPOINT.match(line) is not None:
                self.checkpoint = True
                return True
            return self._interval(line) or self._moved(line)
        if (match := shapes.BLOCK_SIZE.match(line)) is not None:
            self.block_mib = integer(match["number"]) * shapes.UNITS[match["unit"]]
        if (match := shapes.OPTIONS.match(line)) is not None:
            self._set(match)
        elif (match := shapes.THREADS.match(line)) is not None:
            self.threads = integer(match[1])
        elif (match := shapes.TRANSACTIONS.match(line)) is not None:
            self.kind, self.unit, self.count, self.rate = (
                "oltp",
                "transaction",
                integer(match[1]),
                real(match[2]),
            )
        elif (match := shapes.QUERIES.match(line)) is not None:
            self.figures["queries_per_s"] = real(match[2])
        elif (match := shapes.IGNORED.match(line)) is not None:
            if integer(match[1]):
                self.errors["ignored"] = integer(match[1])
        elif (match := shapes.RECONNECTS.match(line)) is not None:
            if integer(match[1]):
                self.errors["reconnect"] = integer(match[1])
        elif (match := shapes.CPU.match(line)) is not None:
            self.kind, self.rate = "cpu", real(match[1])
        elif (match := shapes.EVENTS.match(line)) is not None:
            self.events_per_s = match[1]
        elif (match := shapes.MEMORY.match(line)) is not None:
            self.figures["mib_per_s"] = real(match[2])
        elif (match := shapes.OPERATIONS.match(line)) is not None:
            self.kind, self.rate = "memory", real(match[2])
        elif (match := shapes.FILE.match(line)) is not None:
            self.kind = "fileio"
            self.figures[shapes.FILE_NAMES[match[1]]] = real(match[2])
        elif (match := shapes.FILE_IOPS.match(line)) is not None:
            self.kind = "fileio"
            rate, moved = shapes.IOPS_NAMES[match["name"]]
            self.figures[rate] = real(match["rate"])
            if match["mib"]:
                self.figures[moved] = real(match["mib"])
        elif (match := shapes.OLD_FILE.match(line)) is not None:
            self.kind = "fileio"
            self.figures["mib_per_s"] = real(match[1]) * {"K": 2**-10, "M": 1, "G": 2**10}[match[2]]
        elif (match := shapes.OLD_FILE_RATE.match(line)) is not None:
            self.kind, self.rate = "fileio", real(match[1])
        elif (match := shapes.TIME.match(line)) is not None:
            self.duration_s = real(match[1])
        elif (match := shapes.COUNT.match(line)) is not None:
            self.events = integer(match[1])
        elif (match := shapes.LATENCY.match(line)) is not None:
            name = {"min": "min_ms", "avg": "mean_ms", "max": "max_ms"}.get(match[1])
            name = name or (f"p{match[2]}_ms" if match[2] else None)
            if name is not None:
                self.response[name] = milliseconds(match[3] + (match[4] or "ms"))
            elif match[1] == "sum":
                self._end()
        elif (match := shapes.BLOCK.match(line)) is not None:
            self.settings[match[1].replace(" ", "_")] = match[2]
        elif shapes.LAST.match(line) is not None:
            self._end()
        elif (match := shapes.DEADLOCKS.match(line)) is not None:
            if integer(match[1]):
                self.errors["deadlock"] = integer(match[1])
        elif (match := shapes.REPEATED.match(line)) is not None:
            if repeated:
                self.errors["fatal"] += integer(match[1])
        elif shapes.FATAL.match(line) is not None:
            self.errors["fatal"] = self.errors.get("fatal", 0) + 1
            self.failed_line = True
        else:
            return shapes.IGNORED_LINES.match(line) is not None or not line.strip()
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
        match = (
            shapes.INTERVAL.match(line)
            or shapes.EVENTS_INTERVAL.match(line)
            or shapes.OLD_INTERVAL.match(line)
        )
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
        match = shapes.FILE_INTERVAL.match(line) or shapes.MEMORY_INTERVAL.match(line)
        if match is None or self.block_mib is None:
            return False
        groups = match.groupdict()
        moved_mib = sum(real(groups[name]) for name in shapes.MOVED if name in groups)
        rate = moved_mib / self.block_mib + real(groups.get("syncs", "0"))
        response = {f"p{groups['rank']}_ms": real(groups["late"])} if "rank" in groups else {}
        at = number(groups["at"])
        self.intervals.append(Interval(self.ended_s, at - self.ended_s, rate, None, response))
        self.ended_s = at
        return True

    def take_many(self, table: Table) -> bool:
        """Intervals at once; False where they have to be looked at one by one."""
        matches = (shape.match(table.first) for shape in shapes.INTERVALS)
        match = next((candidate for candidate in matches if candidate is not None), None)
        values = table.columns(match) if match is not None else None
        if values is None or ("tps" not in values and self.block_mib is None):
            return False
        response = {}
        if "tps" in values:
            rate = values["tps"]
        else:
            assert self.block_mib is not None
            moved_mib = columns.total([values[name] for name in shapes.MOVED if name in values])
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
        rates = [self.figures[name] for name, _ in shapes.IOPS_NAMES.values() if name in self.figures]
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
        printed.append(PrintedTotal("per second", rate, totals.INTERVALS))
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
            printed=(PrintedTotal("per second", rate, totals.INTERVALS),),
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
