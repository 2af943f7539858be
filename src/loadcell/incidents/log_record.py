"""Logs of services in the record of an examination."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from loadcell.incidents.evidence.application_log import ApplicationLog, SpanKind
from loadcell.incidents.evidence.log_clocks import ClockStep
from loadcell.incidents.evidence.log_silences import Silence
from loadcell.model.application_log import LogLevel, LogMessage
from loadcell.model.numbers import utc_text

#: Messages, silences and steps in a record.
MOST_ROWS: Final = 1_000
_SECOND: Final = 1e9


@dataclass(frozen=True)
class ServiceRecord:
    """The log of one service."""

    name: str
    files: tuple[str, ...]
    lines: int
    entries: int
    threads: int
    late_lines: int
    is_unordered: bool
    has_zone: bool


@dataclass(frozen=True)
class LogMessageRecord:
    """A message without its values; times from the first line, and in UTC."""

    text: str
    level: LogLevel
    count: int
    first_s: float
    last_s: float
    first_utc: str | None
    last_utc: str | None


@dataclass(frozen=True)
class SilenceRecord:
    """A silence; no thread where all of the service was silent. `chance` is the number by chance.

    `coincides_with` are the kinds of events of other sources that take half of it.
    """

    service: str
    threads: tuple[str, ...]
    begin_s: float
    duration_s: float
    usual_s: float
    chance: float
    ends_in_error: bool
    may_lack_work: bool
    coincides_with: tuple[SpanKind, ...]


@dataclass(frozen=True)
class ClockStepRecord:
    """A lasting step back, and the leaps forward of its size near it."""

    t_s: float
    utc: str | None
    back_s: float
    forth_s: tuple[float, ...]
    threads: int
    services: tuple[str, ...]


@dataclass(frozen=True)
class SlotRecord:
    """Entries and errors of a slot of time."""

    t_s: float
    entries: int
    errors: int


@dataclass(frozen=True)
class LogRecord:
    """Logs of services; `unstamped_share` is that of the lines without a time stamp, most of which continue
    the entry before (`continued`).
    """

    services: tuple[ServiceRecord, ...]
    entries: int
    lines: int
    unstamped: int
    continued: int
    unstamped_share: float
    messages: tuple[LogMessageRecord, ...]
    slot_s: float
    slots: tuple[SlotRecord, ...]
    silences: tuple[SilenceRecord, ...]
    clock_steps: tuple[ClockStepRecord, ...]


def record(evidence: ApplicationLog) -> LogRecord:
    """The record of logs."""
    logs = evidence.logs
    return LogRecord(
        tuple(
            ServiceRecord(
                service.name,
                service.files,
                service.lines,
                service.entries,
                len(service.threads[1:]) + service.more_threads,
                service.late_lines,
                service.is_unordered,
                service.has_zone,
            )
            for service in logs.services
        ),
        evidence.entries,
        logs.lines,
        logs.unstamped,
        logs.continued,
        unstamped_share(evidence),
        tuple(_message(message, evidence) for message in worst_first(logs.messages)[:MOST_ROWS]),
        logs.slot_ns / _SECOND,
        slots(evidence),
        tuple(_silence(silence, evidence) for silence in evidence.silences[:MOST_ROWS]),
        tuple(_step(step, evidence) for step in evidence.clock_steps[:MOST_ROWS]),
    )


def unstamped_share(evidence: ApplicationLog) -> float:
    """Share of the lines without a time stamp."""
    return evidence.logs.unstamped / evidence.logs.lines if evidence.logs.lines else 0.0


def worst_first(messages: Sequence[LogMessage]) -> list[LogMessage]:
    """Errors, then warnings, then others, each by their number."""
    order: dict[LogLevel, int] = {"error": 0, "warning": 1, "other": 2}
    return sorted(messages, key=lambda message: (order[message.level], -message.count))


def slots(evidence: ApplicationLog) -> tuple[SlotRecord, ...]:
    """Entries and errors over time; slots without entries between them have zeros."""
    logs = evidence.logs
    if not logs.entries:
        return ()
    errors: dict[int, int] = {}
    for message in evidence.errors:
        for slot, count in message.slots.items():
            errors[slot] = errors.get(slot, 0) + count
    return tuple(
        SlotRecord(slot_s(slot, evidence), logs.entries.get(slot, 0), errors.get(slot, 0))
        for slot in range(min(logs.entries), max(logs.entries) + 1)
    )


def slot_s(slot: int, evidence: ApplicationLog) -> float:
    """Begin of a slot in seconds from the first line."""
    return (slot * evidence.logs.slot_ns - evidence.begin_ns) / _SECOND


def _message(message: LogMessage, evidence: ApplicationLog) -> LogMessageRecord:
    return LogMessageRecord(
        message.text,
        message.level,
        message.count,
        (message.begin_ns - evidence.begin_ns) / _SECOND,
        (message.end_ns - evidence.begin_ns) / _SECOND,
        _utc(message.begin_ns, evidence),
        _utc(message.end_ns, evidence),
    )


def _silence(silence: Silence, evidence: ApplicationLog) -> SilenceRecord:
    return SilenceRecord(
        silence.service,
        silence.threads,
        (silence.gap.begin_ns - evidence.begin_ns) / _SECOND,
        silence.duration_ns / _SECOND,
        silence.usual_ns / _SECOND,
        silence.chance,
        silence.gap.ends_in_error,
        silence.may_lack_work,
        tuple(evidence.kinds_at(silence)),
    )


def _step(step: ClockStep, evidence: ApplicationLog) -> ClockStepRecord:
    return ClockStepRecord(
        (step.leap.after_ns - evidence.begin_ns) / _SECOND,
        _utc(step.leap.after_ns, evidence),
        step.size_ns / _SECOND,
        tuple(leap.size_ns / _SECOND for leap in step.leaps),
        step.threads,
        step.services,
    )


def _utc(instant_ns: int, evidence: ApplicationLog) -> str | None:
    utc_ns = evidence.utc_ns(instant_ns)
    return None if utc_ns is None else utc_text(utc_ns)
