"""Hash of a file name that chooses its subvolume, as `gf_dm_hashfn` of GlusterFS computes it: a construction
of Davies and Meyer on the cipher TEA.
"""

from __future__ import annotations

import re
import struct
from typing import Final

_MASK: Final = 0xFFFFFFFF
_DELTA: Final = 0x9E3779B9
_FULL_ROUNDS, _PART_ROUNDS = 10, 6
#: Temporary names of rsync count as the final name (cluster.rsync-hash-regex).
_RSYNC: Final = re.compile(rb"\.(.+)\.[^.]+")
_LAYOUT: Final = struct.Struct(">IIII")


def name_hash(name: bytes) -> int:
    """The hash of a name, from 0 to 2**32 - 1."""
    match = _RSYNC.fullmatch(name)
    text = match[1] if match else name
    state = (0x9464A485, 0x542E1A94)
    pad = int.from_bytes(bytes([len(text) & 0xFF]) * 4, "little")
    words = list(struct.unpack_from(f"<{len(text) // 4}I", text))
    while len(words) >= 4 and len(text) // 16 > 0:
        state = _round(state, words[:4], _PART_ROUNDS)
        words, text = words[4:], text[16:]
    remainder = text[len(words) * 4 :]
    if len(words) < 4:
        last = pad
        for byte in remainder:
            # a character is signed
            last = (last << 8 & _MASK) | ((byte - 256 if byte > 127 else byte) & _MASK)
        words += [last, pad, pad, pad]
    first, second = _round(state, words[:4], _FULL_ROUNDS)
    return first ^ second


def _round(state: tuple[int, int], words: list[int], count: int) -> tuple[int, int]:
    first, second = state
    total = 0
    for _ in range(count):
        total = (total + _DELTA) & _MASK
        first += ((second << 4) + words[0]) ^ (second + total) ^ ((second >> 5) + words[1])
        first &= _MASK
        second += ((first << 4) + words[2]) ^ (first + total) ^ ((first >> 5) + words[3])
        second &= _MASK
    return (state[0] + first) & _MASK, (state[1] + second) & _MASK


def layout(attribute: bytes) -> tuple[int, int] | None:
    """Smallest and largest hash of a directory on a brick (`trusted.glusterfs.dht`); None for no range."""
    if len(attribute) != _LAYOUT.size:
        return None
    _, _, first, last = _LAYOUT.unpack(attribute)
    return (first, last) if last else None
