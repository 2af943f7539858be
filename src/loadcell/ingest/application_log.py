"""Logs of services in any text format, read line by line: entries, and lines that continue them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from loadcell.ingest import log_times
from loadcell.ingest.log_entries import Entry, Forms, json_entry, level_of, without_values
from loadcell.ingest.log_excerpts import LONGEST_RAW, log_line
from loadcell.ingest.log_gathering import ServiceLines
from loadcell.ingest.log_messages import Messages
from loadcell.ingest.log_pattern import Pattern
from loadcell.ingest.log_times import Stamps
from loadcell.model.application_log import ApplicationLogs, LogLine
from loadcell.plan.secret_patterns import REDACTED, without_secrets

#: Lines without a time that are retained.
_MOST_EXAMPLES: Final = 5
#: Stands where the lines of a private key begin and end; none of them is an example.
_KEY: Final = "PRIVATE KEY"
_KEY_END: Final = "-----END "
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
        self._is_in_key = False

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
        self._is_in_key = False
        self._flush()
        if self._is_java and entry.level == "other":
            self._pending = entry, self._number, line
            return
        self._add(entry, self._number, line)

    def skip(self) -> None:
        """Count a line that is no part of the log."""
        self._number += 1
        self._lines.lines += 1

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

    def _add(self, entry: Entry, number: int, line: str, second: str = "") -> None:
        """An entry of this line, and of a second one that has its message."""
        text = f"{line.rstrip()} {second}" if second else line

        def redacted() -> Entry:
            return self._redacted(entry, line, second)

        has_zone = self._stamps.has_zone
        if not self._lines.take(entry, number, text[:LONGEST_RAW], redacted, has_zone=has_zone):
            self._note_unstamped(text)

    def _redacted(self, entry: Entry, line: str, second: str) -> Entry:
        """An entry as it is read from its line without secrets: values are masked, and names cut, afterwards.

        The time and the level are those of the line itself.
        """
        without, shown = without_secrets(line), None
        if line[0] == "{" and self._pattern is None:
            # what is escaped in JSON is recognised in its fields alone
            shown = json_entry(without, self._stamps, without_secrets)
        if shown is None:
            shown = entry if without == line else self._entry(without)
        message = REDACTED if shown is None else shown.message
        if second and (match := _SECOND_LINE.match(without_secrets(second))) is not None:
            message = without_values(match["text"])
        thread = entry.thread and ((shown is not None and shown.thread) or REDACTED)
        return Entry(entry.instant_ns, entry.level, thread, message)

    def _finish(self, line: str) -> None:
        """Complete an entry by its second line."""
        if self._pending is None:
            return
        entry, number, text = self._pending
        self._pending = None
        if (match := _SECOND_LINE.match(line)) is not None:
            entry.level = level_of(match["level"]) or "other"
            entry.message = without_values(match["text"])
        self._add(entry, number, text, line)
        self._unstamped += 1
        self._continued += 1

    def _flush(self) -> None:
        if self._pending is not None:
            pending, self._pending = self._pending, None
            self._add(*pending)

    def _note_unstamped(self, line: str) -> None:
        self._unstamped += 1
        if _KEY in line:
            self._is_in_key = _KEY_END not in line
        if self._lines.entries and (self._is_in_key or _CONTINUED.match(line) is not None):
            self._continued += 1
        elif len(self._examples) < _MOST_EXAMPLES and not self._is_in_key:
            self._examples.append(log_line(self._number, line[:LONGEST_RAW]))


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
