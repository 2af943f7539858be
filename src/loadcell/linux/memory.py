"""Memory: how much, and the modules it consists of (SMBIOS 3.7, type 17: DMTF DSP0134)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from loadcell.linux.messages import NO_FILE, NO_MODULE, NO_TABLE, ONLY_ROOT
from loadcell.linux.procfs import read_small
from loadcell.linux.time_limits import UnavailableError

_TABLE = "sys/firmware/dmi/tables/DMI"
_MEMORY_DEVICE, _END = 17, 127
#: Kinds of memory by their number in a memory device's structure.
_KINDS = {0x18: "DDR3", 0x1A: "DDR4", 0x1B: "LPDDR", 0x1D: "LPDDR3", 0x1E: "LPDDR4", 0x20: "HBM", 0x21: "HBM2", 0x22: "DDR5", 0x23: "LPDDR5"}  # fmt: skip
_UNKNOWN_SIZE, _EXTENDED_SIZE, _IN_KIB = 0xFFFF, 0x7FFF, 0x8000


def total_bytes(root: Path) -> int | None:
    """Memory that the kernel manages."""
    return _meminfo(root, "MemTotal")


def swap_bytes(root: Path) -> int | None:
    """Swap of all kinds together."""
    return _meminfo(root, "SwapTotal")


def swap_used_bytes(root: Path) -> int | None:
    """Memory in use."""
    total, free = _meminfo(root, "SwapTotal"), _meminfo(root, "SwapFree")
    return None if total is None or free is None else total - free


def _meminfo(root: Path, key: str) -> int | None:
    for text in read_small(root / "proc/meminfo").splitlines():
        name, _, value = text.partition(":")
        if name == key:
            return int(value.split()[0]) * 1024
    return None


def dimms(root: Path) -> list[dict[str, Any]]:
    """Each module: where it is, its size, its rated and its configured speed (MT/s).

    Raises UnavailableError.
    """
    table = root / _TABLE
    if not (root / "sys/firmware").exists():
        raise UnavailableError(NO_FILE(file="/sys/firmware"))
    if not table.exists():
        raise UnavailableError(NO_TABLE())
    try:
        data = table.read_bytes()
    except PermissionError as error:
        raise UnavailableError(ONLY_ROOT(file=f"/{_TABLE}")) from error
    modules = [
        module
        for kind, body, names in _structures(data)
        if kind == _MEMORY_DEVICE and (module := _module(body, names))
    ]
    if not modules:
        raise UnavailableError(NO_MODULE())
    return modules


def _structures(data: bytes) -> Iterator[tuple[int, bytes, list[str]]]:
    """Type, formatted part and strings of each structure; ends where the table is no longer one."""
    at = 0
    while at + 4 <= len(data):
        kind, length = data[at], data[at + 1]
        end = data.find(b"\0\0", at + length)
        if length < 4 or kind == _END or end < 0:
            return
        names = [name.decode("latin-1").strip() for name in data[at + length : end].split(b"\0")]
        yield kind, data[at : at + length], names
        at = end + 2


def _module(body: bytes, names: list[str]) -> dict[str, Any] | None:
    """None for an empty slot."""
    if len(body) < 0x17:
        return None
    (size,) = struct.unpack_from("<H", body, 0x0C)
    (speed,) = struct.unpack_from("<H", body, 0x15)
    size_bytes = (size & ~_IN_KIB) * 2**10 if size & _IN_KIB else size * 2**20
    if size == _EXTENDED_SIZE and len(body) >= 0x20:
        size_bytes = (struct.unpack_from("<I", body, 0x1C)[0] & 0x7FFF_FFFF) * 2**20
    if size in (0, _UNKNOWN_SIZE):
        return None
    configured = struct.unpack_from("<H", body, 0x20)[0] if len(body) >= 0x22 else 0

    def named(offset: int) -> str | None:
        number = body[offset] if offset < len(body) else 0
        return names[number - 1] or None if 0 < number <= len(names) else None

    return {
        "locator": named(0x10),
        "size_bytes": size_bytes,
        "kind": _KINDS.get(body[0x12]),
        "manufacturer": named(0x17),
        "part": named(0x1A),
        "speed_mts": speed or None,
        "configured_mts": configured or None,
    }
