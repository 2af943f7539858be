"""Examinations of the host during a trial (`loadcell doctor --live --json`), from files that it retained."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from loadcell.incidents.base import Confidence, Diagnosis, Healthy, Judgement, Level, registered
from loadcell.incidents.evidence.base import Quote
from loadcell.incidents.evidence.retained import Retained
from loadcell.incidents.examination import Examined
from loadcell.incidents.record import LineRecord, ValueRecord
from loadcell.model import json as model_json
from loadcell.model.json import JsonObject, JsonValue, MismatchError
from loadcell.model.message import Message, declared
from loadcell.store.read import StoredRun

#: End of the name of such a file.
NAME: Final = "doctor.json"
_MOST_BYTES: Final = 4 * 1024**2


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

    diagnoses: tuple[_Diagnosis, ...]
    healthy: tuple[ValueRecord, ...]


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
        for path in sorted(stored.directory(trial.name).glob(f"*{NAME}")):
            record = _read(path)
            if record is None:
                continue
            instant_ns, started_ns = _instant_ns(record.utc), _instant_ns(trial.started_utc) or 0
            judgements: list[Judgement] = []
            for subject in record.subjects:
                diagnoses = [
                    _diagnosis(item, instant_ns, started_ns)
                    for item in subject.diagnoses
                    if item.incident in registered()
                ]
                judgements += [item for item in diagnoses if item.end_ns is None or item.end_ns >= started_ns]
                healthy = (item for item in subject.healthy if item.incident in registered())
                judgements += [_healthy(item) for item in healthy]
            yield Examined(Retained(trial.name, f"{trial.name}/{path.name}", instant_ns), tuple(judgements))


def _read(path: Path) -> _Examination | None:
    """The record in a file; None for any other contents."""
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return None
        return model_json.read(_Examination, path.read_bytes())
    except (OSError, MismatchError):
        return None


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


def _remedy(record: _Diagnosis) -> str:
    """The name of the remedy whose English text the record has."""
    incident = registered()[record.incident]
    names = (name for name in incident.remedies if Message(incident.remedy_texts(name)).text == record.remedy)
    return next(names, "")


def _healthy(record: ValueRecord) -> Healthy:
    return Healthy(record.incident, _message(record.code, record.values, record.text))


def _message(code: str, values: JsonObject, text: str) -> Message:
    """The message of a record; in the words of the record where this version has no such message."""
    present = declared().get(code)
    is_alike = present is not None and present.arguments.keys() == values.keys()
    arguments = {name: _argument(value) for name, value in values.items()}
    return Message(code, arguments, recorded=None if is_alike else (text, ""))


def _argument(value: JsonValue) -> JsonValue | Message:
    """A value of a message, which may be a message."""
    match value:
        case {"code": str(code), "args": dict(values), "finding": str(text)}:
            return _message(code, values, text)
        case _:
            return value


def _instant_ns(utc: str | None) -> int | None:
    try:
        return None if utc is None else round(datetime.fromisoformat(utc).timestamp() * 1e6) * 1000
    except ValueError:
        return None
