"""Heap dumps in the directories of GC logs: those of full collections, and those of an OutOfMemoryError.

A dump that may be of several JVMs is that of none of them.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Final

from loadcell.incidents.evidence.collections import (
    ERROR_FLAG,
    FULL_SHARE,
    REQUESTED,
    Collections,
    DumpFile,
    Lack,
    dumps_often,
)
from loadcell.ingest.log_files import LogLines
from loadcell.model.gc_pauses import Pause
from loadcell.model.message import Message, MessageCode

UNCERTAIN = MessageCode("doctor.uncertain-dump", "info", path=str, sources=list)

_MOST_DUMPS: Final = 1_000
#: The name that a JVM gives a dump has its process.
_PROCESS: Final = re.compile(r"_pid(\d+)\.hprof")
_NUMBER: Final = re.compile(r"\d+")
#: A dump is before the pause of its collection, or ends after its line.
_EARLIER_NS: Final = 5 * 10**9
_LATER_NS: Final = 60 * 10**9
#: Least rate at which a dump is written.
_BYTES_PER_S: Final = 50_000_000
_PATH_FLAG: Final = "-XX:HeapDumpPath="


def with_dumps(
    jvms: Sequence[Collections], lines: LogLines
) -> tuple[tuple[Collections, ...], tuple[Message, ...]]:
    """The JVMs of logs with their dumps, and remarks on dumps that may be of several of them."""
    is_only = len(jvms) == 1
    with_all = [
        replace(
            jvm, dump_files=_of_collections(lines, jvm, is_only=is_only), error_dumps=_of_errors(lines, jvm)
        )
        for jvm in jvms
    ]
    sources: dict[str, list[str]] = {}
    for jvm in with_all:
        for path in dict.fromkeys(file.path for file in (*jvm.dump_files, *jvm.error_dumps)):
            sources.setdefault(path, []).append(jvm.source)
    shared = {path: names for path, names in sources.items() if len(names) > 1}

    def certain(files: Sequence[DumpFile]) -> tuple[DumpFile, ...]:
        return tuple(file for file in files if file.path not in shared)

    return (
        tuple(
            replace(jvm, dump_files=certain(jvm.dump_files), error_dumps=certain(jvm.error_dumps))
            for jvm in with_all
        ),
        tuple(UNCERTAIN(path=path, sources=names) for path, names in shared.items()),
    )


def _of_collections(lines: LogLines, evidence: Collections, *, is_only: bool) -> tuple[DumpFile, ...]:
    """Heap dumps beside the logs that this JVM wrote at a full collection.

    Where the log has no dates, its flags or its lines must have the dumps.
    """
    full = [pause for pause in evidence.log.pauses if pause.kind == "full"]
    around = evidence.log.around
    has_sign = bool(around.dumps) or dumps_often(around.flags)
    # JDK 9 and later writes a line for each dump
    has_lines = any("] GC(" in quote.text for quote in evidence.quotes_of(full[-1:]))
    times = _times(full, evidence)
    if not full or (not has_sign and (has_lines or not times)) or (not times and not is_only):
        return ()

    def is_of_time(file: DumpFile) -> bool:
        return not times or any(begin <= file.written_ns <= end + _LATER_NS for begin, end in times)

    return _of_process(lines, is_of_time)


def _of_errors(lines: LogLines, evidence: Collections) -> tuple[DumpFile, ...]:
    """Heap dumps beside the logs that this JVM wrote on an OutOfMemoryError.

    They follow a full collection that was not requested and left the heap full, and have the usual name. With
    the flag in the log one of both signs makes a doubtful dump, where there is none with both.
    """
    around = evidence.log.around
    if dumps_often(around.flags) or any(dump.duration_ns is not None for dump in around.dumps):
        return ()
    all_full = [pause for pause in evidence.log.pauses if pause.kind == "full"]

    def lacks(file: DumpFile) -> Lack | None:
        last = _last_before(file, all_full, evidence)
        if last is None or last.cause in REQUESTED:
            return None
        is_full = (last.after_bytes or 0) >= FULL_SHARE * (evidence.capacity_bytes or inf)
        is_named = _is_usual_name(file, around.flags)
        if is_full and is_named:
            return ""
        if ERROR_FLAG not in around.flags:
            return None
        return "name" if is_full else "full-heap" if is_named else None

    certain = _of_process(lines, lambda file: lacks(file) == "")
    doubtful = () if certain else _of_process(lines, lambda file: lacks(file) is not None)
    return certain or tuple(replace(file, lacks=lacks(file) or "") for file in doubtful)


def _last_before(file: DumpFile, full: Sequence[Pause], evidence: Collections) -> Pause | None:
    """The last full collection before a dump, if the dump can have begun directly after it."""
    writing_ns = _LATER_NS + file.size_bytes * 10**9 // _BYTES_PER_S
    begun = [
        (pause, begin, end)
        for pause in full
        for begin, end in _times([pause], evidence)
        if begin <= file.written_ns
    ]
    # clocks of file servers differ a little from that of the log
    ended = [item for item in begun if item[2] <= file.written_ns] or begun
    if not ended or file.written_ns > ended[-1][2] + writing_ns:
        return None
    return ended[-1][0]


def _is_usual_name(file: DumpFile, flags: Iterable[str]) -> bool:
    """True for the name that the JVM gives a dump, and for that of its option."""
    paths = [flag.removeprefix(_PATH_FLAG).strip('"') for flag in flags if flag.startswith(_PATH_FLAG)]
    names = [
        r"java_pid\d+\.hprof",
        *(re.escape(Path(path).name).replace("%p", r"\d+") for path in paths[-1:]),
    ]
    pattern = rf"(?:{'|'.join(names)})(?:\.gz)?(?:\.\d+)?"
    return re.fullmatch(pattern, Path(file.path).name) is not None


def _times(full: Sequence[Pause], evidence: Collections) -> list[tuple[int, int]]:
    """Begin and end of collections by the wall clock, where the log has it."""
    return [
        (start_ns - _EARLIER_NS, end_ns)
        for pause in full
        if (start_ns := evidence.utc_ns(pause.start_ns)) is not None
        and (end_ns := evidence.utc_ns(pause.end_ns)) is not None
    ]


def _of_process(lines: LogLines, accepts: Callable[[DumpFile], bool]) -> tuple[DumpFile, ...]:
    """Accepted dumps of the process that a log is named after, or of the one with the most of them."""
    by_process: dict[str, list[DumpFile]] = {}
    for file in _adjacent(lines):
        if accepts(file):
            match = _PROCESS.search(file.path)
            by_process.setdefault("" if match is None else match[1], []).append(file)
    named = [process for process in by_process if process and _is_in_name(process, lines)]
    chosen = named[0] if named else max(by_process, key=lambda process: len(by_process[process]), default="")
    return tuple(sorted(by_process.get(chosen, ()), key=lambda file: file.written_ns))


def _adjacent(lines: LogLines) -> Iterator[DumpFile]:
    for directory in {path.parent for path, _ in lines.files}:
        for path in sorted(directory.glob("*.hprof*"))[:_MOST_DUMPS]:
            try:
                status = path.stat()
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode):
                yield DumpFile(str(path), status.st_size, status.st_mtime_ns)


def _is_in_name(process: str, lines: LogLines) -> bool:
    return any(process in _NUMBER.findall(path.name) for path, _ in lines.files)
