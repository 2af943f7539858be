"""Memory modules by the firmware's table (DMTF DSP0134, SMBIOS, structure type 17, Memory Device)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from loadcell.linux.time_limits import NO_FILE, NO_MODULE, NO_TABLE, ONLY_ROOT, UnavailableError

_TABLE: Final = "sys/firmware/dmi/tables/DMI"
_MEMORY_DEVICE, _END = 17, 127
#: Kinds of memory by their number.
_KINDS: Final = {
    0x12: "DDR",
    0x13: "DDR2",
    0x18: "DDR3",
    0x1A: "DDR4",
    0x1B: "LPDDR",
    0x1C: "LPDDR2",
    0x1D: "LPDDR3",
    0x1E: "LPDDR4",
    0x20: "HBM",
    0x21: "HBM2",
    0x22: "DDR5",
    0x23: "LPDDR5",
    0x24: "HBM3",
}
_UNKNOWN_SIZE, _EXTENDED_SIZE, _IN_KIB = 0xFFFF, 0x7FFF, 0x8000
_UNKNOWN_WIDTHS: Final = (0, 0xFFFF)


@dataclass(frozen=True, slots=True)
class MemoryModule:
    """A module: its place, size, and rated and configured speed (MT/s).

    `width_bits` is that of its data where the firmware states one, else its total width.
    """

    locator: str | None
    bank: str | None
    size_bytes: int
    kind: str | None
    manufacturer: str | None
    part: str | None
    speed_mts: int | None
    configured_mts: int | None
    width_bits: int | None


def modules(root: Path) -> list[MemoryModule]:
    """All modules; empty slots are left out. Raises UnavailableError, OSError."""
    table = root / _TABLE
    if not (root / "sys/firmware").exists():
        raise UnavailableError(NO_FILE(file="/sys/firmware"))
    if not table.exists():
        raise UnavailableError(NO_TABLE())
    try:
        data = table.read_bytes()
    except PermissionError as error:
        raise UnavailableError(ONLY_ROOT(file=f"/{_TABLE}")) from error
    memory_modules = [
        module
        for kind, body, names in _structures(data)
        if kind == _MEMORY_DEVICE and (module := _module(body, names))
    ]
    if not memory_modules:
        raise UnavailableError(NO_MODULE())
    return memory_modules


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


def _module(body: bytes, names: list[str]) -> MemoryModule | None:
    """None for an empty slot."""
    if len(body) < 0x17:
        return None
    total_bits, data_bits, size = struct.unpack_from("<3H", body, 0x08)
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

    return MemoryModule(
        locator=named(0x10),
        bank=named(0x11),
        size_bytes=size_bytes,
        kind=_KINDS.get(body[0x12]),
        manufacturer=named(0x17),
        part=named(0x1A),
        speed_mts=speed or None,
        configured_mts=configured or None,
        width_bits=next((bits for bits in (data_bits, total_bits) if bits not in _UNKNOWN_WIDTHS), None),
    )
