"""Evidence from the logs of services: files of any order, of several services, read in bounded memory."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Final

from loadcell.incidents import refused_logs
from loadcell.incidents.evidence.application_log import ApplicationLog, Spans
from loadcell.incidents.evidence.base import Quote, Reading
from loadcell.ingest import log_times, log_zones
from loadcell.ingest.application_log import Reader, stamps_of
from loadcell.ingest.base import ImportProblemError
from loadcell.ingest.inputs import STDIN
from loadcell.ingest.log_contents import GC_SHARE, LEAST_GC_SHARE, gc_share, is_gc_line
from loadcell.ingest.log_excerpts import excerpt
from loadcell.ingest.log_files import REORDERED, LogLines, beginning, head_of, once
from loadcell.ingest.log_pattern import Pattern
from loadcell.ingest.log_times import Stamps
from loadcell.ingest.text import OnProgress, decoded
from loadcell.model.application_log import ApplicationLogs, Service
from loadcell.model.message import Count, ForeignText, Message, MessageCode, Seconds, Share

_DIRECTORY_WITHOUT = MessageCode("doctor.log-directory-without", path=str)
_NO_STAMPS = MessageCode("doctor.log-no-stamps", path=str, line=ForeignText)
_MONTH_FIRST = MessageCode("doctor.log-month-first", path=str, date=ForeignText)
#: A date of a month and a day, in either order, before the year.
_MONTH_FIRST_DATE: Final = re.compile(r"\W*(\d{1,2}/\d{1,2}/\d{4})\b")
_NO_MATCH = MessageCode("doctor.log-no-match", path=str, line=ForeignText)
_GC_LOG = MessageCode("doctor.log-is-gc-log", path=str)
_NO_TIME = MessageCode("doctor.log-no-time", path=str, number=int, text=ForeignText)
_NO_ENTRIES = MessageCode("doctor.log-no-entries", names=list)
GC_LINES = MessageCode("doctor.log-gc-lines", "info", path=str, lines_share=Share)
ZONE_CHANGE = MessageCode(
    "doctor.log-zone-change", "info", service=str, count=Count, size_s=Seconds, zones=list, of=Count
)
OTHER_ZONE = MessageCode("doctor.log-other-zone", "info", service=str, count=Count, size_s=Seconds)
NO_ZONE = MessageCode("doctor.log-no-zone", "info", service=str, zone=str)
UNORDERED = MessageCode("doctor.log-unordered", "info", service=str, late=Count)
MORE_THREADS = MessageCode("doctor.log-more-threads", "info", service=str, count=Count)

#: Names of rotated files differ from their service's by numbers, dates and compression.
_ROTATED: Final = re.compile(
    r"[._-]\d{4}-?\d\d-?\d\d(?:[T._-]?\d{1,6}(?=[._-]|$))?|\.\d{1,4}(?=\.|$)|\.(?:gz|bz2|xz)$"
)
_SHOWN: Final = 80
_MOST_ZONES: Final = 3
_HEAD_BYTES: Final = 65_536
#: Share of lines of a log of a service among those of a collector; with less it is a GC log.
_LEAST_OTHERS: Final = 0.05


@dataclass(frozen=True)
class _File:
    """A log file: its service, when it begins, and whether a JVM writes about its collector into it."""

    path: Path
    shown: str
    service: str
    stamps: Stamps
    begin_ns: int
    has_gc_lines: bool = False


def read(
    files: Sequence[tuple[Path, str]],
    pattern: str | None = None,
    others: tuple[Spans, ...] = (),
    on_progress: OnProgress | None = None,
) -> tuple[ApplicationLog, Reading]:
    """The evidence of the logs of services, each file a path and its name for people, in any order.

    `pattern` is a regular expression with the group `time`. Of several files those that are no logs are left
    out, with a remark. Raises ImportProblemError where none is a log.
    """
    files, repeated = once(files)
    expression = None if pattern is None else Pattern(pattern)
    with expression or contextlib.nullcontext():
        opened, refused = refused_logs.opened(
            files, lambda path, shown: _opened(path, shown, expression)
        )  # fmt: skip
        named = _named(opened)
        ordered = sorted(named, key=lambda file: (file.service, file.begin_ns))
        reader = Reader(expression)

        gc_lines = Counter[str]()
        current: list[_File] = []

        def begin(index: int) -> None:
            file = ordered[index]
            current[:] = [file]
            reader.begin_file(file.service, file.shown, file.stamps)

        lines = LogLines([(file.path, file.shown) for file in ordered], on_progress, begin)
        for line in lines:
            if current[0].has_gc_lines and is_gc_line(line):
                gc_lines[current[0].shown] += 1
                reader.skip()
            else:
                reader.take(line)
    logs = reader.logs()
    names = tuple(file.shown for file in ordered)
    if not any(service.entries for service in logs.services):
        raise ImportProblemError(_NO_ENTRIES(names=list(names)))
    if any(
        _is_reordered(files, [file for file in ordered if file.service == service.name])
        for service in logs.services
    ):
        lines.remarks.insert(0, REORDERED(files=names))
    of_collectors = (GC_LINES(path=path, lines_share=count / logs.lines) for path, count in gc_lines.items())
    of_refused = refused_logs.remarks(refused)
    remarks = (
        *of_refused,
        *repeated,
        *lines.remarks,
        *of_collectors,
        *(remark for service in logs.services for remark in _remarks(service)),
    )
    evidence = ApplicationLog(
        ", ".join(names), logs, lines.position, excerpt, others,
        remarks=tuple(remark for _, remark in lines.damages),
    )  # fmt: skip
    losses = (*of_refused, *evidence.remarks)
    reading = _reading(logs, evidence, lines, remarks)
    return evidence, replace(reading, losses=losses, refused=refused)


def readable(files: Sequence[tuple[Path, str]]) -> list[tuple[Path, str]]:
    """Those of the files that are logs with time stamps."""
    logs: list[tuple[Path, str]] = []
    for path, shown in files:
        with contextlib.suppress(ImportProblemError):
            _opened(path, shown, None)
            logs.append((path, shown))
    return logs


def service_of(name: str) -> str:
    """The name that rotated files of one log have in common."""
    return _ROTATED.sub("", name) or name


def _opened(path: Path, shown: str, pattern: Pattern | None) -> _File:
    """A file with the stamps that its first lines show. Raises ImportProblemError for what is no log."""
    head = head_of(path, shown, is_log, _DIRECTORY_WITHOUT)
    gc_lines = gc_share(head) if pattern is None else 0.0
    has_gc_lines = gc_lines >= LEAST_GC_SHARE

    def first_lines() -> Iterator[str]:
        lines = islice(beginning(path), log_times.MOST_LINES)
        return (line for line in lines if not (has_gc_lines and is_gc_line(line)))

    stamps = stamps_of(first_lines(), path.stat().st_mtime, pattern)
    if stamps is None and gc_lines >= GC_SHARE:
        raise ImportProblemError(_GC_LOG(path=shown))
    if stamps is None:
        first = next((line for line in decoded(head[:_HEAD_BYTES]).splitlines() if line.strip()), "")
        if pattern is not None:
            lines = islice(enumerate(beginning(path), 1), log_times.MOST_LINES)
            times = ((number, text) for number, line in lines if (text := pattern.time_of(line)) is not None)
            for number, text in times:
                _must_not_be_month_first(shown, text)
                shown_text = repr(excerpt(text)[:_SHOWN])
                raise ImportProblemError(_NO_TIME(path=shown, number=number, text=shown_text))
        _must_not_be_month_first(shown, first)
        code = _NO_STAMPS if pattern is None else _NO_MATCH
        raise ImportProblemError(code(path=shown, line=repr(excerpt(first.strip())[:_SHOWN])))
    probe = Reader(pattern)
    probe.begin_file("", "", stamps_of(first_lines(), path.stat().st_mtime, pattern) or stamps)
    count = 0
    for count, line in enumerate(islice(beginning(path), log_times.MOST_LINES), 1):  # noqa: B007
        if not (has_gc_lines and is_gc_line(line)):
            probe.take(line)
        if probe.entries >= log_times.HEAD_LINES:
            break
    if gc_lines >= GC_SHARE and probe.entries < _LEAST_OTHERS * count:
        raise ImportProblemError(_GC_LOG(path=shown))
    services = probe.logs().services
    begin_ns = services[0].begin_ns if services and services[0].entries else 0
    return _File(path, shown, _service_path(shown), stamps, begin_ns, has_gc_lines)


def is_log(name: str) -> bool:
    """True of the usual names of logs."""
    return "log" in name or name.endswith((".out", ".err"))


def _service_path(shown: str) -> str:
    if shown == str(STDIN):
        return shown
    path = Path(shown)
    return str(path.parent / service_of(path.name))


def _named(files: Sequence[_File]) -> list[_File]:
    """Files with the shortest distinct names of their services."""
    paths = {file.service for file in files}
    counts = Counter(Path(path).name for path in paths)
    short = {path: Path(path).name if counts[Path(path).name] == 1 else path for path in paths}
    return [replace(file, service=short[file.service]) for file in files]


def _is_reordered(files: Sequence[tuple[Path, str]], ordered: Sequence[_File]) -> bool:
    paths = {file.path for file in ordered}
    return [path for path, _ in files if path in paths] != [file.path for file in ordered]


def _remarks(service: Service) -> list[Message]:
    remarks: list[Message] = []
    if service.zone_changes:
        first, count = service.zone_changes[0], len(service.zone_changes)
        zones = log_zones.zones_with_change(first.before_ns, first.after_ns)
        code = ZONE_CHANGE if zones else OTHER_ZONE
        size_s = -first.size_ns / 1e9
        shown = list(zones[:_MOST_ZONES])
        remarks.append(
            code.pick(service=service.name, count=count, size_s=size_s, zones=shown, of=len(zones))
        )
    if not service.has_zone and service.entries:
        remarks.append(NO_ZONE(service=service.name, zone=_zone(service.begin_ns)))
    if service.is_unordered:
        remarks.append(UNORDERED(service=service.name, late=service.late_lines))
    if service.more_threads:
        remarks.append(MORE_THREADS(service=service.name, count=service.more_threads))
    return remarks


def _zone(instant_ns: int) -> str:
    """The zone of this machine, as in ISO 8601."""
    minutes = log_times.local_offset_s(instant_ns / 1e9) // 60
    sign = "-" if minutes < 0 else "+"
    return f"{sign}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


def _reading(
    logs: ApplicationLogs, evidence: ApplicationLog, lines: LogLines, remarks: tuple[Message, ...]
) -> Reading:
    examples: tuple[Quote, ...] = evidence.quotes(logs.examples)
    names = tuple(shown for _, shown in lines.files)
    unread = logs.unstamped - logs.continued + lines.zeros
    return Reading("application-log", names, logs.lines + lines.zeros, unread, examples, remarks)


def _must_not_be_month_first(path: str, text: str) -> None:
    """Raises ImportProblemError where a line or a stamp begins with such a date."""
    if (match := _MONTH_FIRST_DATE.match(text)) is not None:
        raise ImportProblemError(_MONTH_FIRST(path=path, date=match[1]))
