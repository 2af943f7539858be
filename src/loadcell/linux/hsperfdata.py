"""Performance counters of HotSpot JVMs, read from the file that the JVM maps (hsperfdata).

The format is that of `perfMemory.hpp` in OpenJDK, version 2.0: a header of 32 bytes, then entries, each with
a head of 20 bytes, a name and a value. A JVM adds entries and never moves one.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final

MAGIC: Final = b"\xca\xfe\xc0\xc0"
MAJOR: Final = 2
#: Behind the magic number: byte order (1: little-endian), major and minor version, `accessible`.
_BYTE_ORDER, _MAJOR, _MINOR, _ACCESSIBLE = 4, 5, 6, 7
_HEADER_BYTES: Final = 32
_ENTRY_BYTES: Final = 20
#: A file has 32 KiB by default (-XX:PerfDataMemorySize); more than this is none.
_MOST_BYTES: Final = 1 << 24
_LONG, _BYTE = ord("J"), ord("B")


class UnknownFormatError(Exception):
    """The file is not hsperfdata, or of another version; `version` is empty for the former."""

    def __init__(self, version: str = "") -> None:
        super().__init__(version)
        self.version = version


@dataclass(frozen=True, slots=True)
class Entry:
    """Place of a value in the file; `length` is 0 for a number of 64 bits, else that of a text."""

    offset: int
    length: int = 0


def entries(data: bytes) -> dict[str, Entry]:
    """Positions of all values by name. Raises UnknownFormatError; a damaged tail is left out."""
    order = _order(data)
    offset, count = struct.unpack_from(f"{order}ii", data, 24)
    results: dict[str, Entry] = {}
    for _ in range(count):
        if not _HEADER_BYTES <= offset <= len(data) - _ENTRY_BYTES:
            break
        length, name_at, vector, kind = struct.unpack_from(f"{order}iiiB", data, offset)
        (data_at,) = struct.unpack_from(f"{order}i", data, offset + 16)
        if length < _ENTRY_BYTES or offset + length > len(data) or not 0 < name_at < data_at < length:
            break
        name = data[offset + name_at : offset + data_at].split(b"\0", 1)[0].decode("utf-8", "replace")
        if kind == _LONG and vector == 0 and data_at + 8 <= length:
            results[name] = Entry(offset + data_at)
        elif kind == _BYTE and 0 < vector <= length - data_at:
            results[name] = Entry(offset + data_at, vector)
        offset += length
    return results


def _order(data: bytes) -> str:
    if len(data) < _HEADER_BYTES or data[:4] != MAGIC:
        raise UnknownFormatError
    if data[_MAJOR] != MAJOR:
        raise UnknownFormatError(f"{data[_MAJOR]}.{data[_MINOR]}")
    return "<" if data[_BYTE_ORDER] == 1 else ">"


def opened(path: str, owners: Collection[int]) -> int:
    """Descriptor of a regular file of one of these users. In /tmp anybody can leave a link, a FIFO, or a file
    with a false name. Raises OSError.
    """
    # a link in `map_files` is the kernel's
    follow = 0 if "/map_files/" in path else os.O_NOFOLLOW
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | follow)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_uid not in owners:
        os.close(descriptor)
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), path)
    return descriptor


class PerfDataFile:
    """Reads two or more chosen counters again and again, with one pread and cached places: some 5
    microseconds.

    Raises OSError if the file cannot be opened, or is of none of the users `owners`.
    """

    def __init__(
        self, path: str, owners: Collection[int], numbers: Sequence[str], texts: Sequence[str] = ()
    ) -> None:
        self._descriptor = opened(path, owners)
        self._numbers, self._texts = numbers, texts
        self._state = b""
        self._bytes = 0
        self._values = struct.Struct("")
        self._pick: Callable[[tuple[object, ...]], tuple[object, ...]] = tuple
        self._decoded: dict[bytes, str] = {}

    def read(self) -> tuple[Any, ...] | None:
        """Numbers and texts of this instant in the order in which they were asked for; of a name that the JVM
        does not have None.

        None while the JVM initialises the file. Raises UnknownFormatError, and OSError.
        """
        data = os.pread(self._descriptor, self._bytes, 0)
        # time of the last change of the entries, their place and number
        if data[16:_HEADER_BYTES] != self._state or not self._state:
            if not self._index():
                return None
            data = os.pread(self._descriptor, self._bytes, 0)
        if len(data) < self._bytes:
            raise UnknownFormatError
        return self._pick((*self._values.unpack_from(data), None))

    def text(self, value: bytes | None) -> str:
        """A text that `read` returned."""
        if value is None:
            return ""
        if (text := self._decoded.get(value)) is None:
            text = self._decoded[value] = value.split(b"\0", 1)[0].decode("utf-8", "replace")
        return text

    def close(self) -> None:
        os.close(self._descriptor)

    def _index(self) -> bool:
        """Find the places of the values; False while there are none."""
        data = os.pread(self._descriptor, _MOST_BYTES, 0)
        order = _order(data)
        if data[_ACCESSIBLE] != 1:
            return False
        places = entries(data)
        wanted = {
            name: entry
            for is_text, names in ((False, self._numbers), (True, self._texts))
            for name in names
            if (entry := places.get(name)) is not None and bool(entry.length) == is_text
        }
        layout, end = [order], 0
        positions: dict[str, int] = {}
        for name, entry in sorted(wanted.items(), key=lambda item: item[1].offset):
            layout.append(
                f"{entry.offset - end}x{entry.length}s" if entry.length else f"{entry.offset - end}xq"
            )
            end = entry.offset + (entry.length or 8)
            positions[name] = len(positions)
        self._values = struct.Struct("".join(layout))
        absent = len(positions)
        names = (*self._numbers, *self._texts)
        self._pick = itemgetter(*(positions.get(name, absent) for name in names))  # of two names or more
        self._bytes = max(_HEADER_BYTES, end)
        self._state = data[16:_HEADER_BYTES]
        return bool(wanted)
