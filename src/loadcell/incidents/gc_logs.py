"""Evidence from GC logs: files of any order, compressed, cut, of several JVMs, read in bounded memory."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from loadcell.incidents import refused_logs
from loadcell.incidents.evidence.base import Quote, Reading
from loadcell.incidents.evidence.collections import Collections
from loadcell.incidents.gc_log_dumps import with_dumps
from loadcell.ingest import gc_log
from loadcell.ingest.application_log import stamps_of
from loadcell.ingest.base import ImportProblemError
from loadcell.ingest.gc_unified import COLLECTORS
from loadcell.ingest.log_files import REORDERED, LogLines, beginning, blocks_of, head_of, once
from loadcell.ingest.read import tools_of
from loadcell.ingest.text import OnProgress, decoded
from loadcell.ingest.text import lines as text_lines
from loadcell.model.gc_pauses import GcLog
from loadcell.model.message import Count, ForeignText, Message, MessageCode, Seconds
from loadcell.plan.secret_patterns import without_secrets

_DIRECTORY_WITHOUT = MessageCode("doctor.directory-without", path=str)
_OTHER_TOOL = MessageCode("doctor.other-tool", path=str, tools=list)
_OTHER_TEXT = MessageCode("doctor.other-text", path=str, line=ForeignText)
_OTHER_LOG = MessageCode("doctor.other-log", path=str, line=ForeignText)
_NO_TIMES = MessageCode("doctor.no-times", path=str)
CLOCK_STEPS = MessageCode("doctor.clock-steps", "caution", source=str, count=Count, back_s=Seconds)

#: Lines of the beginning in which a sign of a collector must be: a service prints others first.
_MOST_BEFORE: Final = 20_000
#: A line of a collection, in either format; other signs are those of the readers of all tools.
_COLLECTION: Final = re.compile(rb"\] GC\(\d+\) |\[(?:Full )?GC[ (]")
_SHOWN: Final = 80


class NoGcLogError(ImportProblemError):
    """A file that is no GC log: what it looks like, and what to do."""


@dataclass(frozen=True)
class GcLogs:
    """Logs of one call: the evidence of each JVM, and how well it was read."""

    jvms: tuple[Collections, ...]
    reading: Reading


def read(
    files: Sequence[tuple[Path, str]], timeout_ns: int | None = None, on_progress: OnProgress | None = None
) -> GcLogs:
    """The evidence of GC logs, each a path and its name for people, in any order.

    Of several files those that are no logs are left out, with a remark. Pauses longer than
    `timeout_ns` are retained one by one. Raises ImportProblemError where no file is a GC log.
    """
    files, repeated = once(files)
    files, refused = refused_logs.opened(files, _log)
    ordered = sorted(files, key=lambda item: gc_log.first_instant_of(beginning(item[0]), gc_log.DATED_CLOCKS))
    lines = LogLines(ordered, on_progress)
    of_lines = tuple(_with_lines(gc_log.read_jvms(lines, timeout_ns)))
    logs = [log for log, _, _ in of_lines]
    names = tuple(shown for _, shown in ordered)
    if not logs:
        raise NoGcLogError(_other(*files[0]))
    if [path for path, _ in ordered] != [path for path, _ in files]:
        lines.remarks.insert(0, REORDERED(files=names))
    lines.remarks[:0] = repeated
    sources = [", ".join(names)] if len(logs) == 1 else [_place(lines, *span) for _, *span in of_lines]
    jvms = tuple(
        _collections(log, source, lines, timeout_ns) for log, source in zip(logs, sources, strict=True)
    )
    jvms, uncertain = with_dumps(jvms, lines)
    lines.remarks += uncertain
    jvms = _with_damages(jvms, lines)
    for jvm in jvms:
        around = jvm.log.around
        if around.clock_steps:
            back_s = around.furthest_back_ns / 1e9
            lines.remarks.append(CLOCK_STEPS(source=jvm.source, count=around.clock_steps, back_s=back_s))
    unread = lines.zeros + sum(log.unread for log in logs)
    quotes = _Quotes(names, tuple(lines.begins), {})
    examples = [quotes.of(*example) for log in logs for example in log.examples]
    total = lines.zeros + sum(log.lines for log in logs)
    of_refused = refused_logs.remarks(refused)
    losses = (*of_refused, *(remark for _, remark in lines.damages))
    remarks = (*of_refused, *lines.remarks)
    return GcLogs(
        jvms, Reading("gc-log", names, total, unread, tuple(examples[:5]), remarks, losses, refused)
    )


def _with_lines(logs: Sequence[GcLog]) -> Iterator[tuple[GcLog, int, int]]:
    """The logs of JVMs, each with the number of its first and its last line in all files."""
    end = 0
    for log in logs:
        begin, end = end + 1, end + log.lines
        if log.pauses or COLLECTORS.match(log.collector):
            yield log, begin, end


def _place(lines: LogLines, begin: int, end: int) -> str:
    """The files of a JVM, with lines where other JVMs wrote to them, too."""
    (first, from_line), (last, to_line) = lines.position(begin), lines.position(end)
    if first != last:
        return f"{first}:{from_line} … {last}:{to_line}"
    is_complete = from_line == 1 and (end == lines.count or end in lines.begins)
    return first if is_complete else f"{first}:{from_line}-{to_line}"


def _with_damages(jvms: Sequence[Collections], lines: LogLines) -> tuple[Collections, ...]:
    """The JVMs with the damages of their logs: a place belongs to the last one that began before it."""
    begins = [min((pause.line for pause in jvm.log.pauses), default=0) for jvm in jvms]
    remarks: list[tuple[Message, ...]] = [()] * len(jvms)
    for line, remark in lines.damages:
        index = max(
            range(len(jvms)), key=lambda number: begins[number] if begins[number] <= line else -1
        )  # fmt: skip
        remarks[index] = (*remarks[index], remark)
    return tuple(replace(jvm, remarks=of_jvm) for jvm, of_jvm in zip(jvms, remarks, strict=True))


@dataclass(frozen=True)
class _Quotes:
    """Lines of evidence by their number in all files, each of which begins after some lines of the others."""

    files: tuple[str, ...]
    begins: tuple[int, ...]
    texts: Mapping[int, str]

    def __call__(self, number: int) -> Quote | None:
        text = self.texts.get(number)
        return None if text is None else self.of(number, text)

    def of(self, number: int, text: str) -> Quote:
        """A line whose text is known."""
        index, line = gc_log.position(self.begins, number)
        return Quote(self.files[index], line, without_secrets(text))


def _collections(log: GcLog, source: str, lines: LogLines, timeout_ns: int | None) -> Collections:
    names = tuple(shown for _, shown in lines.files)
    quotes = _Quotes(names, tuple(lines.begins), log.around.texts)
    return Collections(source, log, quotes, timeout_ns=timeout_ns)


def _log(path: Path, shown: str) -> tuple[Path, str]:
    """The file. Raises ImportProblemError for what cannot be a GC log."""
    head = head_of(path, shown, lambda name: "gc" in name, _DIRECTORY_WITHOUT)
    is_log = _COLLECTION.search(head) is not None or bool(tools_of(head, "gc-log"))
    if not is_log and not _has_collector(head):
        raise NoGcLogError(_other(path, shown, head))
    return path, shown


def _has_collector(head: bytes) -> bool:
    lines = text_lines([head])
    logs = gc_log.read_jvms(line for line, _ in zip(lines, range(_MOST_BEFORE), strict=False))
    return any(log.pauses or COLLECTORS.match(log.collector) or log.around.vm for log in logs)


def _other(path: Path, shown: str, head: bytes | None = None) -> Message:
    """The reason for a text that is no GC log: the tool whose output it looks like, or its first line."""
    head = next(blocks_of(path), b"") if head is None else head
    if b"[GC" in head or b" Pause " in head:
        return _NO_TIMES(path=shown)
    tools = [name for name in tools_of(head) if name != "gc-log"]
    if tools:
        return _OTHER_TOOL(path=shown, tools=tools)
    first = next((line for line in decoded(head[:_MOST_HEAD]).splitlines() if line.strip()), "")
    has_times = stamps_of(beginning(path), path.stat().st_mtime) is not None
    code = _OTHER_LOG if has_times else _OTHER_TEXT
    return code(path=shown, line=repr(without_secrets(first.strip())[:_SHOWN]))


_MOST_HEAD: Final = 4096
