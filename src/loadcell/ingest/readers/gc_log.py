"""GC logs of all JDKs, with rotated files; alone or next to a load.

The rows per second and the table of pauses are those of a trial with a GC log.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from loadcell.analysis import gc_pauses
from loadcell.ingest import gc_log
from loadcell.ingest.base import MOST_INSTANTS, NotItsOutputError, Reading, Samples, Unread
from loadcell.ingest.gc_unified import COLLECTORS
from loadcell.ingest.readers import Reader
from loadcell.ingest.text import Output
from loadcell.model.gc_pauses import PAUSES, PAUSES_TABLE, SOURCE, TABLE, GcLog
from loadcell.model.message import Count, ForeignText, MessageCode, Seconds
from loadcell.model.panels import Row

OUTPUT_GC_LOG = MessageCode("output.gc-log")
OUTPUT_GC_LOG_NO_TIMES = MessageCode("output.gc-log.no-times")
OUTPUT_GC_LOG_SEVERAL = MessageCode("output.gc-log.several-jvms", file=str, line=str)
OUTPUT_GC_LOG_LINE = MessageCode("output.gc-log.line", line=str, text=ForeignText)
OUTPUT_GC_LOG_FILE_LINE = MessageCode("output.gc-log.file-line", file=str, line=str, text=ForeignText)
OUTPUT_GC_LOG_LEFT_OUT = MessageCode("output.gc-log.left-out", count=Count, limit_s=Seconds)

NAME = "gc-log"
#: A collection, or the first line of a file, as JDK 8 and before write them.
_JDK_8 = re.compile(
    rb"^(?:\d{4}-\d\d-\d\dT[\d:.,]+[+-]\d{4}: )?(?:\d+[.,]\d{3}: )?\[(?:Full )?GC[ (]"
    rb"|^(?:OpenJDK|Java HotSpot)[^\n]* JRE \(1\.[5-8]\.",
    re.MULTILINE,
)


#: Resolution of dates: a pause in the last line is within the time of the log.
_TICK_NS = 10**6


class GcSamples(Samples):
    """A log as samples; its time is that from its first line to its last."""

    table_columns = PAUSES_TABLE.columns
    text = tuple(PAUSES_TABLE.text)

    def __init__(self, log: GcLog, begin_ns: int, end_ns: int) -> None:
        super().__init__(SOURCE, TABLE.file, PAUSES, TABLE.columns, absolute=log.clock == "utc")
        self._log, self._begin_s, self._end_s = log, begin_ns / 1e9, end_ns / 1e9
        self.settings = {"collector": log.collector} if log.collector else {}
        rows = gc_pauses.per_second(log.since(begin_ns), 0, math.ceil((end_ns - begin_ns) / 1e9))
        for since_s, row in rows:
            self.touch(self._begin_s + since_s)
            for column, value in row.items():
                if isinstance(value, int | float):
                    self.put(self._begin_s + since_s, column, value)

    @property
    def first_s(self) -> float:
        return self._begin_s

    @property
    def last_s(self) -> float:
        return self._end_s

    def table_rows(self) -> Iterator[tuple[float, Row]]:
        return gc_pauses.rows(self._log)

    def figures(self, begin_s: float, end_s: float) -> Mapping[str, float]:
        """Metrics of pauses; those of requests are not known."""
        return gc_pauses.metrics(self._log.since(round(begin_s * 1e9)), end_s - begin_s, None)


def read(output: Output) -> Reading:
    """A log of one JVM, whose files may be named in any order.

    Raises NotItsOutputError where no collector and no pause is in it, or the time of its lines is not known.
    """
    # the file in use has no number: it is named first, and is the last
    named, *rotated = output.files
    ordered = sorted(rotated, key=lambda path: gc_log.first_instant(path, gc_log.DATED_CLOCKS))
    files = [*ordered, named]
    begins: list[int] = []
    log = gc_log.read(_lines(output, files, begins), clocks=gc_log.DATED_CLOCKS)
    if not log.pauses and not COLLECTORS.match(log.collector):
        raise NotItsOutputError(OUTPUT_GC_LOG_NO_TIMES() if _has_pause(log) else OUTPUT_GC_LOG())
    begin_ns = log.begin_ns
    if log.first_ns is None or begin_ns is None:
        raise NotItsOutputError(OUTPUT_GC_LOG_NO_TIMES())
    if log.restart_line is not None:
        index, line = gc_log.position(begins, log.restart_line)
        raise NotItsOutputError(OUTPUT_GC_LOG_SEVERAL(file=files[index].name, line=str(line)))
    unread = Unread()
    for number, text in log.examples:
        index, line = gc_log.position(begins, number)
        code = OUTPUT_GC_LOG_FILE_LINE if rotated else OUTPUT_GC_LOG_LINE
        unread.add(code.pick(file=files[index].name, line=str(line), text=text))
    unread.more(log.unread - len(log.examples))
    end_ns = max([log.last_ns or log.first_ns, *(pause.end_ns + _TICK_NS for pause in log.pauses[-1:])])
    if log.left_out:  # the time of the others, of which nothing is known, does not count
        end_ns = log.pauses[-1].end_ns + _TICK_NS
    limit_ns = begin_ns + MOST_INSTANTS * 10**9
    left_out = log.left_out + sum(pause.end_ns > limit_ns for pause in log.pauses)
    if left_out or end_ns > limit_ns:
        end_ns = min(end_ns, limit_ns)
        unread.add(OUTPUT_GC_LOG_LEFT_OUT(count=left_out, limit_s=(end_ns - begin_ns) // 10**9))
    return unread.reading((), GcSamples(log, begin_ns, end_ns))


def _lines(output: Output, files: Sequence[Path], begins: list[int]) -> Iterator[str]:
    """Lines of all files; `begins` gets the number of lines before each."""
    count = read_bytes = 0
    for path in files:
        begins.append(count)
        file = Output((path,), lambda read, _, before=read_bytes: output.went(before + read))  # type: ignore[misc]
        for line in file.lines():
            count += 1
            yield line
        read_bytes += path.stat().st_size


def _has_pause(log: GcLog) -> bool:
    return any(" Pause " in text or "[GC" in text or "[Full GC" in text for _, text in log.examples)


READER = Reader(
    NAME,
    read,
    anywhere=(b"][gc", b"] GC("),
    file_start=_JDK_8,
    # other outputs may have such numbers, too
    continuation=re.compile(r"(?P<first>(?:.*/)?[^/]*gc[^/]*)\.\d+", re.IGNORECASE),
)
