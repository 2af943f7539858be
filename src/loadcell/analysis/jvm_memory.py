"""Memory of a JVM with a sharded store by the settings of a treatment: heap, caches, direct memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from loadcell.analysis.treatments import Treatment
from loadcell.model.json import JsonObject, JsonValue
from loadcell.model.message import Labels
from loadcell.plan.problems import SettingError
from loadcell.plan.units import Size

#: The flag for the size of the young generation in proportion to the other one.
NEW_RATIO = "NewRatio"
SHARDS = "shards"
CACHE_PERCENT, CACHE_BYTES = "je.maxMemoryPercent", "je.maxMemory"
OFF_HEAP_SHARE, OFF_HEAP_BYTES = "offHeap", "je.maxOffHeapMemory"


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
        """Memory outside the heap: direct memory, which contains the caches, or these alone."""
        return max(self.direct_bytes or 0, self.off_heap_bytes or 0)


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
        shards = max(1, _integer(self.properties.get(SHARDS)) or 1)
        return JvmMemory(
            heap,
            shards,
            self._young_share(heap),
            self._cache_share(heap, shards),
            self._off_heap_bytes(heap, shards),
            _size(self.options.get("direct")),
        )

    def _young_share(self, heap: int) -> Fraction | None:
        if (young := _size(self.options.get("young"))) is not None:
            return Fraction(young, heap)
        ratio = _integer(self.flags.get(NEW_RATIO))
        return None if ratio is None else Fraction(1, 1 + ratio)

    def _cache_share(self, heap: int, shards: int) -> Fraction | None:
        """As in Berkeley DB: a size in bytes prevails over a share of the heap."""
        if size := _integer(self.properties.get(CACHE_BYTES)):
            return Fraction(size * shards, heap)
        percent = _integer(self.properties.get(CACHE_PERCENT))
        return None if percent is None else Fraction(percent * shards, 100)

    def _off_heap_bytes(self, heap: int, shards: int) -> int | None:
        """As in the service: a size for each shard prevails over a share of the heap for all."""
        if (size := _integer(self.properties.get(OFF_HEAP_BYTES))) is not None:
            return size * shards
        share = str(self.properties.get(OFF_HEAP_SHARE, ""))
        percent = _integer(share.removesuffix("%"))
        return None if percent is None else heap * percent // 100


def settings_of(treatment: Treatment) -> JvmSettings | None:
    """Settings of a treatment's JVM; None for another target."""
    options = _object(_object(treatment.described.settings.get("target")).get("jvm"))
    if not options:
        return None
    return JvmSettings(options, _object(options.get("properties")), _object(options.get("flags")))


#: Settings by their path below `target.jvm`, with their values.
Values = tuple[tuple[str, JsonValue], ...]


@dataclass(frozen=True)
class TermKind:
    """A term of a sizing. `read` has the settings of a treatment that decide it; empty where none is set."""

    name: str
    read: Callable[[JvmSettings], Values]


def _option(name: str) -> Callable[[JvmSettings], Values]:
    return lambda settings: _present((name, settings.options.get(name)))


def _property(*names: str) -> Callable[[JvmSettings], Values]:
    return lambda settings: _present(
        *((f"properties.{name}", settings.properties.get(name)) for name in names)
    )


def _young(settings: JvmSettings) -> Values:
    ratio = (f"flags.{NEW_RATIO}", settings.flags.get(NEW_RATIO))
    return _present(("young", settings.options.get("young")), ratio)


def _collector(settings: JvmSettings) -> Values:
    flags = ((f"flags.{name}", value) for name, value in settings.flags.items() if name != NEW_RATIO)
    return _present(("collector", settings.options.get("collector")), *flags)


def _present(*values: tuple[str, JsonValue]) -> Values:
    return tuple((path, value) for path, value in values if value is not None)


HEAP = TermKind("heap", _option("heap"))
YOUNG = TermKind("young", _young)
CACHE = TermKind("cache", _property(CACHE_PERCENT, CACHE_BYTES))
OFF_HEAP = TermKind("off-heap", _property(OFF_HEAP_SHARE, OFF_HEAP_BYTES))
DIRECT = TermKind("direct", _option("direct"))
COLLECTOR = TermKind("collector", _collector)
VERSION = TermKind("version", _option("version"))
KINDS = (HEAP, YOUNG, CACHE, OFF_HEAP, DIRECT, COLLECTOR, VERSION)
TERM_NAMES = Labels("sizing.term", tuple(kind.name for kind in KINDS))


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _size(value: JsonValue) -> int | None:
    try:
        return int(Size.read(value)) if isinstance(value, str) else None
    except SettingError:
        return None


def _integer(value: JsonValue) -> int | None:
    """A whole number of at least 0, also as text."""
    if isinstance(value, bool):
        return None
    text = str(value).strip()
    return int(text) if text.isascii() and text.isdigit() else None
