"""Messages of the logs of services, counted by service and time slot in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from loadcell.ingest.log_entries import Entry
from loadcell.ingest.log_excerpts import log_line
from loadcell.model.application_log import ErrorMessage, LogLevel, LogLine, LogMessage

#: In place of the words, or names, that are not retained.
MORE: Final = "…"
#: Messages that are counted one by one, of each level; of more, by their first words.
MOST_MESSAGES: Final = 1_000
_MOST_BEGINNINGS: Final = 500
_FIRST_WORDS: Final = (3, 1)
#: Slots of time in which entries are counted; where more are needed, two become one.
MOST_SLOTS: Final = 512
_FIRST_SLOT_NS: Final = 10**9
#: Parts of the entries of a service, of each of which the first line of an error is retained; where more are
#: needed, two become one.
_MOST_PARTS: Final = 64
#: Lines that are retained so in all services, and errors by service and time slot; more are merged likewise.
MOST_LINES: Final = 8_000
MOST_ERROR_SLOTS: Final = 200_000
#: Slots that remain, whatever their memory: fewer show no growth.
_LEAST_SLOTS: Final = 64
#: Raw messages that are mapped to those without secrets.
_MOST_RAW: Final = 20_000

#: Gives the entry of the present line as it is read from the line without secrets.
Redacted: TypeAlias = Callable[[], Entry]


@dataclass(slots=True)
class _Errors:
    """Entries of an error in one service: by time slot, and the first with its instant of each part."""

    slots: dict[int, int] = field(default_factory=dict)
    lines: dict[int, tuple[int, LogLine]] = field(default_factory=dict)


@dataclass(slots=True)
class ServiceMessages:
    """Entries of one service so far by time slot, and its errors; a part has `part` entries."""

    slots: dict[int, int] = field(default_factory=dict)
    errors: dict[str, _Errors] = field(default_factory=dict)
    entries: int = 0
    part: int = 1

    def note_error(self, text: str, slot: int, instant_ns: int, number: int, line: str) -> tuple[int, int]:
        """Count an entry of an error; the numbers of lines and slots that are retained for it."""
        errors = self.errors.get(text)
        if errors is None:
            errors = self.errors[text] = _Errors()
        slots = len(errors.slots)
        errors.slots[slot] = errors.slots.get(slot, 0) + 1
        while self.entries >= _MOST_PARTS * self.part:
            self.widen()
        part = self.entries // self.part
        lines = len(errors.lines)
        if part not in errors.lines:
            errors.lines[part] = instant_ns, log_line(number, line)
        return len(errors.lines) - lines, len(errors.slots) - slots

    def widen(self) -> None:
        """Make one part of two."""
        self.part *= 2
        for errors in self.errors.values():
            errors.lines = _halved(errors.lines)

    def messages(self) -> tuple[ErrorMessage, ...]:
        """Errors, the most frequent first."""
        messages = (
            ErrorMessage(
                text, sum(item.slots.values()), item.slots, tuple(sorted(item.lines.values(), key=_instant))
            )
            for text, item in self.errors.items()
        )
        return tuple(sorted(messages, key=lambda item: -item.count))


def _instant(line: tuple[int, LogLine]) -> tuple[int, int]:
    return line[0], line[1].number


class Messages:
    """Messages of all logs, and their entries by time slot."""

    def __init__(self) -> None:
        self.slot_ns = _FIRST_SLOT_NS
        self._messages: dict[tuple[LogLevel, str], _Message] = {}
        self._by_raw: dict[tuple[LogLevel, str], _Message] = {}
        self._counts: Counter[LogLevel] = Counter()
        self._services: list[ServiceMessages] = []
        self._is_empty = True
        self._first = self._last = 0
        self._lines = self._error_slots = 0
        self._most_lines, self._most_slots = MOST_LINES, MOST_ERROR_SLOTS

    def of_service(self) -> ServiceMessages:
        """Entries of a service that begins."""
        service = ServiceMessages()
        self._services.append(service)
        return service

    @property
    def entries(self) -> dict[int, int]:
        """Entries of all services by time slot."""
        return _summed(service.slots for service in self._services)

    def take(
        self, entry: Entry, number: int, line: str, redacted: Redacted, service: ServiceMessages
    ) -> None:
        """Count an entry; only the message of the redacted one is shown."""
        level, text, instant_ns = entry.level, entry.message, entry.instant_ns
        slot = instant_ns // self.slot_ns
        if self._is_empty:
            self._is_empty = False
            self._first = self._last = slot
        elif slot < self._first or slot > self._last:
            slot = self._widened(slot, instant_ns)
        slots = service.slots
        slots[slot] = slots.get(slot, 0) + 1
        service.entries += 1
        message = self._by_raw.get((level, text))
        if message is None:
            message = self._shown_already(level, text)
        if message is None:
            message = self._message(level, redacted().message, instant_ns, log_line(number, line))
            if len(self._by_raw) >= _MOST_RAW:
                self._by_raw.clear()
            self._by_raw[level, text] = message
        message.count += 1
        if level == "error":
            lines, new_slots = service.note_error(message.text, slot, instant_ns, number, line)
            self._lines += lines
            self._error_slots += new_slots
            if self._lines > self._most_lines or self._error_slots > self._most_slots:
                self._shrink()
        if instant_ns > message.end_ns:
            message.end_ns = instant_ns
        elif instant_ns < message.begin_ns:
            message.begin_ns = instant_ns

    def messages(self) -> tuple[LogMessage, ...]:
        """The most frequent message first."""
        items = sorted(self._messages.values(), key=lambda item: -item.count)
        return tuple(
            LogMessage(
                item.text,
                item.level,
                item.count,
                item.begin_ns,
                item.end_ns,
                item.first,
                self._slots(item.text) if item.level == "error" else {},
            )
            for item in items
        )

    def _slots(self, text: str) -> dict[int, int]:
        """Entries of an error in all services by time slot."""
        return _summed(service.errors[text].slots for service in self._services if text in service.errors)

    def _widened(self, slot: int, instant_ns: int) -> int:
        """The slot of an instant outside the range so far; slots are doubled until all fit."""
        self._first, self._last = min(self._first, slot), max(self._last, slot)
        while self._last - self._first >= MOST_SLOTS:
            self._double_slots()
        return instant_ns // self.slot_ns

    def _double_slots(self) -> None:
        self.slot_ns *= 2
        self._first //= 2
        self._last //= 2
        for service in self._services:
            service.slots = _doubled(service.slots)
            for errors in service.errors.values():
                errors.slots = _doubled(errors.slots)

    def _shrink(self) -> None:
        """Merge parts and slots of all services; a limit that the first ones alone exceed is raised."""
        retained = [errors for service in self._services for errors in service.errors.values()]
        while self._lines > max(self._most_lines * 2 // 3, len(retained)):
            for service in self._services:
                service.widen()
            self._lines = sum(len(errors.lines) for errors in retained)
        while self._error_slots > self._most_slots * 2 // 3 and self._last - self._first >= _LEAST_SLOTS:
            self._double_slots()
            self._error_slots = sum(len(errors.slots) for errors in retained)
        self._most_lines = max(self._most_lines, self._lines * 3 // 2)
        self._most_slots = max(self._most_slots, self._error_slots * 3 // 2)

    def _message(self, level: LogLevel, shown: str, instant_ns: int, line: LogLine) -> _Message:
        """The message of a text that is new."""
        message = self._messages.get((level, shown))
        if message is None and self._counts[level] >= MOST_MESSAGES:
            shown = self._beginning(level, shown)
            message = self._messages.get((level, shown))
        if message is None:
            message = _Message(shown, level, instant_ns, instant_ns, line)
            self._messages[level, shown] = message
            self._counts[level] += 1
        return message

    def _shown_already(self, level: LogLevel, text: str) -> _Message | None:
        """The message of a text whose beginning is shown: it needs no redaction, as no other part is.

        None as long as messages are counted one by one.
        """
        if self._counts[level] < MOST_MESSAGES:
            return None
        message = self._messages.get((level, text))
        return message or self._messages.get((level, self._beginning(level, text)))

    def _beginning(self, level: LogLevel, text: str) -> str:
        """The first words of a message; fewer where there are many beginnings, too."""
        limit = MOST_MESSAGES
        for count in _FIRST_WORDS:
            limit += _MOST_BEGINNINGS // len(_FIRST_WORDS)
            beginning = " ".join([*text.split(" ")[:count], MORE])
            if (level, beginning) in self._messages or self._counts[level] < limit:
                return beginning
        return MORE


@dataclass(slots=True)
class _Message:
    text: str
    level: LogLevel
    begin_ns: int
    end_ns: int
    first: LogLine
    count: int = 0


def _summed(counts: Iterable[Mapping[int, int]]) -> dict[int, int]:
    total: dict[int, int] = {}
    for slots in counts:
        for slot, count in slots.items():
            total[slot] = total.get(slot, 0) + count
    return total


def _halved(lines: Mapping[int, tuple[int, LogLine]]) -> dict[int, tuple[int, LogLine]]:
    """The first lines of parts that are twice as large."""
    halved: dict[int, tuple[int, LogLine]] = {}
    for part, line in lines.items():
        halved.setdefault(part // 2, line)
    return halved


def _doubled(slots: dict[int, int]) -> dict[int, int]:
    doubled: dict[int, int] = {}
    for slot, count in slots.items():
        doubled[slot // 2] = doubled.get(slot // 2, 0) + count
    return doubled
