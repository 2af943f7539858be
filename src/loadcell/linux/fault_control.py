"""Control file of the library that causes faults in the processes which load it (`engine/python/preload`).

The processes map the file, so that a fault begins and ends for all of them by one write. Layout: `control.h`.
A fault's fields are written while it is not active, and `active` last.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from loadcell.linux import procfs

#: Variable of the processes with the path of the file.
VARIABLE = "LOADCELL_FAULT_CONTROL"
#: Longest path of a directory whose files fail, in bytes.
MOST_DIRECTORY_BYTES = 1023

#: Parts of the file, one for each kind of fault.
Part = Literal["clock", "writes", "flushes"]

_MAGIC = 0x31746C75616663
_FILE_BYTES = 4096
_WORD = struct.Struct("=q")
_OFFSETS: dict[Part, int] = {"clock": 64, "writes": 512, "flushes": 2048}
#: Numbers of words of a storage fault: its counts.
_CALLS, _FAILED = 4, 5
#: Number of the word of the clock that is 1 once a process has read the shifted time.
_READ = 4
#: A share of 1 among the random numbers of 32 bits that decide whether a call fails.
_ALWAYS = 1 << 32


@dataclass(frozen=True)
class Counts:
    """Calls on files of the directory while the fault was active, and those that failed."""

    calls: int
    failed: int


class FaultControl:
    """A control file. Methods raise OSError, ValueError for a file that is none."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self) -> None:
        """Make the file, without an active fault, for this user alone."""
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            os.fchmod(descriptor, 0o600)
            os.write(descriptor, _WORD.pack(_MAGIC).ljust(_FILE_BYTES, b"\0"))
        finally:
            os.close(descriptor)

    def is_mapped_by(self, pid: int) -> bool:
        """True if a process has loaded the library with this file."""
        name = f" {self.path.resolve()}"
        maps = procfs.text(procfs.ROOT / "proc" / str(pid) / "maps")
        return any(line.endswith(name) for line in maps.splitlines())

    def shift_clock(self, shift_ns: int, start_ns: int = 0, over_ns: int = 0) -> None:
        """Shift CLOCK_REALTIME of the processes: at once, or evenly within `over_ns` from `start_ns`."""
        self._begin("clock", (shift_ns, start_ns, over_ns, 0))

    def fail_calls(
        self, part: Literal["writes", "flushes"], directory: Path, error: int, share: float
    ) -> None:
        """Fail a share of the calls on files at or below an absolute directory without links in its path."""
        name = os.fsencode(directory)
        if len(name) > MOST_DIRECTORY_BYTES:
            raise ValueError(str(directory))
        self._begin(part, (error, round(share * _ALWAYS), len(name), 0, 0), name)

    def end(self, part: Part) -> None:
        """End a fault; on return no call that begins is affected. Does nothing if the file is gone."""
        try:
            with self._open() as file:
                _write(file, _OFFSETS[part], 0)
        except FileNotFoundError:
            return

    def is_active(self, part: Part) -> bool:
        """True if a fault is active; False if the file is gone."""
        try:
            with self._open() as file:
                return _read(file, _OFFSETS[part]) != 0
        except FileNotFoundError:
            return False

    def counts(self, part: Literal["writes", "flushes"]) -> Counts:
        """Counts of the present fault or the last one."""
        with self._open() as file:
            words = _OFFSETS[part]
            return Counts(_read(file, words + _CALLS * _WORD.size), _read(file, words + _FAILED * _WORD.size))

    def clock_was_read(self) -> bool:
        """True if a process has read the clock that is shifted, or was last."""
        with self._open() as file:
            return _read(file, _OFFSETS["clock"] + _READ * _WORD.size) != 0

    def _begin(self, part: Part, fields: Sequence[int], directory: bytes = b"") -> None:
        """Write the fields, then `active`: between two writes to a file the kernel has a memory barrier."""
        with self._open() as file:
            _write(file, _OFFSETS[part], 0)
            content = b"".join(map(_WORD.pack, fields)) + directory
            os.pwrite(file, content, _OFFSETS[part] + _WORD.size)
            _write(file, _OFFSETS[part], 1)

    @contextmanager
    def _open(self) -> Iterator[int]:
        file = os.open(self.path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            if _read(file, 0) != _MAGIC:
                raise ValueError(str(self.path))
            yield file
        finally:
            os.close(file)


def _read(file: int, offset: int) -> int:
    content = os.pread(file, _WORD.size, offset)
    return int(_WORD.unpack(content)[0]) if len(content) == _WORD.size else 0


def _write(file: int, offset: int, value: int) -> None:
    os.pwrite(file, _WORD.pack(value), offset)
