"""Inputs of an import as plain files: unpacked, a pipe read once, with progress on a terminal."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TextIO

from loadcell.ingest.base import ImportProblemError, Source
from loadcell.ingest.messages import (
    IMPORT_DAMAGED,
    IMPORT_INPUT_UNREADABLE,
    IMPORT_NOT_UNPACKED,
    IMPORT_READING,
)

if TYPE_CHECKING:
    from rich.progress import Progress

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


class Inputs(AbstractContextManager["Inputs"]):
    """Plain files for readers, below a directory of their own that goes when this ends."""

    def __init__(self) -> None:
        self._home: Path | None = None
        self._named: dict[Path, Path] = {}
        self._shown: dict[Path, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._home is not None:
            shutil.rmtree(self._home, ignore_errors=True)

    def plain(self, files: Sequence[Path]) -> list[Path]:
        """The files as readers can take them, in their order. Raises ImportProblemError."""
        packed = any(_unpacker(path) is not None for path in files)
        plain = []
        for number, path in enumerate(files):
            if path == STDIN or _is_pipe(path):
                plain.append(self._stored_copy(path, number))
            elif (unpack := _unpacker(path)) is not None:
                plain.append(self._unpacked(path, unpack))
            elif packed and _NUMBERED.fullmatch(path.name):
                plain.append(self._continuations(path))
            else:
                plain.append(path)
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

    def _stored_copy(self, path: Path, number: int) -> Path:
        copy = self._directory(number) / "stdin"
        try:
            if path == STDIN:
                _copy(sys.stdin.buffer, copy)
            else:
                with path.open("rb") as pipe:
                    _copy(pipe, copy)
        except OSError as error:
            raise ImportProblemError(
                IMPORT_INPUT_UNREADABLE(path=path, reason=error.strerror or error)
            ) from None
        self._shown[copy] = str(path)
        unpack = _unpacker(copy)
        if unpack is None:
            return copy
        unpacked = self._unpacked(copy, unpack)
        del self._named[unpacked]
        self._shown[unpacked] = str(path)
        return unpacked

    def _unpacked(self, path: Path, unpack: Callable[[Path], Any]) -> Path:
        name = path.stem if path.suffix in (".gz", ".bz2", ".xz") else path.name
        plain = self._directory(path.absolute().parent) / name
        try:
            with unpack(path) as packed:
                _copy(packed, plain)
        except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
            raise ImportProblemError(IMPORT_DAMAGED(path=path, reason=error)) from None
        except OSError as error:
            raise ImportProblemError(
                IMPORT_NOT_UNPACKED(path=path, directory=plain.parent, reason=error.strerror or error)
            ) from None
        self._named[plain] = path
        return plain

    def _continuations(self, path: Path) -> Path:
        """A link to a plain log beside unpacked ones: names in one directory show what belongs together."""
        link = self._directory(path.absolute().parent) / path.name
        link.symlink_to(path.absolute())
        self._named[link] = path
        return link

    def _directory(self, of: object) -> Path:
        if self._home is None:
            self._home = Path(tempfile.mkdtemp(prefix="loadcell-import-"))
        directory = self._home / f"{abs(hash(of)):x}"
        directory.mkdir(exist_ok=True)
        return directory


def _copy(source: Any, to: Path) -> None:
    with to.open("wb") as target:
        shutil.copyfileobj(source, target, 2**20)


def _is_pipe(path: Path) -> bool:
    """A FIFO, `/dev/stdin`, or what `<(...)` of a shell makes: it can be read once."""
    try:
        return path.is_fifo() or path.is_char_device() or path.is_socket()
    except OSError:
        return False


def _unpacker(path: Path) -> Callable[[Path], Any] | None:
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            head = file.read(6)
    except OSError:
        return None  # its reader says why
    return next((unpack for sign, unpack in _UNPACK.items() if head.startswith(sign)), None)


#: What is shorter is read before anyone looks.
_LEAST_BYTES = 64 * 2**20


class Bar:
    """Progress of reading, in bytes of a total; shows a bar for long inputs, and removes it at the end.

    `long` is called while what is long is read.
    """

    def __init__(self, stream: TextIO, long: Callable[[], None] = lambda: None) -> None:
        self._stream = stream
        self._long = long
        self._progress: Progress | None = None

    def __enter__(self) -> Self:
        return self

    def __call__(self, read_bytes: int, total_bytes: int) -> None:
        if total_bytes < _LEAST_BYTES:
            return
        self._long()
        if not self._stream.isatty():
            return
        if self._progress is None:
            self._progress = self._started()
        (task,) = self._progress.task_ids
        self._progress.update(task, completed=read_bytes, total=total_bytes)

    def _started(self) -> Progress:
        # Of long inputs on a terminal alone; `lazy` knows modules of loadcell, and rich is a package.
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TransferSpeedColumn

        columns = (str(IMPORT_READING()), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        progress = Progress(*columns, console=Console(file=self._stream), transient=True)
        progress.add_task("")
        progress.start()
        return progress

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()
