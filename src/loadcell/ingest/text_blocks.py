"""A text in blocks of whole lines, or line by line: memory is that of one block, however long the text and
its lines are.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

BLOCK_BYTES = 8 * 2**20
#: No tool prints longer lines; what is longer is no text, and its end is left out.
LONGEST_LINE = 2**16

#: Called with the bytes read, and the total.
Told = Callable[[int, int], object]


@dataclass(frozen=True)
class Output:
    """One output, in a file or in several that follow each other; whoever reads it raises OSError where one
    cannot be read.
    """

    files: Sequence[Path]
    told: Told | None = None

    def first_line(self) -> bytes:
        """The first line."""
        with self.files[0].open("rb") as file:
            return file.readline(LONGEST_LINE)

    def blocks(self) -> Iterator[bytes]:
        """The files' blocks, one file after the other."""
        read = 0
        for path in self.files:
            with path.open("rb") as file:
                for block in blocks(file):
                    yield block
                    read += len(block)
                    self.went(read)

    @cached_property
    def _total_bytes(self) -> int:
        return sum(path.stat().st_size for path in self.files)

    def went(self, read_bytes: int) -> None:
        """So much is read by now."""
        if self.told is not None:
            self.told(read_bytes, self._total_bytes)

    def lines(self) -> Iterator[str]:
        """Every line."""
        return lines(self.blocks())

    def on_event(self, event: str) -> None:
        """Pass on the engine's progress while it reads the files."""
        if self.told is not None:
            progress = json.loads(event)
            self.told(progress["read_bytes"], progress["total_bytes"])


def blocks(file: BinaryIO, size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Blocks that end where a line ends; the last one perhaps does not, and neither does one without any
    line's end.
    """
    remainder = b""
    while chunk := file.read(size):
        end = chunk.rfind(b"\n") + 1
        if end:
            yield remainder + chunk[:end] if remainder else chunk[:end]
            remainder = chunk[end:]
        elif len(remainder) + len(chunk) > size:
            yield remainder + chunk
            remainder = b""
        else:
            remainder += chunk
    if remainder:
        yield remainder


def decoded(block: bytes) -> str:
    """As text: UTF-8, else the encoding of Chinese locales, else with marks for what is neither."""
    for encoding in ("utf-8-sig", "gb18030"):
        try:
            return block.decode(encoding)
        except UnicodeDecodeError:
            continue
    return block.decode("utf-8", "replace")


def lines(parts: Iterable[bytes]) -> Iterator[str]:
    """Every line, with its end as `\\n` whatever it was."""
    for part in parts:
        for line in io.StringIO(decoded(part), newline=None):
            yield line if len(line) <= LONGEST_LINE else line[:LONGEST_LINE]
