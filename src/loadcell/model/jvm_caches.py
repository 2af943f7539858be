"""Caches of a sharded Berkeley DB on a JVM by its system properties.

Those outside the heap are allocated by Unsafe.allocateMemory, which is no part of direct memory:
-XX:MaxDirectMemorySize neither contains nor limits them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from loadcell.model.json import JsonValue

SHARDS = "shards"
CACHE_PERCENT, CACHE_BYTES = "je.maxMemoryPercent", "je.maxMemory"
OFF_HEAP_SHARE, OFF_HEAP_BYTES = "offHeap", "je.maxOffHeapMemory"
#: Up to this major version there are no caches outside the heap, and their properties end the service.
_LAST_WITHOUT_OFF_HEAP: Final = 5


def shards_of(properties: Mapping[str, JsonValue]) -> int:
    return max(1, natural_number(properties.get(SHARDS)) or 1)


def cache_share(properties: Mapping[str, JsonValue], heap: int) -> Fraction | None:
    """Share of the heap of all shards' caches; None where it is not set.

    As in Berkeley DB a size in bytes prevails over a share.
    """
    shards = shards_of(properties)
    if size := natural_number(properties.get(CACHE_BYTES)):
        return Fraction(size * shards, heap)
    percent = natural_number(properties.get(CACHE_PERCENT))
    return None if percent is None else Fraction(percent * shards, 100)


def off_heap_bytes(properties: Mapping[str, JsonValue], heap: int) -> int | None:
    """Size of all shards' caches outside the heap; None where it is not set.

    As in the service a size for each shard prevails over a share of the heap for all.
    """
    if (size := natural_number(properties.get(OFF_HEAP_BYTES))) is not None:
        return size * shards_of(properties)
    percent = natural_number(str(properties.get(OFF_HEAP_SHARE, "")).removesuffix("%"))
    return None if percent is None else heap * percent // 100


def has_off_heap(version: JsonValue) -> bool:
    """True if this version of Berkeley DB has caches outside the heap; the default one has."""
    major = re.match(r"\d+", str(version or ""))
    return major is None or int(major.group()) > _LAST_WITHOUT_OFF_HEAP


def natural_number(value: JsonValue) -> int | None:
    """A whole number of at least 0, also as text."""
    if isinstance(value, bool):
        return None
    text = str(value).strip()
    return int(text) if text.isascii() and text.isdigit() else None
