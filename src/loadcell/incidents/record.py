"""The record of an examination of GC logs (`loadcell doctor --json`); its JSON Schema is in the reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from loadcell.incidents.base import (
    Confidence,
    Diagnosis,
    Healthy,
    Judgement,
    Level,
    Unseen,
    examine,
    registered,
)
from loadcell.incidents.evidence import Collections, Quote
from loadcell.incidents.gc_logs import GcLogs
from loadcell.model import duration_classes
from loadcell.model.gc_pauses import Durations, PauseKind
from loadcell.model.json import JsonObject
from loadcell.model.message import Message
from loadcell.model.numbers import utc_text

SCHEMA: Final = 1
#: Full collections and values of the live set in a record.
MOST_ROWS: Final = 1_000
_SECOND: Final = 1e9


@dataclass(frozen=True)
class DurationsRecord:
    """Number, total and longest of events of one name, in seconds."""

    name: str
    count: int
    total_s: float
    longest_s: float


@dataclass(frozen=True)
class PausesRecord:
    """Distribution of all pauses; quantiles are exact to 2 %. `stopped_s` counts nested pauses once."""

    count: int
    stopped_s: float
    longest_s: float
    median_s: float | None
    p90_s: float | None
    p99_s: float | None
    by_kind: tuple[DurationsRecord, ...]
    by_cause: tuple[DurationsRecord, ...]


@dataclass(frozen=True)
class FullRecord:
    """A full collection: time since the first line, interval to the one before, bytes."""

    t_s: float
    utc: str | None
    interval_s: float | None
    duration_s: float
    cause: str
    before_bytes: int | None
    after_bytes: int | None
    freed_bytes: int | None
    capacity_bytes: int | None
    line: int


@dataclass(frozen=True)
class LiveRecord:
    """Heap in use after a collection of the old generation."""

    t_s: float
    used_bytes: int


@dataclass(frozen=True)
class LineRecord:
    """A line of evidence; `number` counts from 1, 0 of a file without lines."""

    file: str
    number: int
    text: str


@dataclass(frozen=True)
class DiagnosisRecord:
    """An incident: its observation in English with its values, remedy, disproof, prevention."""

    incident: str
    level: Level
    confidence: Confidence
    summary: str
    values: JsonObject
    signs: str
    source: str
    remedy: str
    disproof: str
    prevention: str
    begin_s: float | None
    end_s: float | None
    begin_utc: str | None
    end_utc: str | None
    lines: tuple[LineRecord, ...]


@dataclass(frozen=True)
class ValueRecord:
    """An incident that the evidence does not show: the examined value, or why it could not be examined."""

    incident: str
    text: str
    values: JsonObject


@dataclass(frozen=True)
class JvmRecord:
    """One JVM: activity of its collector, and judgements. Times are from its first line."""

    source: str
    vm: str
    collector: str
    flags: tuple[str, ...]
    begin_utc: str | None
    duration_s: float
    lines: int
    lines_not_understood: int
    pauses: PausesRecord
    running_share: float | None
    allocated_bytes_per_s: float | None
    promoted_bytes_per_s: float | None
    capacity_bytes: int | None
    full: tuple[FullRecord, ...]
    live: tuple[LiveRecord, ...]
    concurrent: tuple[DurationsRecord, ...]
    safepoints: tuple[DurationsRecord, ...]
    longest_reaching_s: float | None
    diagnoses: tuple[DiagnosisRecord, ...]
    healthy: tuple[ValueRecord, ...]
    unseen: tuple[ValueRecord, ...]


@dataclass(frozen=True)
class ExaminationRecord:
    """An examination of GC logs."""

    schema: int
    files: tuple[str, ...]
    lines: int
    lines_not_understood: int
    not_understood_share: float
    examples: tuple[LineRecord, ...]
    remarks: tuple[str, ...]
    jvms: tuple[JvmRecord, ...]


@dataclass(frozen=True)
class Examined:
    """A JVM with its judgements."""

    evidence: Collections
    judgements: tuple[Judgement, ...]

    @property
    def diagnoses(self) -> list[Diagnosis]:
        """Incidents, the worst first."""
        return [item for item in self.judgements if isinstance(item, Diagnosis)]

    @property
    def healthy(self) -> list[Healthy]:
        """Examined values without an incident."""
        return [item for item in self.judgements if isinstance(item, Healthy)]

    @property
    def unseen(self) -> list[Unseen]:
        """Incidents that the evidence could not show."""
        return [item for item in self.judgements if isinstance(item, Unseen)]


@dataclass(frozen=True)
class Examination:
    """Logs with the judgements of each JVM."""

    logs: GcLogs
    jvms: tuple[Examined, ...]

    @property
    def has_incident(self) -> bool:
        """True if a JVM has an incident that is more than a note."""
        return any(item.level != "note" for jvm in self.jvms for item in jvm.diagnoses)


def examination(logs: GcLogs) -> Examination:
    """The examination of logs."""
    return Examination(logs, tuple(Examined(jvm, examine(jvm)) for jvm in logs.jvms))


def record(examined: Examination) -> ExaminationRecord:
    """The record of an examination."""
    logs = examined.logs
    return ExaminationRecord(
        SCHEMA,
        logs.files,
        logs.lines,
        logs.unread,
        logs.unread / logs.lines if logs.lines else 0.0,
        _lines(logs.examples),
        tuple(remark.text for remark in logs.remarks),
        tuple(_jvm(jvm) for jvm in examined.jvms),
    )


def durations_by_name(
    named: dict[str, Durations] | dict[PauseKind, Durations],
) -> tuple[DurationsRecord, ...]:
    """Tallies by name, the longest total first."""
    rows = [
        DurationsRecord(name, durations.count, durations.total_ns / _SECOND, durations.longest_ns / _SECOND)
        for name, durations in named.items()
    ]
    return tuple(sorted(rows, key=lambda row: -row.total_s))


def pauses(evidence: Collections) -> PausesRecord:
    """The distribution of pauses."""
    totals = evidence.log.totals

    def quantile(level: float) -> float | None:
        value = duration_classes.quantile_ns(totals.classes, level)
        return None if value is None else min(value, totals.all.longest_ns) / _SECOND

    return PausesRecord(
        totals.all.count,
        totals.stopped_ns / _SECOND,
        totals.all.longest_ns / _SECOND,
        quantile(0.5),
        quantile(0.9),
        quantile(0.99),
        durations_by_name(dict(totals.by_kind)),
        durations_by_name(dict(totals.by_cause)),
    )


def full(evidence: Collections) -> tuple[FullRecord, ...]:
    """Full collections with their intervals and the bytes that each freed."""
    pauses = [pause for pause in evidence.log.pauses if pause.kind == "full"]
    earlier = [None, *pauses]
    rows: list[FullRecord] = []
    for before, pause in list(zip(earlier, pauses, strict=False))[-MOST_ROWS:]:
        freed = None
        if pause.before_bytes is not None and pause.after_bytes is not None:
            freed = pause.before_bytes - pause.after_bytes
        utc_ns = evidence.utc_ns(pause.start_ns)
        rows.append(
            FullRecord(
                (pause.start_ns - evidence.begin_ns) / _SECOND,
                None if utc_ns is None else utc_text(utc_ns),
                None if before is None else (pause.start_ns - before.start_ns) / _SECOND,
                pause.duration_ns / _SECOND,
                pause.cause,
                pause.before_bytes,
                pause.after_bytes,
                freed,
                pause.capacity_bytes,
                pause.line,
            )
        )
    return tuple(rows)


def running_share(evidence: Collections) -> float | None:
    """Share of the time in which the program ran."""
    if not evidence.duration_ns:
        return None
    return max(0.0, 1 - evidence.log.totals.stopped_ns / evidence.duration_ns)


def per_second(evidence: Collections, total_bytes: int | None) -> float | None:
    """A rate over the time of the log."""
    if total_bytes is None or not evidence.duration_ns:
        return None
    return total_bytes / (evidence.duration_ns / _SECOND)


def _jvm(jvm: Examined) -> JvmRecord:
    evidence = jvm.evidence
    log, around = evidence.log, evidence.log.around
    begin_utc = evidence.utc_ns(evidence.begin_ns)
    return JvmRecord(
        evidence.source,
        around.vm,
        log.collector,
        around.flags,
        None if begin_utc is None else utc_text(begin_utc),
        evidence.duration_ns / _SECOND,
        log.lines,
        log.unread,
        pauses(evidence),
        running_share(evidence),
        per_second(evidence, log.totals.allocated_bytes),
        per_second(evidence, log.totals.promoted_bytes),
        evidence.capacity_bytes,
        full(evidence),
        tuple(
            LiveRecord((item.end_ns - evidence.begin_ns) / _SECOND, item.used_bytes)
            for item in around.live_sets[-MOST_ROWS:]
        ),
        durations_by_name(dict(around.concurrent)),
        durations_by_name(dict(around.safepoints)),
        around.reaching.longest_ns / _SECOND if around.reaching.count else None,
        tuple(_diagnosis(item, evidence) for item in jvm.diagnoses),
        tuple(_value(item.incident, item.value) for item in jvm.healthy),
        tuple(_value(item.incident, item.reason) for item in jvm.unseen),
    )


def _diagnosis(diagnosis: Diagnosis, evidence: Collections) -> DiagnosisRecord:
    incident = registered()[diagnosis.incident]

    def text(part: str) -> str:
        return Message(incident.texts(part)).text

    def since(instant_ns: int | None) -> float | None:
        return None if instant_ns is None else (instant_ns - evidence.begin_ns) / _SECOND

    def utc(instant_ns: int | None) -> str | None:
        value = None if instant_ns is None else evidence.utc_ns(instant_ns)
        return None if value is None else utc_text(value)

    return DiagnosisRecord(
        diagnosis.incident,
        diagnosis.level,
        diagnosis.confidence,
        diagnosis.summary.text,
        diagnosis.summary.plain_arguments,
        incident.signs.text,
        incident.source,
        text("remedy"),
        text("disproof"),
        text("prevention"),
        since(diagnosis.begin_ns),
        since(diagnosis.end_ns),
        utc(diagnosis.begin_ns),
        utc(diagnosis.end_ns),
        _lines(diagnosis.quotes),
    )


def _value(incident: str, value: Message) -> ValueRecord:
    return ValueRecord(incident, value.text, value.plain_arguments)


def _lines(quotes: Sequence[Quote]) -> tuple[LineRecord, ...]:
    return tuple(LineRecord(quote.file, quote.number, quote.text) for quote in quotes)
