"""Memory of a JVM with a sharded store by the settings of a treatment: heap, caches, direct memory."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from loadcell.analysis.treatments import Treatment
from loadcell.model.json import JsonObject, JsonValue
from loadcell.model.jvm_caches import (
    CACHE_BYTES,
    CACHE_PERCENT,
    OFF_HEAP_BYTES,
    OFF_HEAP_SHARE,
    SHARDS,
    cache_share,
    natural_number,
    off_heap_bytes,
    shards_of,
)
from loadcell.model.message import Labels
from loadcell.plan.problems import SettingError
from loadcell.plan.units import Size

#: The flag for the size of the young generation in proportion to the other one.
NEW_RATIO = "NewRatio"
_FLAGS = "flags."
#: Names and values of flags that are sizes.
_SIZE_NAME: Final = re.compile(r"Size$")
_SIZE: Final = re.compile(r"\d+[kKmMgGtT]")


@dataclass(frozen=True)
class JvmMemory:
    """Memory of one treatment. Caches are those of all shards together; None for what is not set."""

    heap_bytes: int
    shards: int
    young_share: Fraction | None
    cache_share: Fraction | None
    off_heap_bytes: int | None
    direct_bytes: int | None

    @property
    def outside_bytes(self) -> int:
        """Memory outside the heap: direct memory, and the caches, which are no part of it."""
        return (self.direct_bytes or 0) + (self.off_heap_bytes or 0)


@dataclass(frozen=True)
class JvmSettings:
    """Options of the target `jvm` by which a treatment was run."""

    options: JsonObject
    properties: JsonObject = field(default_factory=dict)
    flags: JsonObject = field(default_factory=dict)

    @property
    def memory(self) -> JvmMemory | None:
        """The memory; None without a size of the heap."""
        heap = _size(self.options.get("heap"))
        if not heap:
            return None
        return JvmMemory(
            heap,
            shards_of(self.properties),
            self._young_share(heap),
            cache_share(self.properties, heap),
            off_heap_bytes(self.properties, heap),
            _size(self.options.get("direct")),
        )

    def _young_share(self, heap: int) -> Fraction | None:
        if (young := _size(self.options.get("young"))) is not None:
            return Fraction(young, heap)
        ratio = natural_number(self.flags.get(NEW_RATIO))
        return None if ratio is None else Fraction(1, 1 + ratio)


def settings_of(treatment: Treatment) -> JvmSettings | None:
    """Settings of a treatment's JVM; None for another target."""
    options = _object(_object(treatment.described.settings.get("target")).get("jvm"))
    if not options:
        return None
    return JvmSettings(options, _object(options.get("properties")), _object(options.get("flags")))


#: Settings by their path below `target.jvm`, with their values.
Values = tuple[tuple[str, JsonValue], ...]


#: What a factor must change to test a term; None where the term is not set.
Coefficient = Fraction | int | Values | None


@dataclass(frozen=True)
class TermKind:
    """A term of a sizing. `read` has the settings of a treatment that decide it; empty where none is set.
    Levels whose settings differ test the term only if their coefficients differ, too. `needed` has settings
    of another part of the target, without which a level may not start. `lasts` is false for a level that a
    longer load must break, however the trials went.
    """

    name: str
    read: Callable[[JvmSettings], Values]
    coefficient: Callable[[JvmSettings], Coefficient]
    needed: Callable[[JvmSettings], Values] = lambda _: ()
    lasts: Callable[[JvmSettings], bool] = lambda _: True


def is_size_flag(path: str, value: JsonValue) -> bool:
    """True for a flag whose value is a size: it fits the heap that it was tested with."""
    return path.startswith(_FLAGS) and bool(_SIZE_NAME.search(path) or _SIZE.fullmatch(str(value).strip()))


def bare(path: str) -> str:
    """The name of a flag without its section."""
    return path.removeprefix(_FLAGS)


def flags_of(values: Values) -> JsonObject:
    """The flags among settings, by name."""
    return {bare(path): value for path, value in values if path.startswith(_FLAGS)}


def _option(name: str) -> Callable[[JvmSettings], Values]:
    return lambda settings: _present((name, settings.options.get(name)))


def _properties(*names: str) -> Callable[[JvmSettings], Values]:
    return lambda settings: _present(
        *((f"properties.{name}", settings.properties.get(name)) for name in names)
    )


def _caches(*names: str) -> Callable[[JvmSettings], Values]:
    """Properties of caches, each of a shard. Their number counts only where one of them is set."""
    read, all_of_them = _properties(*names), _properties(*names, SHARDS)
    return lambda settings: all_of_them(settings) if read(settings) else ()


def _young(settings: JvmSettings) -> Values:
    ratio = (f"{_FLAGS}{NEW_RATIO}", settings.flags.get(NEW_RATIO))
    return _present(("young", settings.options.get("young")), ratio)


def _collector(settings: JvmSettings) -> Values:
    flags = ((f"{_FLAGS}{name}", value) for name, value in settings.flags.items() if name != NEW_RATIO)
    return _present(("collector", settings.options.get("collector")), *flags)


def _present(*values: tuple[str, JsonValue]) -> Values:
    return tuple((path, value) for path, value in values if value is not None)


def caches_fit(share: Fraction | None) -> bool:
    """False for caches in the heap that together leave no room in it, once they are full."""
    return share is None or share < 1


def _caches_fit(settings: JvmSettings) -> bool:
    return settings.memory is None or caches_fit(settings.memory.cache_share)


def _memory(read: Callable[[JvmMemory], Fraction | int | None]) -> Callable[[JvmSettings], Coefficient]:
    return lambda settings: None if settings.memory is None else read(settings.memory)


HEAP = TermKind("heap", _option("heap"), _memory(lambda memory: memory.heap_bytes))
YOUNG = TermKind("young", _young, _memory(lambda memory: memory.young_share))
CACHE = TermKind(
    "cache",
    _caches(CACHE_PERCENT, CACHE_BYTES),
    _memory(lambda memory: memory.cache_share),
    lasts=_caches_fit,
)
OFF_HEAP = TermKind(
    "off-heap", _caches(OFF_HEAP_SHARE, OFF_HEAP_BYTES), _memory(lambda memory: memory.off_heap_bytes)
)
DIRECT = TermKind("direct", _option("direct"), _memory(lambda memory: memory.direct_bytes))
#: A level without a collector or a flag has the JVM's own, and is a level.
COLLECTOR = TermKind("collector", _collector, _collector, _option("java"))
VERSION = TermKind("version", _option("version"), lambda settings: _option("version")(settings) or None)
KINDS = (HEAP, YOUNG, CACHE, OFF_HEAP, DIRECT, COLLECTOR, VERSION)
TERM_NAMES = Labels("sizing.term", tuple(kind.name for kind in KINDS))


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _size(value: JsonValue) -> int | None:
    try:
        return int(Size.read(value)) if isinstance(value, str) else None
    except SettingError:
        return None
