"""Inputs of an import as plain files: unpacked, a pipe read once, with progress on a terminal.

Copies lie in a directory of this process below TMPDIR or /var/tmp, which is removed at its end. A later
import removes that of a killed one. Copies are limited, and only what begins as a text is copied.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import os
import re
import select
import shutil
import stat
import sys
import zlib
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

from rich import progress

from loadcell.ingest.base import ImportProblemError, Source
from loadcell.ingest.read import must_be_text
from loadcell.ingest.text import DIRECTORY_NAME, OnProgress
from loadcell.linux import process_directories
from loadcell.model import terminal
from loadcell.model.message import Bytes, ForeignText, Message, MessageCode
from loadcell.model.printable import printable
from loadcell.store.layout import OUTPUT, WORKER_LINE

IMPORT_INPUT_UNREADABLE = MessageCode("import.input-unreadable", path=str, reason=ForeignText)
IMPORT_DAMAGED = MessageCode("import.damaged", path=str, reason=ForeignText)
IMPORT_NOT_UNPACKED = MessageCode("import.not-unpacked", path=str, directory=str, reason=ForeignText)
IMPORT_WAITING = MessageCode("import.waiting", "info", path=str)
IMPORT_ENDLESS = MessageCode("import.endless", path=str)
IMPORT_TOO_LONG = MessageCode("import.too-long", path=str, limit_bytes=Bytes, gib=str)
IMPORT_NO_ROOM = MessageCode("import.no-room", path=str, directory=str, free_bytes=Bytes)
IMPORT_READING = MessageCode("import.reading", "info")

#: Seconds without input before a note about the wait.
QUIET_S = 2
#: Copies of all inputs together have no more bytes unless the user allows it.
MOST_COPIED_BYTES = 4 * 2**30
#: So much stays free on the file system of the copies, for others.
_SPARE_BYTES = 256 * 2**20
#: Bytes that are copied at once.
_PART_BYTES = 2**20
#: Stands for standard input.
STDIN = Path("-")
#: How compressed files begin (RFC 1952; bzip2 and xz by their file formats), and what reads them.
_UNPACK: dict[bytes, Callable[[Path], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
#: Logs of one execution have such names, in one directory.
_NUMBERED = re.compile(r".*\.\d+")
_WORKER = WORKER_LINE.encode()
#: The worker prints at the beginning of a trial.
_LOOKED_AT_BYTES = 2**20


class Inputs(AbstractContextManager["Inputs"]):
    """Plain files for readers, below a directory of their own that goes when this ends.

    `most_bytes` limits the copies together. `check` raises ImportProblemError for the first part of a file
    that is no text.
    """

    def __init__(
        self, most_bytes: int = MOST_COPIED_BYTES, check: Callable[[Path, bytes], None] = must_be_text
    ) -> None:
        self._most_bytes = most_bytes
        self._check = check
        self._on_progress: OnProgress = lambda _read, _total: None
        self._copied_bytes = 0
        self._home: Path | None = None
        self._numbers: dict[object, int] = {}
        self._named: dict[Path, Path] = {}
        self._shown: dict[Path, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._home is not None:
            process_directories.remove_directory(self._home)

    def plain(self, files: Sequence[Path], on_progress: OnProgress | None = None) -> list[Path]:
        """The files as readers can take them, in their order.

        `on_progress` is called with the size of copies so far, and None as total. Raises ImportProblemError.
        """
        self._on_progress = on_progress or self._on_progress
        packed = any(unpacker(path) is not None for path in files)
        plain = []
        for number, path in enumerate(files):
            if path == STDIN or _is_pipe(path) or _is_of_kernel(path):
                plain.append(self._stored_copy(path, number))
            elif (unpack := unpacker(path)) is not None:
                plain.append(self._unpacked(path, unpack))
            elif _is_trial_log(path):
                plain.append(self._printed_by_tool(path))
            elif packed and _NUMBERED.fullmatch(path.name):
                plain.append(self._continuations(path))
            else:
                plain.append(path)
        return plain

    def _printed_by_tool(self, path: Path) -> Path:
        """The lines of tools in the output.log of a trial, as they printed them."""
        plain = self._location(path, path.name)
        with path.open("rb") as log, plain.open("wb") as copy:
            copy.writelines(
                line.removeprefix(_WORKER)
                for line in log
                if line.startswith(_WORKER) and not line.startswith(_WORKER + b"$ ")
            )
        self._named[plain] = path
        return plain

    def as_named(self, sources: Sequence[Source]) -> list[Source]:
        """The same with the files that were named, where these are still there."""
        return [
            replace(
                source,
                path=self._named.get(source.path, source.path),
                also=tuple(self._named.get(path, path) for path in source.also),
                shown=self._shown.get(source.path, source.shown),
            )
            for source in sources
        ]

    def naming(self, error: ImportProblemError) -> ImportProblemError:
        """The same error with the files that were named in place of unpacked ones."""
        files = {**self._named, **self._shown}
        names = {str(plain): str(named) for plain, named in files.items()}
        return ImportProblemError(_renamed(error.message, names)) if names else error

    def _stored_copy(self, path: Path, number: int) -> Path:
        copy = self._directory(number) / "stdin"
        try:
            parts = _parts(sys.stdin.buffer) if path == STDIN else _parts_of_pipe(path)
            with contextlib.closing(parts):
                self._copy(path, parts, copy)
        except OSError as error:
            raise ImportProblemError(
                IMPORT_INPUT_UNREADABLE(path=path, reason=error.strerror or error)
            ) from None
        self._shown[copy] = str(path)
        unpack = unpacker(copy)
        if unpack is None:
            return copy
        unpacked = self._unpacked(copy, unpack)
        del self._named[unpacked]
        self._shown[unpacked] = str(path)
        return unpacked

    def _unpacked(self, path: Path, unpack: Callable[[Path], Any]) -> Path:
        name = path.stem if path.suffix in (".gz", ".bz2", ".xz") else path.name
        plain = self._location(path, name)
        try:
            with unpack(path) as packed:
                self._copy(path, _parts(packed), plain)
        except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
            raise ImportProblemError(IMPORT_DAMAGED(path=path, reason=error)) from None
        except OSError as error:
            raise ImportProblemError(
                IMPORT_NOT_UNPACKED(path=path, directory=plain.parent, reason=error.strerror or error)
            ) from None
        self._named[plain] = path
        return plain

    def _copy(self, path: Path, parts: Iterable[bytes], to: Path) -> None:
        """Copy an input. Raises OSError, and ImportProblemError for no text, too much, or no room."""
        first = True
        with to.open("wb") as target:
            for part in parts:
                if first and part.strip() and not _is_packed(part):
                    self._check(path, part)
                first = False
                self._copied_bytes += len(part)
                if self._copied_bytes > self._most_bytes:
                    gib = f"{self._most_bytes / 2**30:g}"
                    raise ImportProblemError(
                        IMPORT_TOO_LONG(path=path, limit_bytes=self._most_bytes, gib=gib)
                    )
                target.write(part)
                self._on_progress(self._copied_bytes, None)
                if target.tell() % (64 * _PART_BYTES) < len(part):
                    free_bytes = shutil.disk_usage(to.parent).free
                    if free_bytes < _SPARE_BYTES:
                        raise ImportProblemError(
                            IMPORT_NO_ROOM(path=path, directory=to.parent, free_bytes=free_bytes)
                        )

    def _continuations(self, path: Path) -> Path:
        """A link to a plain log beside unpacked ones: names in one directory show what belongs together."""
        link = self._location(path, path.name)
        link.symlink_to(path.absolute())
        self._named[link] = path
        return link

    def _location(self, path: Path, name: str) -> Path:
        """Path of a copy: in the directory of its neighbours, in another where the name is taken."""
        parent = path.absolute().parent
        locations = (self._directory((parent, number)) / name for number in count())
        return next(location for location in locations if not os.path.lexists(location))

    def _directory(self, of: object) -> Path:
        if self._home is None:
            directory = Path(os.environ.get("TMPDIR") or process_directories.HOME)
            _sweep(directory)
            self._home = process_directories.make_directory(DIRECTORY_NAME, directory)
            self._home.chmod(0o700)
        directory = self._home / str(self._numbers.setdefault(of, len(self._numbers)))
        directory.mkdir(exist_ok=True)
        return directory


def _sweep(directory: Path) -> None:
    """Remove the copies of killed imports."""
    for path in process_directories.abandoned(directory):
        if path.name.startswith(DIRECTORY_NAME):
            process_directories.remove_abandoned(path)


def _parts(source: Any) -> Generator[bytes, None, None]:
    while part := source.read(_PART_BYTES):
        yield part


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """A message with other names of files in its arguments."""
    if isinstance(value, Message):
        arguments = {key: _renamed(item, names) for key, item in value.arguments.items()}
        return replace(value, arguments=arguments)
    if isinstance(value, list | tuple):
        return type(value)(_renamed(item, names) for item in value)
    return names.get(value, value) if isinstance(value, str) else value


def _parts_of_pipe(path: Path) -> Generator[bytes, None, None]:
    """Parts as they come, after a note if nothing comes for a while.

    Raises OSError, and ImportProblemError for a file of the kernel that has no end.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
    noted = False
    ready = select.poll()
    ready.register(descriptor, select.POLLIN)
    with os.fdopen(descriptor, "rb", buffering=0) as pipe:
        while True:
            while not regular and not ready.poll(QUIET_S * 1000):
                if not noted:
                    print(printable(str(IMPORT_WAITING(path=path))), file=sys.stderr, flush=True)
                noted = True
            block = pipe.read(_PART_BYTES)
            if block is None and regular:
                raise ImportProblemError(IMPORT_ENDLESS(path=path))
            if block == b"":
                return
            if block:
                yield block


def _is_of_kernel(path: Path) -> bool:
    """A file of /proc, which may be read once, or never ends (`/proc/kmsg`)."""
    try:
        status = path.stat()
        return stat.S_ISREG(status.st_mode) and status.st_dev == os.stat("/proc").st_dev  # noqa: PTH116
    except OSError:
        return False


def _is_pipe(path: Path) -> bool:
    """A FIFO, `/dev/stdin`, or what `<(...)` of a shell makes: it can be read once."""
    try:
        return path.is_fifo() or path.is_char_device() or path.is_socket()
    except OSError:
        return False


def _is_trial_log(path: Path) -> bool:
    """The output.log of a run directory with lines of a worker in it."""
    try:
        with path.open("rb") as file:
            return path.name == OUTPUT and any(
                line.startswith(_WORKER) for line in file.read(_LOOKED_AT_BYTES).splitlines()
            )
    except OSError:
        return False  # its reader says why


def unpacker(path: Path) -> Callable[[Path], Any] | None:
    """Opener of a compressed file; None of any other."""
    try:
        if not path.is_file() or _is_of_kernel(path):
            return None
        with path.open("rb") as file:
            head = file.read(6)
    except OSError:
        return None  # its reader says why
    return next((unpack for sign, unpack in _UNPACK.items() if head.startswith(sign)), None)


def _is_packed(head: bytes) -> bool:
    return head.startswith(tuple(_UNPACK))


#: What is shorter is read before anyone looks.
_LEAST_BYTES = 64 * 2**20


class Bar:
    """Progress of reading, in bytes of a total if it is known; shows a bar for long inputs, and removes it at
    the end.

    `long` is called while what is long is read.
    """

    def __init__(self, stream: TextIO, long: Callable[[], None] = lambda: None) -> None:
        self._stream = stream
        self._long = long
        self._progress: progress.Progress | None = None

    def __enter__(self) -> Self:
        return self

    def __call__(self, read_bytes: int, total_bytes: int | None) -> None:
        if (read_bytes if total_bytes is None else total_bytes) < _LEAST_BYTES:
            return
        self._long()
        if not self._stream.isatty():
            return
        if self._progress is None:
            self._progress = self._started()
        (task,) = self._progress.task_ids
        self._progress.update(task, completed=read_bytes, total=total_bytes)

    def _started(self) -> progress.Progress:
        columns = (
            str(IMPORT_READING()),
            progress.BarColumn(),
            progress.DownloadColumn(),
            progress.TransferSpeedColumn(),
        )
        console = terminal.Terminal(file=self._stream)
        started = progress.Progress(*columns, console=console, transient=True)
        started.add_task("")
        started.start()
        return started

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()
