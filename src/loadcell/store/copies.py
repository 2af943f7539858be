"""Copies of the files that a plan names, in `files/<SHA-256>/<name>` of the run directory.

A file that is too large, or may hold a secret, is recorded by its path and hash alone: a run that is repeated
takes the file itself, if it is still the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from loadcell.model.message import Bytes, ForeignText, MessageCode
from loadcell.model.numbers import utc_text
from loadcell.model.run_record import PlanFile, RunRecord
from loadcell.plan.files import PlanFiles
from loadcell.plan.secret_files import may_hold_secret
from loadcell.store.layout import FILES, StoreError, cannot_write
from loadcell.store.write import sync_directory

COPY_DAMAGED = MessageCode("copy.damaged", file=str, path=str)
COPY_MISSING = MessageCode("copy.missing", file=str, path=str)
FILE_CHANGED = MessageCode("copy.file-changed", file=str, path=str, was_bytes=Bytes, is_bytes=Bytes)
FILE_GONE = MessageCode("copy.file-gone", file=str, path=str, said=ForeignText)
FILE_NO_LONGER_READABLE = MessageCode("copy.unreadable", file=str, path=str, said=ForeignText)

#: Size of the largest file that is copied.
MOST_COPIED_BYTES: Final = 64 * 2**20
#: Name of a copy while it is written.
_NEW: Final = ".new"
#: Why a file has no copy.
LARGE, SECRET, PROGRAM = "large", "secret", "program"


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def copy_files(run: Path, files: PlanFiles, secrets: Sequence[str] = ()) -> tuple[PlanFile, ...]:
    """Copy the files that a plan has named into a run directory; the record of each.

    A file that holds one of `secrets` is not copied, and a pipe, which has been read, is left out. Raises
    StoreError.
    """
    named = ((name, path) for name, path in files.named.items() if path.is_file() or not path.exists())
    records = [_copied(run, name, path, secrets) for name, path in named]
    records += _programs(files)
    if any(record.copy for record in records):
        sync_directory(run / FILES)
    return tuple(records)


def _programs(files: PlanFiles) -> Iterator[PlanFile]:
    """The programs; without those that may be executed only, not read."""
    for name, path in files.programs.items():
        with contextlib.suppress(OSError):
            if path.is_file():
                yield _record(name, path, sha256_of(path), None, PROGRAM)


def _copied(run: Path, name: str, path: Path, secrets: Sequence[str]) -> PlanFile:
    try:
        if path.stat().st_size > MOST_COPIED_BYTES:
            return _record(name, path, sha256_of(path), None, LARGE)
        content = path.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        if may_hold_secret(content, secrets):
            return _record(name, path, digest, None, SECRET)
        record = _record(name, path, digest, f"{FILES}/{digest}/{path.name}", None)
    except OSError as error:
        raise StoreError(FILE_NO_LONGER_READABLE(file=name, path=path, said=error.strerror)) from None
    copy = run / str(record.copy)
    try:
        _write(copy, content, stat.S_IMODE(path.stat().st_mode))
    except OSError as error:
        raise cannot_write(copy, error) from None
    return record


def _record(name: str, path: Path, digest: str, copy: str | None, why_not: str | None) -> PlanFile:
    status = path.stat()
    modified = utc_text(status.st_mtime_ns)
    return PlanFile(name, str(path.absolute()), status.st_size, modified, digest, copy, why_not)


def _write(copy: Path, content: bytes, mode: int) -> None:
    """Write a copy by rename, which others may read if they may read the file; the same content under another
    name is a link, for whom both files are readable.
    """
    if copy.exists():
        return
    copy.parent.mkdir(parents=True, exist_ok=True)
    same = next(copy.parent.iterdir(), None)
    if same is not None and same.name != _NEW:
        same.chmod(stat.S_IMODE(same.stat().st_mode) & mode)
        os.link(same, copy)
        return
    new = copy.with_name(_NEW)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
        os.fchmod(file.fileno(), mode & 0o666)
        file.flush()
        os.fsync(file.fileno())
    new.rename(copy)
    sync_directory(copy.parent)


def to_run_again(path: Path, run: RunRecord) -> dict[str, Path]:
    """The files of a run by their names in its plan: its copies, and of files without one the files
    themselves, all checked.

    Raises StoreError for a damaged copy, and for a file that changed or is gone.
    """
    return {file.file: _checked(path, file) for file in run.files or () if file.why_not != PROGRAM}


def changed_programs(run: RunRecord) -> list[str]:
    """Names of the programs of a run's plan that are other files now, or gone."""
    programs = (file for file in run.files or () if file.why_not == PROGRAM)
    return [file.file for file in programs if not _is_same(file, Path(file.path))]


def changed_files(run: RunRecord, named: Mapping[str, Path]) -> list[str]:
    """Names of the files of a run that have other contents now, or are gone. `named` are the files of its
    plan, or their copies, by their names.
    """
    files = (file for file in run.files or () if file.why_not != PROGRAM and file.file in named)
    return [file.file for file in files if not _is_same(file, named[file.file])]


def _is_same(file: PlanFile, path: Path) -> bool:
    try:
        return sha256_of(path) == file.sha256
    except OSError:
        return False


def undamaged_copies(path: Path, run: RunRecord) -> dict[str, Path]:
    """The copies of a run that are undamaged, by the names of the files in its plan."""
    copies: dict[str, Path] = {}
    for file in run.files or ():
        if file.copy is not None:
            with contextlib.suppress(StoreError):
                copies[file.file] = _checked(path, file)
    return copies


def _checked(run: Path, file: PlanFile) -> Path:
    copy = None if file.copy is None else run / file.copy
    path = copy or Path(file.path)
    try:
        size = path.stat().st_size
        same = size == file.size_bytes and sha256_of(path) == file.sha256
    except OSError as error:
        code = FILE_GONE if copy is None else COPY_MISSING
        raise StoreError(code.pick(file=file.file, path=path, said=error.strerror)) from None
    if same:
        return path
    if copy is not None:
        raise StoreError(COPY_DAMAGED(file=file.file, path=path))
    raise StoreError(FILE_CHANGED(file=file.file, path=path, was_bytes=file.size_bytes, is_bytes=size))
