"""Shared memory that a killed PostgreSQL leaves behind: a System V segment and files in /dev/shm.

An orderly server removes both, and so does the next start on the same directory. A directory of loadcell's
that is removed after a kill has no next start. The structures are those of PostgreSQL's
`storage/pg_shmem.h` (PGShmemHeader) and `storage/ipc/dsm.c` (dsm_control_header, dsm_control_item).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
import time
from dataclasses import dataclass
from pathlib import Path

SHARED = Path("/dev/shm")  # noqa: S108 - where shm_open(3) puts its files
_SEGMENTS = Path("/proc/sysvipc/shm")

_SHMEM_MAGIC = 679834894
_DSM_MAGIC = 0x9A503D32
_IPC_RMID, _SHM_RDONLY = 0, 0o10000
#: magic, process id of the creator, two sizes, number of the control file; then pointer, device and inode.
_HEADER = struct.Struct("=iiQQI4x")
_HEADER_BYTES = 56
_ITEMS_AT = 16
#: Bytes of an item: version 14 added two numbers of pages.
_ITEM_BYTES, _ITEM_BYTES_BEFORE_14 = 40, 24
#: How long processes of a killed server may take to let go of it.
_LEAVE_LIMIT_S = 2.0
_POLL_S = 0.02


@dataclass(frozen=True)
class _Segment:
    """A line of /proc/sysvipc/shm."""

    number: int
    size: int
    attached: int
    owner: int


def release(data: Path) -> None:
    """Remove the shared memory of killed servers on the directory, unless a process still uses it.

    A segment names the directory by its inode: neither `postmaster.pid` nor anything else in it is needed.
    """
    try:
        stat = data.stat()
    except OSError:
        return
    deadline = time.monotonic() + _LEAVE_LIMIT_S
    while segments := [segment for segment in _segments() if _is_of(segment, stat)]:
        for segment in segments:
            if not segment.attached:
                _remove(segment)
        if all(not segment.attached for segment in segments) or time.monotonic() > deadline:
            return
        time.sleep(_POLL_S)


def _segments() -> list[_Segment]:
    try:
        rows = [line.split() for line in _SEGMENTS.read_text().splitlines()[1:]]
    except OSError:
        return []
    # key, number, permissions, size, creator, last user, attached processes, owner
    return [_Segment(int(row[1]), int(row[3]), int(row[6]), int(row[7])) for row in rows]


def _is_of(segment: _Segment, stat: os.stat_result) -> bool:
    """True if the segment is that of a server on the directory."""
    if segment.owner != stat.st_uid or segment.size < _HEADER_BYTES:
        return False
    header = _contents(segment.number)
    directory = struct.pack("=QQ", stat.st_dev, stat.st_ino)
    return header[:4] == struct.pack("=i", _SHMEM_MAGIC) and directory in header


def _remove(segment: _Segment) -> None:
    header = _contents(segment.number)
    if len(header) < _HEADER_BYTES:
        return
    *_, control = _HEADER.unpack(header[: _HEADER.size])
    for number in _files(control):
        with contextlib.suppress(OSError):
            _path(number).unlink()
    ctypes.CDLL(None).shmctl(segment.number, _IPC_RMID, None)


def _contents(segment: int) -> bytes:
    """The first bytes of a segment; none if it cannot be attached."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    address = libc.shmat(segment, None, _SHM_RDONLY)
    if address is None or address == ctypes.c_void_p(-1).value:
        return b""
    try:
        return ctypes.string_at(address, _HEADER_BYTES)
    finally:
        libc.shmdt(ctypes.c_void_p(address))


def _files(control: int) -> list[int]:
    """Numbers of the files in /dev/shm that a control file lists, and its own as the last."""
    if not control:
        return []
    try:
        content = _path(control).read_bytes()
    except OSError:
        return []
    magic, items = struct.unpack_from("=II", content.ljust(_ITEMS_AT, b"\0"))
    if magic != _DSM_MAGIC:
        return []
    # The control file has room for a number of items that its length tells the size of.
    most = struct.unpack_from("=I", content, 8)[0]
    item_bytes = _ITEM_BYTES if len(content) >= _ITEMS_AT + most * _ITEM_BYTES else _ITEM_BYTES_BEFORE_14
    starts = range(_ITEMS_AT, min(_ITEMS_AT + items * item_bytes, len(content) - 8), item_bytes)
    listed = (struct.unpack_from("=II", content, start) for start in starts)
    return [*(number for number, uses in listed if uses), control]


def _path(number: int) -> Path:
    return SHARED / f"PostgreSQL.{number}"
