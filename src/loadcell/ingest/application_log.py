"""Logs of services in any text format, read line by line: entries, and lines that continue them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from loadcell.ingest import log_times
from loadcell.ingest.log_entries import Entry, Forms, json_entry, level_of, without_values
from loadcell.ingest.log_gathering import Messages, ServiceLines
from loadcell.ingest.log_pattern import Pattern
from loadcell.ingest.log_times import Stamps
from loadcell.model.application_log import ApplicationLogs, LogLine

#: Lines without a time that are retained.
_MOST_EXAMPLES: Final = 5
#: Characters of a line that are retained.
_LONGEST_TEXT: Final = 300
#: Lines that continue an entry: stack traces of Java, Python and Go, and what is indented.
_CONTINUED: Final = re.compile(
    r"\s|Caused by: |Suppressed: |\.\.\. \d+ |Traceback \(|goroutine \d+ |[\w.$]+(?:Exception|Error)\b"
    r"|\}|\]|$"
)
#: The second line of an entry of java.util.logging.
_SECOND_LINE: Final = re.compile(r"(?P<level>SEVERE|WARNING|INFO|CONFIG|FINE|FINER|FINEST): ?(?P<text>.*)")


class Reader:
    """Lines of all files of all services, one after the other."""

    def __init__(self, pattern: Pattern | None = None) -> None:
        self._pattern = pattern
        self._messages = Messages()
        self._services: list[tuple[ServiceLines, Stamps]] = []
        self._number = self._unstamped = self._continued = 0
        self._examples: list[LogLine] = []
        self._pending: tuple[Entry, int, str] | None = None

    def begin_file(self, service: str, file: str, stamps: Stamps) -> None:
        """The next line is the first of a file; files of a service follow one another."""
        self._flush()
        if not self._services or self._services[-1][0].name != service:
            lines = ServiceLines(service, self._messages)
        else:
            lines, before = self._services.pop()
            stamps.has_zone = stamps.has_zone and before.has_zone
        lines.begin_file(file)
        self._services.append((lines, stamps))
        self._stamps, self._lines = stamps, lines
        self._forms = Forms(stamps.formats[0].name if stamps.formats else "")
        self._is_java = any(item.name == "java" for item in stamps.formats)

    def take(self, line: str) -> None:
        """The next line."""
        self._number += 1
        self._lines.lines += 1
        entry = self._entry(line)
        if entry is None:
            if self._pending is not None:
                self._finish(line)
            else:
                self._note_unstamped(line)
            return
        self._flush()
        if self._is_java and entry.level == "other":
            self._pending = entry, self._number, line[:_LONGEST_TEXT]
            return
        self._add(entry, self._number, line[:_LONGEST_TEXT])

    @property
    def entries(self) -> int:
        """Entries of the present service so far."""
        return self._lines.entries

    def logs(self) -> ApplicationLogs:
        """All logs."""
        self._flush()
        return ApplicationLogs(
            tuple(
                lines.service(has_zone=stamps.has_zone, has_date=stamps.has_date)
                for lines, stamps in self._services
            ),
            self._messages.messages(),
            self._messages.slot_ns,
            self._messages.entries,
            self._number,
            self._unstamped,
            self._continued,
            tuple(self._examples),
        )

    def _entry(self, line: str) -> Entry | None:
        if self._pattern is not None:
            return self._pattern.take(line, self._stamps)
        if line[0] == "{" and (entry := json_entry(line, self._stamps)) is not None:
            return entry
        stamp = self._stamps.take(line)
        return None if stamp is None else self._forms.take(line, *stamp)

    def _add(self, entry: Entry, number: int, text: str) -> None:
        if not self._lines.take(entry, number, text, has_zone=self._stamps.has_zone):
            self._note_unstamped(text)

    def _finish(self, line: str) -> None:
        """Complete an entry by its second line."""
        if self._pending is None:
            return
        entry, number, text = self._pending
        self._pending = None
        if (match := _SECOND_LINE.match(line)) is not None:
            entry.level = level_of(match["level"]) or "other"
            entry.message = without_values(match["text"])
        self._add(entry, number, f"{text.rstrip()} {line[:_LONGEST_TEXT]}")
        self._unstamped += 1
        self._continued += 1

    def _flush(self) -> None:
        if self._pending is not None:
            pending, self._pending = self._pending, None
            self._add(*pending)

    def _note_unstamped(self, line: str) -> None:
        self._unstamped += 1
        if self._lines.entries and _CONTINUED.match(line) is not None:
            self._continued += 1
        elif len(self._examples) < _MOST_EXAMPLES:
            self._examples.append(LogLine(self._number, line[:_LONGEST_TEXT]))


def stamps_of(lines: Iterable[str], written_s: float | None, pattern: Pattern | None = None) -> Stamps | None:
    """The stamps of a log by its first lines; None of a text without stamps, or without matching lines."""
    head = islice(lines, log_times.MOST_LINES)
    fields = log_times.of_fields(written_s)
    if pattern is not None:
        return log_times.of_fields(written_s) if any(pattern.take(line, fields) for line in head) else None
    objects: list[str] = []

    def others() -> Iterator[str]:
        for line in head:
            if line[:1] != "{":
                yield line
            elif len(objects) < log_times.HEAD_LINES:
                objects.append(line)
            else:
                return

    detected = log_times.detect(others(), written_s)
    if detected is not None:
        return detected
    return log_times.of_fields(written_s) if any(json_entry(line, fields) for line in objects) else None
