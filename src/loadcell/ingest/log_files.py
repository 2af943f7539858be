"""Files of logs: compressed, cut, damaged, read block by block; and lines by their number in all of them.

A log that is cut while it is written (`copytruncate`), or whose machine crashed, has stretches of zero bytes.
"""

from __future__ import annotations

import errno
import io
import lzma
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar, cast

from loadcell.ingest.base import ImportProblemError
from loadcell.ingest.gc_log import position
from loadcell.ingest.inputs import unpacker
from loadcell.ingest.log_contents import must_be_log_text, must_have_lines
from loadcell.ingest.text import BLOCK_BYTES, OnProgress, blocks
from loadcell.ingest.text import lines as text_lines
from loadcell.model.message import Bytes, Count, ForeignText, Message, MessageCode

DIRECTORY = MessageCode("log-file.directory", path=str, names=list)
UNREADABLE = MessageCode("log-file.unreadable", path=str, reason=ForeignText)
REPEATED = MessageCode("log-file.repeated", "info", files=list)
REORDERED = MessageCode("log-file.reordered", "info", files=list)
DAMAGED = MessageCode("log-file.damaged", "caution", path=str, reason=Message)
DAMAGE_END = MessageCode("log-file-damage.end", "info")
DAMAGE_CONTENTS = MessageCode("log-file-damage.contents", "info")
DAMAGE_SYSTEM = MessageCode("log-file-damage.system", "info", error=ForeignText)
CUT = MessageCode("log-file.cut", "info", path=str)
ZEROS_ALONE = MessageCode("log-file.zeros-alone", path=str, size_bytes=Bytes)
ZEROS = MessageCode("log-file.zeros", "info", path=str, count=Count, size_bytes=Bytes)

#: A line or a block.
_Part = TypeVar("_Part", str, bytes)
#: Files of a directory that a message names.
_MOST_NAMED: Final = 5
#: Errors of a damaged file.
DAMAGES: Final = (OSError, EOFError, zlib.error, lzma.LZMAError)
_LINE_ENDS: Final = b"\r\n"
#: Zero bytes that are no part of a line; fewer are removed from it.
_STRETCH: Final = re.compile(rb"\0{8,}")
#: Those that stand for a hole in a file.
_HOLE_ZEROS: Final = 8
#: Zero bytes before the first text that are read, without those of holes in the file.
MOST_ZEROS: Final = 4 << 30


@dataclass
class Zeros:
    """Stretches of zero bytes of a file, which are passed over: their number and size."""

    count: int = 0
    size_bytes: int = 0
    #: the last block ended with zeros
    _continues: bool = False

    def skip(self, size_bytes: int) -> None:
        """Count zeros before the first text, or a complete block of them."""
        self.count += not self._continues
        self.size_bytes += size_bytes
        self._continues = True

    def without(self, block: bytes) -> bytes:
        """A block without its zeros; a stretch of them ends a line."""
        for stretch in _STRETCH.finditer(block):
            self.count += not (self._continues and stretch.start() == 0)
            self.size_bytes += len(stretch[0])
        self._continues = block.endswith(bytes(8))
        return _STRETCH.sub(_line_end, block).replace(b"\0", b"") if b"\0" in block else block


def _line_end(stretch: re.Match[bytes]) -> bytes:
    """The end of a line that zeros cut; none where they are before, behind or between lines."""
    text = stretch.string
    is_between = stretch.start() == 0 or stretch.end() == len(text) or text[stretch.start() - 1] in _LINE_ENDS
    return b"" if is_between or text[stretch.end()] in _LINE_ENDS else b"\n"


@dataclass
class LogLines:
    """Lines of all files, one after the other; `begins` has the number of lines before each file.

    `on_file` is called with the index of a file before its first line. `damages` are the remarks on damaged
    files, each with the number of the last line before. `count` is the number of lines, `zeros` that of
    stretches of zero bytes; each of these counts as a line that is not understood.
    """

    files: Sequence[tuple[Path, str]]
    on_progress: OnProgress | None = None
    on_file: Callable[[int], object] = lambda _: None
    begins: list[int] = field(default_factory=list)
    remarks: list[Message] = field(default_factory=list)
    damages: list[tuple[int, Message]] = field(default_factory=list)
    zeros: int = 0
    count: int = 0

    def __iter__(self) -> Iterator[str]:
        """Every line. Raises ImportProblemError where nothing can be read."""
        read_bytes = self.count = 0
        for index, (path, shown) in enumerate(self.files):
            self.begins.append(self.count)
            self.on_file(index)
            line = "\n"
            zeros = Zeros()
            is_damaged = False
            try:
                for block in blocks_of(path, zeros):
                    read_bytes += len(block)
                    if self.on_progress is not None:
                        self.on_progress(read_bytes, None)
                    for line in text_lines([block]):
                        self.count += 1
                        yield line
            except DAMAGES as error:
                if not self.count:
                    raise ImportProblemError(UNREADABLE(path=shown, reason=str(error))) from None
                is_damaged = True
                remark = DAMAGED(path=shown, reason=damage(error))
                self.remarks.append(remark)
                self.damages.append((self.count, remark))
            if zeros.count:
                self.zeros += zeros.count
                self.remarks.append(ZEROS(path=shown, count=zeros.count, size_bytes=zeros.size_bytes))
            if not line.endswith("\n") and not is_damaged:
                self.remarks.append(CUT(path=shown))

    def position(self, number: int) -> tuple[str, int]:
        """The name of the file, and the line in it, of a line of all files; lines count from 1."""
        index, line = position(self.begins, number)
        return self.files[index][1], line


def damage(error: Exception) -> Message:
    """The cause of a damage, in words of both languages."""
    if isinstance(error, EOFError):
        return DAMAGE_END()
    if isinstance(error, OSError) and error.strerror:
        return DAMAGE_SYSTEM(error=error.strerror)
    return DAMAGE_CONTENTS()


def once(files: Sequence[tuple[Path, str]]) -> tuple[list[tuple[Path, str]], list[Message]]:
    """Files without those that are named again, by any path, with a remark on these."""
    names: dict[tuple[int, int] | Path, tuple[Path, str]] = {}
    repeated: list[str] = []
    for path, shown in files:
        try:
            status = path.stat()
            key: tuple[int, int] | Path = (status.st_dev, status.st_ino)
        except OSError:
            key = path
        if key in names:
            repeated.append(shown)
        else:
            names[key] = (path, shown)
    remarks: list[Message] = [REPEATED(files=list(dict.fromkeys(repeated)))] if repeated else []
    return list(names.values()), remarks


def head_of(path: Path, shown: str, is_log: Callable[[str], bool], without: MessageCode) -> bytes:
    """The first block of a log. Raises ImportProblemError for what is no text file.

    The error for a directory names its files that are logs by their lower-case names; `without` is that for
    one that has none, with its `path`.
    """
    try:
        if path.is_dir():
            files = (item for item in path.iterdir() if item.is_file())
            names = sorted(item.name for item in files if is_log(item.name.lower()))
            code = DIRECTORY if names else without
            raise ImportProblemError(code.pick(path=shown, names=names[:_MOST_NAMED]))
        zeros = Zeros()
        raw = _raw_blocks(path, zeros)
        head = next(raw, None)
    except DAMAGES as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ImportProblemError(UNREADABLE(path=shown, reason=reason)) from None
    if head is None and zeros.count:
        raise ImportProblemError(ZEROS_ALONE(path=shown, size_bytes=zeros.size_bytes))
    head = b"" if head is None else head
    must_be_log_text(Path(shown), head)
    text = zeros.without(head)
    must_have_lines(Path(shown), text, _before_damage(zeros.without(block) for block in raw))
    return text


def blocks_of(path: Path, zeros: Zeros | None = None) -> Iterator[bytes]:
    """Blocks of complete lines, unpacked, without zero bytes. Raises an error of DAMAGES at a damage."""
    zeros = Zeros() if zeros is None else zeros
    for block in _raw_blocks(path, zeros):
        yield zeros.without(block)


def _raw_blocks(path: Path, zeros: Zeros) -> Iterator[bytes]:
    """Blocks that are not zeros alone; none where no text follows many zeros."""
    unpack = unpacker(path)
    opener: Callable[[Path], Any] = unpack or (lambda file: file.open("rb", buffering=0))
    with opener(path) as file:
        parts = _Parts(file if unpack else _WithoutHoles(file, zeros))
        is_text = False
        zero_bytes = 0
        for block in blocks(cast("BinaryIO", parts), BLOCK_BYTES // 8):
            if not block[0] and block == bytes(len(block)):
                zeros.skip(len(block))
                zero_bytes += len(block)
                if not is_text and zero_bytes > MOST_ZEROS:
                    return
                continue
            is_text = True
            yield block


class _WithoutHoles:
    """A file with a few zeros in place of each hole, of which nothing needs to be read."""

    def __init__(self, file: io.RawIOBase, zeros: Zeros) -> None:
        self._file = file
        self._zeros = zeros
        self._data_end = 0

    def read1(self, size: int) -> bytes | None:
        """The next part of the data, or the zeros of a hole."""
        position = self._file.tell()
        if position >= self._data_end:
            begin, self._data_end = _next_data(self._file.fileno(), position)
            self._file.seek(begin)
            if begin > position:
                zero_bytes = min(begin - position, _HOLE_ZEROS)
                self._zeros.size_bytes += begin - position - zero_bytes
                return bytes(zero_bytes)
        return self._file.read(min(size, self._data_end - position) if self._data_end > position else size)


def _next_data(descriptor: int, position: int) -> tuple[int, int]:
    """Begin and end of the data from a position on; the end may be unknown, which is 0."""
    size = os.fstat(descriptor).st_size
    if position >= size:
        return position, 0
    try:
        begin = os.lseek(descriptor, position, os.SEEK_DATA)
        return begin, os.lseek(descriptor, begin, os.SEEK_HOLE)
    except OSError as error:  # a hole up to the end, or a file system that does not know
        return (size, 0) if error.errno == errno.ENXIO else (position, size)


def beginning(path: Path) -> Iterator[str]:
    """Lines up to the end or a damaged place."""
    yield from _before_damage(text_lines(blocks_of(path)))


def _before_damage(parts: Iterable[_Part]) -> Iterator[_Part]:
    try:
        yield from parts
    except DAMAGES:
        return


class _Parts:
    """A file whose parts before a damaged place are read, too."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._error: Exception | None = None

    def read(self, size: int) -> bytes:
        """The next part; raises the error of the damage once all before it is read."""
        if self._error is not None:
            raise self._error
        parts: list[bytes] = []
        length = 0
        try:
            while length < size and (part := self._file.read1(size - length)):
                parts.append(part)
                length += len(part)
        except DAMAGES as error:
            self._error = error
            if not length:
                raise
        return b"".join(parts)
