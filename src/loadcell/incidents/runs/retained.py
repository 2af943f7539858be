"""Examinations of the host during a trial (`loadcell doctor --live --json`), from files that it retained."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import Any, Final

from loadcell.incidents.base import Confidence, Diagnosis, Healthy, Judgement, Level, registered
from loadcell.incidents.evidence.base import Quote
from loadcell.incidents.evidence.collections import Collections
from loadcell.incidents.evidence.jvms import ClassHistograms, JvmCounters
from loadcell.incidents.evidence.retained import Retained
from loadcell.incidents.examination import Examined, explained
from loadcell.incidents.record import LineRecord, ValueRecord
from loadcell.model import json as model_json
from loadcell.model.json import JsonObject, JsonValue
from loadcell.model.message import Count, ForeignText, Message, MessageCode, declared
from loadcell.model.trial_record import TrialRecord
from loadcell.store.read import StoredRun

#: End of the name of such a file.
NAME: Final = "doctor.json"
_MOST_BYTES: Final = 4 * 1024**2
#: Files of a trial that are read.
_MOST_FILES: Final = 20
#: Instants in nanoseconds have 64 bits.
_YEARS: Final = range(1970, 2262)
#: Numbers of a message are smaller: bytes, or the nanoseconds of a century.
_MOST_VALUE: Final = 2.0**63

UNREADABLE = MessageCode("doctor.retained.unreadable", "caution", path=str)
MORE_FILES = MessageCode("doctor.retained.more-files", "caution", count=Count, trial=str, limit=Count)

OF_PROCESS = MessageCode("doctor.retained.of-process", "info", source=ForeignText, summary=Message)
FOREIGN = MessageCode("doctor.retained.foreign-process", "info", source=ForeignText, summary=Message)
#: Kinds of evidence whose subject is a process.
_PROCESSES: Final = frozenset({JvmCounters.kind, ClassHistograms.kind, Collections.kind})


@dataclass(frozen=True)
class _Diagnosis:
    """The keys of a diagnosis that are read; further ones may differ between versions."""

    incident: str
    level: Level
    confidence: Confidence
    summary: str
    code: str
    values: JsonObject
    remedy: str
    begin_utc: str | None
    end_utc: str | None
    lines: tuple[LineRecord, ...]


@dataclass(frozen=True)
class _Subject:
    """Those of a subject."""

    source: str
    kind: str
    diagnoses: tuple[_Diagnosis, ...]
    healthy: tuple[ValueRecord, ...]
    is_of_run: bool | None = None


@dataclass(frozen=True)
class _Examination:
    """Those of an examination."""

    utc: str | None
    subjects: tuple[_Subject, ...]


def subjects(stored: StoredRun) -> Iterator[Examined]:
    """The diagnoses and healthy values of each file.

    Those of other incidents than this version has are left out, and those that ended before the trial: the
    kernel log of a host has a day.
    """
    for trial in stored.trials:
        paths = sorted(stored.directory(trial.name).glob(f"*{NAME}"))
        for path in paths[:_MOST_FILES]:
            try:
                yield _examined(path, trial)
            except Exception:  # its contents are those of any program
                name = f"{trial.name}/{path.name}"
                yield Examined(Retained(trial.name, "", None, remarks=(UNREADABLE(path=name),)), ())
        if len(paths) > _MOST_FILES:
            remark = MORE_FILES(count=len(paths) - _MOST_FILES, trial=trial.name, limit=_MOST_FILES)
            yield Examined(Retained(trial.name, "", None, remarks=(remark,)), ())


def _examined(path: Path, trial: TrialRecord) -> Examined:
    """The judgements of a file. Raises for any other contents."""
    if not path.is_file() or path.stat().st_size > _MOST_BYTES:
        raise FileNotFoundError(path)
    record = model_json.read(_Examination, path.read_bytes())
    instant_ns, started_ns = _instant_ns(record.utc), _instant_ns(trial.started_utc) or 0
    judgements: list[Judgement] = []
    for subject in record.subjects:
        diagnoses = [
            _diagnosis(item, instant_ns, started_ns)
            for item in subject.diagnoses
            if item.incident in registered()
        ]
        of_trial = [item for item in diagnoses if item.end_ns is None or item.end_ns >= started_ns]
        # a cause that ended before the trial explains nothing in it
        judgements += [_of_process(item, subject) for item in explained(of_trial)]
        judgements += [_healthy(item) for item in subject.healthy if item.incident in registered()]
    return Examined(Retained(trial.name, f"{trial.name}/{path.name}", instant_ns), tuple(judgements))


def _diagnosis(record: _Diagnosis, instant_ns: int | None, started_ns: int) -> Diagnosis:
    """A diagnosis with its times, or that of the examination; what began earlier began with the trial."""
    begin_ns, end_ns = (_instant_ns(utc) for utc in (record.begin_utc, record.end_utc))
    begin_ns, end_ns = (instant_ns if at_ns is None else at_ns for at_ns in (begin_ns, end_ns))
    return Diagnosis(
        record.incident,
        record.level,
        record.confidence,
        _message(record.code, record.values, record.summary),
        None if begin_ns is None else max(begin_ns, started_ns),
        end_ns,
        tuple(Quote(line.file, line.number, line.text) for line in record.lines),
        _remedy(record),
    )


def _of_process(diagnosis: Judgement, subject: _Subject) -> Judgement:
    """A diagnosis with the name of its process; a note where that is none of the run.

    A GC log without a process is a file that the examination was to read.
    """
    is_file = subject.kind == Collections.kind and subject.is_of_run is None
    if not isinstance(diagnosis, Diagnosis) or subject.kind not in _PROCESSES or is_file:
        return diagnosis
    if subject.is_of_run:
        return replace(diagnosis, summary=OF_PROCESS(source=subject.source, summary=diagnosis.summary))
    return replace(diagnosis, level="note", summary=FOREIGN(source=subject.source, summary=diagnosis.summary))


def _remedy(record: _Diagnosis) -> str:
    """The name of the remedy whose English text the record has."""
    incident = registered()[record.incident]
    names = (name for name in incident.remedies if Message(incident.remedy_texts(name)).text == record.remedy)
    return next(names, "")


def _healthy(record: ValueRecord) -> Healthy:
    return Healthy(record.incident, _message(record.code, record.values, record.text))


def _message(code: str, values: JsonObject, text: str) -> Message:
    """The message of a record; in the words of the record where this version has none with such values."""
    present = declared().get(code)
    if present is not None and present.arguments.keys() == values.keys():
        arguments = {name: _argument(value) for name, value in values.items()}
        if all(_fits(arguments[name], kind) for name, kind in present.arguments.items()):
            return Message(code, arguments)
    return Message(code, recorded=(text, ""))


def _argument(value: JsonValue) -> JsonValue | Message:
    """A value of a message: a message, or a list of them."""
    match value:
        case {"code": str() | None as code, "args": dict(values), "finding": str(text)}:
            return _message(code or "", values, text)
        case list(items):
            return [_argument(item) for item in items]
        case _:
            return value


def _fits(value: JsonValue | Message, kind: type[Any]) -> bool:
    """True for a value that a message shows as an argument of this type."""
    if isinstance(value, Message):
        return True
    if kind is list:
        return isinstance(value, list) and all(isinstance(item, str | Message) for item in value)
    if issubclass(kind, int | float):
        return isinstance(value, int | float) and not isinstance(value, bool) and _is_countable(value)
    return isinstance(value, str)


def _is_countable(value: float) -> bool:
    return isfinite(value) and abs(value) < _MOST_VALUE


def _instant_ns(utc: str | None) -> int | None:
    try:
        instant = None if utc is None else datetime.fromisoformat(utc).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None
    if instant is None or instant.year not in _YEARS:
        return None
    return round(instant.timestamp() * 1e6) * 1000
