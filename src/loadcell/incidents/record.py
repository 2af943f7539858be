"""The record of an examination (`loadcell doctor --json`); its JSON Schema is in the reference."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from loadcell.incidents import jvm_record, log_record
from loadcell.incidents.base import Confidence, Diagnosis, Healthy, Level, Unseen, registered
from loadcell.incidents.evidence.application_log import ApplicationLog
from loadcell.incidents.evidence.base import Evidence, Quote, Reading
from loadcell.incidents.evidence.collections import Collections
from loadcell.incidents.examination import Examination, Examined
from loadcell.incidents.jvm_record import JvmRecord
from loadcell.incidents.log_record import LogRecord
from loadcell.model.json import JsonObject
from loadcell.model.message import Message
from loadcell.model.numbers import utc_text

SCHEMA: Final = 1
_SECOND: Final = 1e9


@dataclass(frozen=True)
class LineRecord:
    """A line of evidence; `number` counts from 1, 0 of a file without lines."""

    file: str
    number: int
    text: str


@dataclass(frozen=True)
class DiagnosisRecord:
    """An incident: its observation in English with its message code and values, remedy, disproof,
    prevention.

    Times in seconds are from the first instant of the evidence. `explained_by` is the incident of the same
    subject of which this one is a consequence; empty without.
    """

    incident: str
    level: Level
    confidence: Confidence
    summary: str
    code: str
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
    explained_by: str


@dataclass(frozen=True)
class ValueRecord:
    """An incident that the evidence does not show: the examined value, or why it could not be examined."""

    incident: str
    text: str
    code: str
    values: JsonObject


@dataclass(frozen=True)
class SubjectRecord:
    """Evidence of one subject, by its kind (`collections`, `mounts`), and its judgements.

    `jvm` has the activity of a collector, and `log` the contents of logs of services. `remarks` state what is
    missing in the evidence, such as the part of a log behind a damaged place. `is_of_run` is true for a
    process of the run that examined the host, or one named in the call; null for what is no process.
    """

    source: str
    kind: str
    begin_utc: str | None
    duration_s: float | None
    diagnoses: tuple[DiagnosisRecord, ...]
    healthy: tuple[ValueRecord, ...]
    unseen: tuple[ValueRecord, ...]
    jvm: JvmRecord | None
    log: LogRecord | None
    remarks: tuple[str, ...]
    is_of_run: bool | None = None


@dataclass(frozen=True)
class RefusedRecord:
    """A file that is no log of this kind, why, and what to do."""

    file: str
    reason: str
    remedy: str


@dataclass(frozen=True)
class ReadingRecord:
    """Log files of one kind, and how well they were read; `refused` are files that are no such logs."""

    kind: str
    files: tuple[str, ...]
    lines: int
    lines_not_understood: int
    not_understood_share: float
    examples: tuple[LineRecord, ...]
    remarks: tuple[str, ...]
    refused: tuple[RefusedRecord, ...] = ()


@dataclass(frozen=True)
class ExaminationRecord:
    """An examination of logs, a run or a host; `unseen` has the incidents without evidence.

    `utc` is the time at which a live host was examined.
    """

    schema: int
    title: str
    utc: str | None
    subjects: tuple[SubjectRecord, ...]
    unseen: tuple[ValueRecord, ...]
    logs: tuple[ReadingRecord, ...]


def record(examined: Examination) -> ExaminationRecord:
    """The record of an examination."""
    return ExaminationRecord(
        SCHEMA,
        examined.title,
        None if examined.utc_ns is None else utc_text(examined.utc_ns),
        tuple(_subject(subject, examined.of_run) for subject in examined.subjects),
        _values(examined.unseen),
        tuple(_reading(reading) for reading in examined.readings),
    )


def _subject(subject: Examined, of_run: frozenset[int]) -> SubjectRecord:
    evidence = subject.evidence
    begin_ns, end_ns = evidence.begin_ns, evidence.end_ns
    return SubjectRecord(
        evidence.source,
        evidence.kind,
        _utc(evidence, begin_ns),
        None if begin_ns is None or end_ns is None else max(0, end_ns - begin_ns) / _SECOND,
        tuple(_diagnosis(item, evidence) for item in subject.diagnoses),
        _values(subject.healthy),
        _values(subject.unseen),
        jvm_record.record(evidence) if isinstance(evidence, Collections) else None,
        log_record.record(evidence) if isinstance(evidence, ApplicationLog) else None,
        tuple(remark.text for remark in evidence.remarks),
        None if evidence.process is None else evidence.process in of_run,
    )


def _diagnosis(diagnosis: Diagnosis, evidence: Evidence) -> DiagnosisRecord:
    incident = registered()[diagnosis.incident]

    def text(part: str) -> str:
        return Message(incident.texts(part)).text

    def since(instant_ns: int | None) -> float | None:
        return None if instant_ns is None else (instant_ns - (evidence.begin_ns or 0)) / _SECOND

    return DiagnosisRecord(
        diagnosis.incident,
        diagnosis.level,
        diagnosis.confidence,
        diagnosis.summary.text,
        diagnosis.summary.code,
        diagnosis.summary.plain_arguments,
        incident.signs.text,
        incident.source,
        Message(diagnosis.remedy_code).text,
        text("disproof"),
        text("prevention"),
        since(diagnosis.begin_ns),
        since(diagnosis.end_ns),
        _utc(evidence, diagnosis.begin_ns),
        _utc(evidence, diagnosis.end_ns),
        _lines(diagnosis.quotes),
        diagnosis.explained_by,
    )


def _utc(evidence: Evidence, instant_ns: int | None) -> str | None:
    value = None if instant_ns is None else evidence.utc_ns(instant_ns)
    return None if value is None else utc_text(value)


def _values(judgements: Iterable[Healthy | Unseen]) -> tuple[ValueRecord, ...]:
    return tuple(
        _value(item.incident, item.value if isinstance(item, Healthy) else item.reason) for item in judgements
    )


def _value(incident: str, value: Message) -> ValueRecord:
    return ValueRecord(incident, value.text, value.code, value.plain_arguments)


def _reading(reading: Reading) -> ReadingRecord:
    return ReadingRecord(
        reading.kind,
        reading.files,
        reading.lines,
        reading.unread,
        reading.unread_share,
        _lines(reading.examples),
        tuple(remark.text for remark in reading.remarks),
        tuple(RefusedRecord(item.file, item.reason.text, item.reason.advice) for item in reading.refused),
    )


def _lines(quotes: Iterable[Quote]) -> tuple[LineRecord, ...]:
    return tuple(LineRecord(quote.file, quote.number, quote.text) for quote in quotes)
