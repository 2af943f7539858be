"""Files of logs: compressed, cut, damaged, read block by block; and lines by their number in all of them."""

from __future__ import annotations

import lzma
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from loadcell.ingest.base import ImportProblemError
from loadcell.ingest.gc_log import position
from loadcell.ingest.inputs import unpacker
from loadcell.ingest.log_contents import must_be_log_text
from loadcell.ingest.text import BLOCK_BYTES, OnProgress, blocks
from loadcell.ingest.text import lines as text_lines
from loadcell.model.message import ForeignText, Message, MessageCode

DIRECTORY = MessageCode("log-file.directory", path=str, names=list)
UNREADABLE = MessageCode("log-file.unreadable", path=str, reason=ForeignText)
REORDERED = MessageCode("log-file.reordered", "info", files=list)
DAMAGED = MessageCode("log-file.damaged", "caution", path=str, reason=ForeignText)
CUT = MessageCode("log-file.cut", "info", path=str)

#: Files of a directory that a message names.
_MOST_NAMED: Final = 5
#: Errors of a damaged file.
DAMAGES: Final = (OSError, EOFError, zlib.error, lzma.LZMAError)


@dataclass
class LogLines:
    """Lines of all files, one after the other; `begins` has the number of lines before each file.

    `on_file` is called with the index of a file before its first line. `damages` are the remarks on damaged
    files, each with the number of the last line before.
    """

    files: Sequence[tuple[Path, str]]
    on_progress: OnProgress | None = None
    on_file: Callable[[int], object] = lambda _: None
    begins: list[int] = field(default_factory=list)
    remarks: list[Message] = field(default_factory=list)
    damages: list[tuple[int, Message]] = field(default_factory=list)

    def __iter__(self) -> Iterator[str]:
        """Every line. Raises ImportProblemError where nothing can be read."""
        count = read_bytes = 0
        for index, (path, shown) in enumerate(self.files):
            self.begins.append(count)
            self.on_file(index)
            line = "\n"
            try:
                for block in blocks_of(path):
                    read_bytes += len(block)
                    if self.on_progress is not None:
                        self.on_progress(read_bytes, None)
                    for line in text_lines([block]):
                        count += 1
                        yield line
            except DAMAGES as error:
                if not count:
                    raise ImportProblemError(UNREADABLE(path=shown, reason=str(error))) from None
                remark = DAMAGED(path=shown, reason=str(error))
                self.remarks.append(remark)
                self.damages.append((count, remark))
            if not line.endswith("\n"):
                self.remarks.append(CUT(path=shown))

    def position(self, number: int) -> tuple[str, int]:
        """The name of the file, and the line in it, of a line of all files; lines count from 1."""
        index, line = position(self.begins, number)
        return self.files[index][1], line


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
        head = next(blocks_of(path), b"")
    except DAMAGES as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ImportProblemError(UNREADABLE(path=shown, reason=reason)) from None
    must_be_log_text(Path(shown), head)
    return head


def blocks_of(path: Path) -> Iterator[bytes]:
    """Blocks of whole lines, unpacked. Raises an error of DAMAGES at a damaged place."""
    opener: Callable[[Path], Any] = unpacker(path) or (lambda file: file.open("rb"))
    with opener(path) as file:
        for number, block in enumerate(blocks(cast("BinaryIO", _Parts(file)), BLOCK_BYTES // 8)):
            # a file that begins with zeros is no text; zeros behind text are a hole
            if not number or block[0] or block != bytes(len(block)):
                yield block


def beginning(path: Path) -> Iterator[str]:
    """Lines up to the end or a damaged place."""
    try:
        yield from text_lines(blocks_of(path))
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
