"""Writes a run directory: trials into a hidden `.part` directory, made visible by one rename when finished.

A kill or a power cut at any instant leaves either the old file or the new one. In all that is written secrets
become references, but numbers, instants, keys and separators stay.
"""

from __future__ import annotations

import contextlib
import csv
import fcntl
import io
import json
import os
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from loadcell.model.json import JsonObject
from loadcell.model.message import MessageCode
from loadcell.model.panels import Cell
from loadcell.model.run_record import RUN_COMMAND, RunRecord
from loadcell.model.trial_record import TrialRecord
from loadcell.store import layout
from loadcell.store.layout import StoreError, cannot_write
from loadcell.store.redaction import Redact, redacted, redacted_event, redacted_plan, redacted_record

RUN_BEING_WRITTEN = MessageCode("run.being-written", path=str)

#: Numbers below the first and from the second on are written with an exponent.
_LEAST_PLAIN, _LEAST_HUGE = 1e-4, 1e16
#: A file by which a writer finds out that it may write.
_PROBE = ".writable"


def sync_directory(path: Path) -> None:
    """Make names created in or moved into `path` survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_text(path: Path, text: str) -> None:
    """Replace `path` as a whole. Raises OSError; the old content is then still there."""
    new = path.with_name(f".{path.name}.new")
    try:
        # Names of files may be no UTF-8.
        with new.open("w", encoding="utf-8", errors="replace") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError:
        new.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def json_text(document: Any) -> str:
    """Plain JSON a person can read; NaN is not JSON and is refused."""
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def is_free(path: Path) -> bool:
    """True if a run can begin in this directory: it does not exist, is empty, or holds the beginning of a run
    that was killed before it had a record.
    """
    begun = {layout.PLAN, layout.ENVIRONMENT, layout.TRIALS, layout.FILES, layout.SOURCES, _PROBE}
    begun |= {f".{name}.new" for name in (layout.PLAN, layout.ENVIRONMENT, layout.RUN)}
    try:
        names = {file.name for file in path.iterdir()}
        return not names or (
            layout.TRIALS in names and names <= begun and not any((path / layout.TRIALS).iterdir())
        )
    except FileNotFoundError:
        return True
    except OSError:
        return False


class RunWriter:
    """The one writer of a run directory; a second one, in whatever process, is refused while it is open."""

    def __init__(self, path: Path, redact: Redact = str, *, resumed_by: str = RUN_COMMAND) -> None:
        """Open `path`, made if it is not there. Raises StoreError when it cannot be written or is in use."""
        self.path = path
        self.redact = redact
        self._resume = layout.resume_command(path, resumed_by)
        self._lock = -1
        self._made = [ancestor for ancestor in (path, *path.parents) if not ancestor.exists()]
        try:
            (path / layout.TRIALS).mkdir(parents=True, exist_ok=True)
            self._lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            take_lock(self._lock)
            probe = path / _PROBE
            probe.touch()
            probe.unlink()
        except BlockingIOError:
            self.close()
            raise StoreError(RUN_BEING_WRITTEN(path=path)) from None
        except OSError as error:
            self.close()
            raise self.unwritable(path, error) from None

    def close(self) -> None:
        """Let go of the directory."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def discard(self) -> None:
        """Remove what was written of a run that never began, and the directories that were made for it."""
        for name in (layout.FILES, layout.SOURCES):
            shutil.rmtree(self.path / name, ignore_errors=True)
        for name in (layout.PLAN, layout.ENVIRONMENT, layout.RUN):
            (self.path / name).unlink(missing_ok=True)
            (self.path / f".{name}.new").unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # something else is there
            for made in (self.path / layout.TRIALS, *self._made):
                made.rmdir()

    def write_plan(self, text: str) -> None:
        """Keep the plan as its author wrote it."""
        self._replace(layout.PLAN, redacted_plan(text, self.redact))

    def write_run(self, run: RunRecord) -> None:
        """Replace run.json."""
        self._replace(layout.RUN, json_text(redacted_record(run, self.redact)))

    def write_environment(self, document: JsonObject) -> None:
        """Replace environment.json."""
        self._replace(layout.ENVIRONMENT, json_text(redacted(document, self.redact)))

    def output(self, lines: Iterable[str]) -> None:
        """Append what a target said outside any trial to the run's own output.log."""
        text = self.redact("".join(line.rstrip("\n") + "\n" for line in lines))
        try:
            if text:
                with (self.path / layout.OUTPUT).open("a", encoding="utf-8", errors="replace") as file:
                    file.write(text)
        except OSError as error:
            raise self.unwritable(self.path / layout.OUTPUT, error) from None

    def trial(self, name: str) -> TrialWriter:
        """Begin a trial; what an earlier, killed attempt left unfinished under this name is thrown away."""
        return TrialWriter(self, name)

    def recover(self) -> list[str]:
        """Give trials that were finished, but killed before their last rename, their names; returns them."""
        recovered = []
        for part in sorted((self.path / layout.TRIALS).glob(".*.part")):
            name = layout.trial_of_part(part.name)
            if name is not None and (part / layout.TRIAL).is_file():
                self._publish(part, name)
                recovered.append(name)
        return recovered

    def unwritable(self, path: Path, error: OSError) -> StoreError:
        """The error for a failed write to a file of the run."""
        begun = (self.path / layout.RUN).exists()
        elsewhere = layout.ELSEWHERE_COPY if begun else layout.ELSEWHERE_OUT
        return cannot_write(path, error, self._resume, elsewhere)

    def _replace(self, name: str, text: str) -> None:
        try:
            write_text(self.path / name, text)
        except OSError as error:
            raise self.unwritable(self.path / name, error) from None

    def _publish(self, part: Path, name: str) -> None:
        """Move a finished trial to its name. An earlier attempt's record stays, hidden, beside it."""
        final = part.with_name(name)
        if final.exists():
            attempt = 1
            while (aside := part.with_name(layout.replaced_name(name, attempt))).exists():
                attempt += 1
            final.rename(aside)
        part.rename(final)
        sync_directory(part.parent)


def take_lock(descriptor: int) -> None:
    """Take a run directory's lock; a reader that looks whether it is taken holds it for an instant.

    Raises BlockingIOError if a run is writing there.
    """
    for patience in (0.01, 0.05, 0.2, None):
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if patience is None:
                raise
            time.sleep(patience)
    return None


class TrialWriter:
    """Writes one trial's files. Every write can raise StoreError; rows and lines reach the file at once."""

    def __init__(self, run: RunWriter, name: str) -> None:
        self.name = name
        self._run = run
        self.path = run.path / layout.TRIALS / layout.part_name(name)
        self._files: dict[str, TextIO] = {}
        try:
            if self.path.exists():
                shutil.rmtree(self.path)
            self.path.mkdir()
        except OSError as error:
            raise run.unwritable(self.path, error) from None

    def intervals(self, rows: Iterable[Mapping[str, Cell]]) -> None:
        """Append rows to intervals.csv."""
        self.rows(layout.INTERVALS, layout.INTERVAL_COLUMNS, rows)

    def rows(self, file: str, columns: Sequence[str], rows: Iterable[Mapping[str, Cell]]) -> None:
        """Append rows to a CSV file with these columns; a missing value or None is an empty field."""
        words = layout.INTERVAL_WORDS if file == layout.INTERVALS else layout.SAMPLE_WORDS
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        if file not in self._files:
            table.writerow(columns)
        # Rows of one sample share their times, and samples of series their names: each is written out once.
        rows, fields = list(rows), []
        for column in columns:
            values = [row.get(column) for row in rows]
            written = {value: self._field(value, words=column in words) for value in set(values)}
            fields.append([written[value] for value in values])
        table.writerows(zip(*fields, strict=True))
        self._append(file, text.getvalue())

    def event(self, event: JsonObject) -> None:
        """Append one event."""
        line = json.dumps(redacted_event(event, self._run.redact), ensure_ascii=False, allow_nan=False)
        self._append(layout.EVENTS, line + "\n")

    def output(self, line: str) -> None:
        """Append one line of the output of the target or a tool."""
        self._append(layout.OUTPUT, self._run.redact(line.rstrip("\n")) + "\n")

    def text(self, name: str, text: str) -> None:
        """Write a text file of this name."""
        self._append(name, self._run.redact(text))

    def text_lines(self, name: str, lines: Iterable[str]) -> None:
        """Write lines, which may be many, into a text file of this name; without lines there is no file.

        It can be read then.
        """
        for line in lines:
            self._write(name, self._run.redact(line.rstrip("\n")) + "\n")
        if name in self._files:
            self._write(name, "", flush=True)

    def copied(self, name: str, lines: Iterable[bytes]) -> None:
        """Write a file of another program, in any encoding; it can be read then."""
        try:
            file = (self.path / name).open("x", encoding="utf-8", errors="surrogateescape", newline="")
            self._files[name] = file
            for line in lines:
                file.write(self._run.redact(line.decode("utf-8", "surrogateescape")))
            file.flush()
        except OSError as error:
            raise self._run.unwritable(self.path / name, error) from None

    def latency(self, lines: Iterable[str]) -> None:
        """Append lines of the histogram log's body; its head comes with `latency_head`."""
        self._append(f".{layout.LATENCY}", "".join(f"{line}\n" for line in lines))

    def latency_head(self, head: Iterable[str]) -> None:
        """Put the head in front of the histogram log: the file is there, whole, from then on."""
        body = self.path / f".{layout.LATENCY}"
        self._append(body.name, "")
        self._append(layout.LATENCY, "".join(f"{line}\n" for line in head))
        try:
            self._files.pop(body.name).close()
            with body.open(encoding="utf-8") as lines:
                shutil.copyfileobj(lines, self._files[layout.LATENCY])
            self._files[layout.LATENCY].flush()
            body.unlink()
        except OSError as error:
            raise self._run.unwritable(body, error) from None

    def finish(self, record: TrialRecord) -> Path:
        """Write trial.json, with the size of every other file in it, and give the trial its name."""
        try:
            sizes: dict[str, int] = {}
            headless = self._files.pop(f".{layout.LATENCY}", None)
            if headless is not None:  # the load never said how the log begins: it is of no use to any reader
                headless.close()
                Path(headless.name).unlink()
            for name, file in self._files.items():
                file.flush()
                os.fsync(file.fileno())
                file.close()
                sizes[name] = (self.path / name).stat().st_size
            self._files.clear()
            record_document = {**redacted_record(record, self._run.redact), "files": sizes}
            write_text(self.path / layout.TRIAL, json_text(record_document))
            self._run._publish(self.path, self.name)
        except OSError as error:
            raise self._run.unwritable(self.path, error) from None
        return self.path.with_name(self.name)

    def abandon(self) -> None:
        """Close the files and leave the part directory as it is, for whoever wants to look."""
        for file in self._files.values():
            try:
                file.close()
            except OSError:  # a full disk: what could be written is written
                continue
        self._files.clear()

    def _field(self, value: Any, *, words: bool) -> Any:
        """At most six digits after the point, so that files stay readable; no secrets in foreign text.

        A number that would lose digits by this, or have very many, is written with an exponent.
        """
        if isinstance(value, float):
            if value and not _LEAST_PLAIN <= abs(value) < _LEAST_HUGE:
                return f"{value:.9g}"
            return f"{value:.6f}".rstrip("0").rstrip(".")
        if isinstance(value, str):
            return value if words else self._run.redact(value)
        return "" if value is None else value

    def _append(self, name: str, text: str) -> None:
        self._write(name, text, flush=True)

    def _write(self, name: str, text: str, *, flush: bool = False) -> None:
        try:
            file = self._files.get(name)
            if file is None:
                file = self._files[name] = (self.path / name).open("w", encoding="utf-8", errors="replace")
            file.write(text)
            if flush:
                file.flush()
        except OSError as error:
            raise self._run.unwritable(self.path / name, error) from None
