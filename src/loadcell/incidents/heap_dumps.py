"""A heap dump at each full collection: flags that somebody left switched on, and files that fill the disk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.incidents.base import Incident, Judgement
from loadcell.incidents.evidence.base import Quote
from loadcell.incidents.evidence.collections import DUMP_FLAGS, Collections
from loadcell.model.message import Bytes, Count, MessageCode, Seconds
from loadcell.model.numbers import size, utc_text

SIGNS = MessageCode("incident.heap-dumps.signs", "info", count=Count, flags=list)
_SEEN = MessageCode("incident.heap-dumps.seen", "info", count=Count, total_s=Seconds)
_SEEN_WITH_FILES = MessageCode(
    "incident.heap-dumps.seen-with-files", "info",
    count=Count, total_s=Seconds, files=Count, total_bytes=Bytes,
)  # fmt: skip
_FILES = MessageCode("incident.heap-dumps.files", "info", count=Count, total_bytes=Bytes)
_FLAG = MessageCode("incident.heap-dumps.flag", "info", flags=list)
_HEALTHY = MessageCode("incident.heap-dumps.healthy", "info", count=Count, most=Count)

#: Dumps that are no incident: that of an OutOfMemoryError, or one on request.
MOST: Final = 1


class HeapDumps(Incident[Collections]):
    name = "heap-dumps"
    needs = Collections
    source = "The java Command (JDK 17): -XX:+HeapDumpOnOutOfMemoryError; diagnostics of a service, 2023"
    signs = SIGNS(count=MOST + 1, flags=DUMP_FLAGS)

    def examine(self, evidence: Collections) -> Iterator[Judgement]:
        timed = [dump for dump in evidence.log.around.dumps if dump.duration_ns is not None]
        # a dump may be in the lines of a collection and in those of the JVM
        dumps = max(
            [dump for dump in timed if dump.size_bytes is None],
            [dump for dump in timed if dump.size_bytes is not None],
            key=len,
        )
        flags = [flag for flag in DUMP_FLAGS if flag in evidence.log.around.flags]
        files = evidence.dump_files
        quotes = (
            *evidence.quotes([dump.line for dump in dumps]),
            *(Quote(file.path, 0, f"{size(file.size_bytes)}, {utc_text(file.written_ns)}") for file in files),
        )
        times = [dump.end_ns for dump in dumps if dump.end_ns is not None]
        span = (min(times), max(times)) if times else None
        total_bytes = sum(file.size_bytes for file in files)
        if len(dumps) > MOST:
            total_s = sum(dump.duration_ns or 0 for dump in dumps) / 1e9
            summary = _SEEN(count=len(dumps), total_s=total_s)
            if files:
                summary = _SEEN_WITH_FILES(
                    count=len(dumps), total_s=total_s, files=len(files), total_bytes=total_bytes
                )
            yield self.diagnosis("critical", "high", summary, span, quotes)
        elif len(files) > MOST:
            level, confidence = ("critical", "high") if flags else ("warning", "medium")
            summary = _FILES(count=len(files), total_bytes=total_bytes)
            yield self.diagnosis(level, confidence, summary, None, quotes)  # type: ignore[arg-type]
        if flags and max(len(dumps), len(files)) <= MOST:
            yield self.diagnosis("warning", "high", _FLAG(flags=flags), span, quotes)
        if not flags and max(len(dumps), len(files)) <= MOST:
            yield self.healthy(_HEALTHY(count=max(len(dumps), len(files)), most=MOST))


PART = HeapDumps
