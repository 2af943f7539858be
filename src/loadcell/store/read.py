"""Reads a run directory in any state: damage is reported, not raised, if anything can be read."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loadcell.model import json as json_records
from loadcell.model.json import JsonObject, Record
from loadcell.model.message import Count, ForeignText, Message, MessageCode
from loadcell.model.panels import Row
from loadcell.model.run_record import PlannedTrial, RunRecord
from loadcell.model.trial_record import Status, TrialRecord
from loadcell.store import frames, layout, trial_files
from loadcell.store.layout import EVENT_COLUMNS, FRONT, StoreError, text_columns

if TYPE_CHECKING:
    from loadcell.store.frames import Frame

DAMAGED = MessageCode("damaged", file=str, found=str, left=str)
DAMAGED_UNREADABLE = MessageCode("damaged.unreadable", said=ForeignText)
DAMAGED_CUT = MessageCode("damaged.cut", size=str)
DAMAGED_CUT_OFF = MessageCode("damaged.cut-off", size=str, whole=str)
DAMAGED_LINE = MessageCode("damaged.line", line=str)
DAMAGED_CSV = MessageCode("damaged.csv")
DAMAGED_MISSING = MessageCode("damaged.missing")
DAMAGED_JSON = MessageCode("damaged.json")
DAMAGED_OBJECT = MessageCode("damaged.object")
DAMAGED_KEY = MessageCode("damaged.key", expected=str, found=str, key=str)
LEFT_WITHOUT = MessageCode("left.without")
LEFT_LINES = MessageCode("left.lines", count=Count)
LEFT_OTHER_LINES = MessageCode("left.other-lines")
LEFT_NO_ENVIRONMENT = MessageCode("left.no-environment")
LEFT_NOT_FINISHED = MessageCode("left.not-finished")
RUN_NO_DIRECTORY = MessageCode("run.no-directory", path=str)
RUN_NO_RECORD = MessageCode("run.no-record", file=str, path=str)
RUN_DAMAGED_RECORD = MessageCode("run.damaged-record", file=str, path=str, trials=str, why=Message)
RUN_NEWER_SCHEMA = MessageCode("run.newer-schema", found=str, path=str, supported=str)


@dataclass(frozen=True)
class Damage:
    """A damaged file of a run: its path (relative to the run), the finding, and what can be read."""

    file: str
    finding: Message
    usable: Message

    @property
    def reason(self) -> Message:
        """All of it in a sentence."""
        return DAMAGED(file=self.file, found=self.finding, left=self.usable)

    def __str__(self) -> str:
        return self.reason.text


@dataclass
class StoredRun:
    """A run as its directory tells it. Documents are plain JSON; frames are read when asked for.

    `trials` are the finished ones (each its trial.json), in run order; `unscored` those that have a role of
    their own (`profile`) and count in no figure; `unfinished` are names of trials that were begun and never
    finished; `damage` grows as files are read that turn out not to be whole.
    """

    path: Path
    run: RunRecord
    environment: JsonObject
    trials: list[TrialRecord]
    unfinished: list[str]
    unscored: list[TrialRecord] = field(default_factory=list)
    damage: list[Damage] = field(default_factory=list)

    @property
    def id(self) -> str:
        """The directory's own name, which says when it began."""
        return self.path.name

    @property
    def short_id(self) -> str:
        """The part of the name after the time."""
        return layout.short_id(self.path.resolve().name)

    @property
    def state(self) -> str:
        """`running`, `finished`, `interrupted`, `failed`, or `killed`: marked running, by a process that is
        gone.
        """
        return state_of(self.path, self.run)

    @property
    def hostnames(self) -> list[str]:
        """Names of the machines, as far as they are known."""
        hosts = self.environment.get("hosts") or ()
        return [str(host["hostname"]) for host in hosts if host.get("hostname")]

    @property
    def planned(self) -> tuple[PlannedTrial, ...]:
        """All trials of the plan, in run order."""
        return self.run.trials

    @property
    def missing(self) -> list[str]:
        """Names of planned trials, unscored ones too, that have no finished record."""
        done = {trial.name for trial in (*self.trials, *self.unscored)}
        planned = (*self.planned, *(self.run.unscored or ()))
        return [trial.name for trial in planned if trial.name not in done]

    @property
    def remaining(self) -> list[str]:
        """Names of planned trials, unscored ones too, that a resumed run would do: those without a record,
        and aborted ones.
        """
        aborted = (trial.name for trial in (*self.trials, *self.unscored) if trial.status is Status.ABORTED)
        return [*self.missing, *aborted]

    def directory(self, trial: str) -> Path:
        """Where a trial's files are."""
        return self.path / layout.TRIALS / trial

    def plan_text(self) -> str:
        """The plan as written; empty when the file is gone."""
        try:
            return (self.path / layout.PLAN).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return ""

    def intervals(self) -> Frame:
        """intervals.csv of every finished trial, with `trial`, `number`, `treatment`, `repeat`, `block` in
        front.
        """
        return self._intervals

    def samples(self, monitor: str) -> Frame:
        """A monitor's samples of every finished trial, with the same columns in front; empty when it did not
        run.

        A table beside them is named `monitor.table`.
        """
        return self._frames(lambda trial: self._sample_files[trial.name].get(monitor))

    def events(self) -> Frame:
        """Events: the front columns, then t_s (from the measurement's start), mono_ns, utc, event, detail
        (JSON).
        """
        return self._events

    @cached_property
    def _sample_files(self) -> dict[str, dict[str, str]]:
        return {trial.name: layout.sample_files(trial) for trial in self.trials}

    @cached_property
    def _intervals(self) -> Frame:
        return self._frames(_intervals_of)

    @cached_property
    def _events(self) -> Frame:
        return frames.Frame.from_rows({**FRONT, **EVENT_COLUMNS}, self.event_rows())

    def event_rows(self) -> Iterator[tuple[Any, ...]]:
        """Events of every finished trial: values of the columns FRONT, then EVENT_COLUMNS."""
        for trial in self.trials:
            start = trial.measure.started_mono_ns if trial.measure else None
            for event in self._event_lines(trial.name):
                mono = event.pop("mono_ns", None)
                t_s = None if start is None or mono is None else (mono - start) / 1e9
                utc, name = event.pop("utc", None), event.pop("event", None)
                yield *front(trial).values(), t_s, mono, utc, name, json.dumps(event, ensure_ascii=False)

    def _event_lines(self, trial: str) -> Iterator[JsonObject]:
        path = self.directory(trial) / layout.EVENTS
        try:
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return
        except OSError as error:
            self._note(path, DAMAGED_UNREADABLE(said=error.strerror), LEFT_WITHOUT())
            return
        for number, line in enumerate(lines, 1):
            try:
                event = json_records.parse(line)
            except json_records.MismatchError:
                event = None
            if not isinstance(event, dict) or not _is_event(event):
                self._note(path, DAMAGED_LINE(line=str(number)), LEFT_OTHER_LINES())
                continue
            yield event

    def _frames(self, file_of: Callable[[TrialRecord], str | None]) -> Frame:
        """One frame of a CSV file of every trial.

        Files with one header are read at once: a query a file costs more.
        """
        by_header: dict[bytes, list[_TrialFile]] = {}
        home = str(self.path / layout.TRIALS)
        for trial in self.trials:
            if (name := file_of(trial)) is not None:
                path = Path(home, trial.name, name)
                if content := self.complete_lines(path, trial):
                    header = content[: content.find(b"\n") + 1]
                    by_header.setdefault(header, []).append(_TrialFile(trial, path, content))
        tables: list[frames.Frame] = []
        for files in by_header.values():
            frame = _read_files(files)
            if frame is not None:
                tables.append(frame)
                continue
            for file in files:
                if (frame := _read_files([file])) is None:
                    self._note(file.path, DAMAGED_CSV(), LEFT_WITHOUT())
                else:
                    tables.append(frame)
        return frames.Frame.concat(tables) if tables else frames.Frame.from_rows(FRONT, ())

    def complete_lines(self, path: Path, trial: TrialRecord) -> bytes:
        """A CSV file up to its last whole line; empty when nothing of it can be used."""
        try:
            content = path.read_bytes()
        except OSError as error:
            self._note(path, DAMAGED_UNREADABLE(said=error.strerror), LEFT_WITHOUT())
            return b""
        expected = (trial.files or {}).get(path.name)
        if (expected is not None and len(content) != expected) or (content and not content.endswith(b"\n")):
            end = content.rfind(b"\n") + 1
            message = DAMAGED_CUT(size=str(len(content)))
            if expected is not None:
                message = DAMAGED_CUT_OFF(size=str(len(content)), whole=str(expected))
            content = content[:end]
            self._note(path, message, LEFT_LINES(count=content.count(b"\n")))
        # Line ends of other systems, as a copy through an editor or an archive may have.
        return content.replace(b"\r\n", b"\n") if b"\r\n" in content else content

    def _note(self, path: Path, finding: Message, remaining: Message) -> None:
        damage = Damage(str(path.relative_to(self.path)), finding, remaining)
        if damage not in self.damage:
            self.damage.append(damage)


def _is_event(event: JsonObject) -> bool:
    """True if an event's instant is a number, and its name and time are texts, where it has them."""
    instant = event.get("mono_ns")
    named = all(isinstance(event.get(key), str | None) for key in ("utc", "event"))
    return named and (instant is None or (isinstance(instant, int) and not isinstance(instant, bool)))


def _intervals_of(trial: TrialRecord) -> str | None:
    """File of intervals; None where nothing was measured, or an imported output has no intervals."""
    unwritten = trial.files is not None and layout.INTERVALS not in trial.files
    return None if trial.measure is None or unwritten else layout.INTERVALS


def state_of(path: Path, run: RunRecord) -> str:
    """State of a run: that of its record, or `killed` (see `StoredRun.state`)."""
    return "killed" if run.state == "running" and not is_being_written(path) else run.state


def read_record(path: Path) -> RunRecord:
    """The record of a run without its trials.

    Raises StoreError when `path` is no run or its run.json is of no use.
    """
    if not path.is_dir():
        raise StoreError(RUN_NO_DIRECTORY(path=path))
    if not layout.is_run(path):
        raise StoreError(RUN_NO_RECORD(path=path, file=layout.RUN))
    run = _record(RunRecord, path / layout.RUN)
    schema = run.schema if isinstance(run, RunRecord) else _schema(path / layout.RUN)
    if schema > layout.SCHEMA:
        raise StoreError(RUN_NEWER_SCHEMA(path=path, found=schema, supported=layout.SCHEMA))
    if isinstance(run, Message):
        raise StoreError(
            RUN_DAMAGED_RECORD(path=path / layout.RUN, why=run, trials=path / layout.TRIALS, file=layout.RUN)
        )
    return run


def read_run(path: Path) -> StoredRun:
    """Read a run.

    Raises StoreError when `path` is no run or its run.json is of no use; lesser damage is noted.
    """
    path = path.resolve()
    stored = StoredRun(path, read_record(path), {}, [], [])
    environment = _json(path / layout.ENVIRONMENT)
    if not isinstance(environment, Message) and not _has_hosts(environment):
        environment = DAMAGED_KEY(key="hosts", expected="[{...}]", found=str(environment.get("hosts"))[:60])
    if isinstance(environment, Message):
        stored._note(path / layout.ENVIRONMENT, environment, LEFT_NO_ENVIRONMENT())
    else:
        stored.environment = environment
    _read_trials(stored)
    return stored


def _read_trials(stored: StoredRun) -> None:
    """Fill in the finished and the unfinished trials."""
    home = stored.path / layout.TRIALS
    entries = sorted(home.iterdir()) if home.is_dir() else []
    for entry in entries:
        part_of = layout.trial_of_part(entry.name)
        if part_of is not None and not (entry / layout.TRIAL).is_file():
            stored.unfinished.append(part_of)
        elif part_of is not None or (entry.is_dir() and not entry.name.startswith(".")):
            record = _record(TrialRecord, entry / layout.TRIAL)
            if isinstance(record, TrialRecord):
                record = _contradiction(record, part_of or entry.name) or record
            if isinstance(record, Message):
                stored._note(entry / layout.TRIAL, record, LEFT_NOT_FINISHED())
                stored.unfinished.append(part_of or entry.name)
            elif part_of is None:
                (stored.unscored if record.role else stored.trials).append(record)
            else:  # killed between the last write and the rename; `loadcell run --resume` gives it its name
                stored.unfinished.append(part_of)
    for trials in (stored.trials, stored.unscored):
        trials.sort(key=lambda trial: trial.number)


def _contradiction(record: TrialRecord, name: str) -> Message | None:
    """The damage of a record that has the name of another trial, or names files outside its directory."""
    if record.name != name:
        return DAMAGED_KEY(key="name", expected=name, found=record.name)
    load = record.settings.get("load")
    if not isinstance(load, dict | None):
        return DAMAGED_KEY(key="settings.load", expected="{...}", found=str(load)[:60])
    for file in (*layout.sample_files(record).values(), *(record.files or ())):
        if "/" in file or file in ("", ".", ".."):
            return DAMAGED_KEY(key="files", expected=layout.INTERVALS, found=file)
    return None


@dataclass(frozen=True)
class _TrialFile:
    """A CSV file of a trial up to its last whole line."""

    trial: TrialRecord
    path: Path
    content: bytes


def _read_files(files: Sequence[_TrialFile]) -> Frame | None:
    """Files with the same header as one frame, the trial's columns in front.

    None when a file is no CSV, or when it is not clear which rows are whose, as a field holds a line break.
    """
    header = files[0].content[: files[0].content.find(b"\n") + 1]
    text = frozenset[str]().union(*(text_columns(file.trial, file.path.name) for file in files))
    frame = trial_files.read_csv(header + b"".join(file.content[len(header) :] for file in files), text)
    if frame is None:
        return None
    counts = [len(frame)]
    if len(files) > 1:
        counts = [file.content.count(b"\n") - 1 for file in files]
        if sum(counts) != len(frame):
            return None
    trials = frames.Frame.from_rows(FRONT, [tuple(front(file.trial).values()) for file in files])
    return trials.take(frames.repeated(counts)).adding(frame.columns)


def front(trial: TrialRecord) -> Row:
    """A trial's values of the columns FRONT."""
    return {
        "trial": trial.name,
        **{key: getattr(trial, key) for key in ("number", "treatment", "repeat", "block")},
    }


def _record(kind: type[Record], path: Path) -> Record | Message:
    """Record in a JSON file, or the damage of the file."""
    try:
        return json_records.read(kind, path.read_bytes())
    except FileNotFoundError:
        return DAMAGED_MISSING()
    except OSError as error:
        return DAMAGED_UNREADABLE(said=error.strerror)
    except json_records.MismatchError as error:
        mismatch = error.mismatch
    if mismatch is None:
        return DAMAGED_JSON()
    if not mismatch.key:
        return DAMAGED_OBJECT()
    return DAMAGED_KEY(key=mismatch.key, expected=mismatch.expected, found=mismatch.value)


def _has_hosts(environment: JsonObject) -> bool:
    """True if the hosts of an environment are objects, where there are any."""
    hosts = environment.get("hosts")
    return hosts is None or (isinstance(hosts, list) and all(isinstance(host, dict) for host in hosts))


def _schema(path: Path) -> int:
    """Schema that a file names which is no record of this version; 0 where it names none."""
    values = _json(path)
    schema = values.get("schema") if isinstance(values, dict) else None
    return schema if isinstance(schema, int) else 0


def _json(path: Path) -> JsonObject | Message:
    """A JSON object; or what is wrong with the file."""
    try:
        document = json_records.parse(path.read_bytes())
    except FileNotFoundError:
        return DAMAGED_MISSING()
    except OSError as error:
        return DAMAGED_UNREADABLE(said=error.strerror)
    except json_records.MismatchError:
        return DAMAGED_JSON()
    return document if isinstance(document, dict) else DAMAGED_OBJECT()


def is_being_written(path: Path) -> bool:
    """True if some process holds the lock of a run directory."""

    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False
