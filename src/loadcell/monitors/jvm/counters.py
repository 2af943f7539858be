"""Values of a JVM at one instant by its performance counters, and rows of their increases.

Shares, and the sums of counters, follow the expressions of `jstat_options` in OpenJDK.
"""

from __future__ import annotations

from collections.abc import Collection
from operator import sub
from typing import Any, Final

from loadcell.linux.hsperfdata import PerfDataFile
from loadcell.model.jvm_samples import JSTAT_COLUMNS, TABLE
from loadcell.model.panels import SampleTable
from loadcell.monitors.base import Row

#: Spaces by the name of their columns; metaspace is none of the heap.
_SPACES: Final = {
    "survivor0": "sun.gc.generation.0.space.1",
    "survivor1": "sun.gc.generation.0.space.2",
    "eden": "sun.gc.generation.0.space.0",
    "old": "sun.gc.generation.1.space.0",
    "metaspace": "sun.gc.metaspace",
    "class_space": "sun.gc.compressedclassspace",
}
_HEAP_SPACES: Final = 4
#: Sizes as they are: with the columns of jstat -gccapacity.
_SIZES: Final = {
    "young_capacity_min_bytes": "sun.gc.generation.0.minCapacity",
    "young_capacity_max_bytes": "sun.gc.generation.0.maxCapacity",
    "young_capacity_bytes": "sun.gc.generation.0.capacity",
    "survivor0_capacity_bytes": "sun.gc.generation.0.space.1.capacity",
    "survivor1_capacity_bytes": "sun.gc.generation.0.space.2.capacity",
    "eden_capacity_bytes": "sun.gc.generation.0.space.0.capacity",
    "old_capacity_min_bytes": "sun.gc.generation.1.minCapacity",
    "old_capacity_max_bytes": "sun.gc.generation.1.maxCapacity",
    "old_generation_capacity_bytes": "sun.gc.generation.1.capacity",
    "old_capacity_bytes": "sun.gc.generation.1.space.0.capacity",
    "metaspace_capacity_min_bytes": "sun.gc.metaspace.minCapacity",
    "metaspace_capacity_max_bytes": "sun.gc.metaspace.maxCapacity",
    "metaspace_capacity_bytes": "sun.gc.metaspace.capacity",
    "class_space_capacity_min_bytes": "sun.gc.compressedclassspace.minCapacity",
    "class_space_capacity_max_bytes": "sun.gc.compressedclassspace.maxCapacity",
    "class_space_capacity_bytes": "sun.gc.compressedclassspace.capacity",
    "threads": "java.threads.live",
    "daemon_threads": "java.threads.daemon",
}
#: Running counters, of which rows have increases.
_COUNTS: Final = {
    "young_gcs": "sun.gc.collector.0.invocations",
    "full_gcs": "sun.gc.collector.1.invocations",
    "concurrent_gcs": "sun.gc.collector.2.invocations",
    "safepoints": "sun.rt.safepoints",
    "threads_started": "java.threads.started",
}
#: Running counters of time in ticks of the JVM's clock.
_TIMES: Final = {
    "young_gc_ms": "sun.gc.collector.0.time",
    "full_gc_ms": "sun.gc.collector.1.time",
    "concurrent_gc_ms": "sun.gc.collector.2.time",
    "safepoint_ms": "sun.rt.safepointTime",
    "safepoint_sync_ms": "sun.rt.safepointSyncTime",
}
#: Columns of rows with increases, which may be added up.
INCREASES: Final = frozenset({*_COUNTS, *_TIMES, "classes_loaded", "classes_unloaded"})
_CLASSES: Final = (
    "java.cls.loadedClasses",
    "java.cls.sharedLoadedClasses",
    "java.cls.unloadedClasses",
    "java.cls.sharedUnloadedClasses",
)
_FREQUENCY: Final = "sun.os.hrt.frequency"
_NUMBERS: Final = (
    *(f"{space}.{value}" for space in _SPACES.values() for value in ("used", "capacity")),
    *_CLASSES,
    _FREQUENCY,
    *_SIZES.values(),
    *_COUNTS.values(),
    *_TIMES.values(),
)
_TEXTS: Final = ("sun.gc.lastCause", "sun.gc.cause")
_SPACES_END: Final = 2 * len(_SPACES)
_CLASSES_END: Final = _SPACES_END + len(_CLASSES)
_SIZES_END: Final = _CLASSES_END + 1 + len(_SIZES)
_HEAP_END: Final = 2 * _HEAP_SPACES
#: Order of the values that change in each row.
_CHANGING: Final = (
    *(f"{space}_percent" for space in _SPACES),
    *_COUNTS,
    *_TIMES,
    "heap_used_bytes",
    "heap_capacity_bytes",
    "metaspace_used_bytes",
    "classes",
    "classes_loaded",
    "classes_unloaded",
    "last_gc_cause",
    "gc_cause",
    "off_heap_bytes",
    "rss_bytes",
    "elapsed_s",
)

JVM: Final = SampleTable(
    TABLE,
    (
        "pid", "elapsed_s",
        *(column for column in JSTAT_COLUMNS if not column.startswith("permanent_")),
        "safepoints", "safepoint_ms", "safepoint_sync_ms", "last_gc_cause", "gc_cause",
        "threads", "daemon_threads", "threads_started", "classes", "classes_loaded", "classes_unloaded",
        "rss_bytes", "off_heap_bytes",
        *(column for column in _SIZES if column not in ("threads", "daemon_threads")),
    ), text=frozenset({"last_gc_cause", "gc_cause"}),
)  # fmt: skip


def open_counters(path: str, owners: Collection[int]) -> PerfDataFile:
    """The counters of the monitor, from a file of one of these users. Raises OSError."""
    return PerfDataFile(path, owners, _NUMBERS, _TEXTS)


def are_complete(reading: tuple[Any, ...]) -> bool:
    """True if a reading has what every HotSpot JVM has."""
    return None not in reading[_SPACES_END : _CLASSES_END + 1] and reading[_CLASSES_END] > 0


class Rows:
    """Rows of one JVM: sizes and shares of a reading, and increases since the one before, both complete.

    They are made beside the load: whole slices instead of single values, and a copy of sizes that did not
    change, take half the time.
    """

    def __init__(self, file: PerfDataFile, pid: int) -> None:
        self._file = file
        self._sizes: tuple[Any, ...] = ()
        self._base: Row = {"pid": pid}

    def row(self, before: tuple[Any, ...], now: tuple[Any, ...], rss_bytes: int, elapsed_s: float) -> Row:
        """Memory beside the heap is what is resident beyond heap and metaspace; None while these are larger,
        as not all of their pages are in use yet.
        """
        if (sizes := now[_CLASSES_END + 1 : _SIZES_END]) != self._sizes:
            self._sizes = sizes
            self._base.update(zip(_SIZES, sizes, strict=True))
        spaces = now[:_SPACES_END]
        loaded, shared, unloaded, shared_unloaded, frequency = now[_SPACES_END : _CLASSES_END + 1]
        loaded_before, shared_before, unloaded_before, shared_unloaded_before = before[
            _SPACES_END:_CLASSES_END
        ]
        ms_per_tick = 1e3 / frequency
        increases = _increases(before[_SIZES_END:-2], now[_SIZES_END:-2])
        heap_bytes = _sum(spaces[1:_HEAP_END:2])
        off_heap_bytes = rss_bytes - heap_bytes - (spaces[_HEAP_END + 1] or 0)
        values = (
            *[
                100 * used / size if size else None
                for used, size in zip(spaces[::2], spaces[1::2], strict=True)
            ],
            *increases[: len(_COUNTS)],
            *[None if ticks is None else ticks * ms_per_tick for ticks in increases[len(_COUNTS) :]],
            _sum(spaces[:_HEAP_END:2]),
            heap_bytes,
            spaces[_HEAP_END],
            loaded + shared - unloaded - shared_unloaded,
            loaded + shared - loaded_before - shared_before,
            unloaded + shared_unloaded - unloaded_before - shared_unloaded_before,
            self._file.text(now[-2]),
            self._file.text(now[-1]),
            off_heap_bytes if off_heap_bytes >= 0 else None,
            rss_bytes,
            elapsed_s,
        )
        row = self._base.copy()
        row.update(zip(_CHANGING, values, strict=True))
        return row


def _increases(before: tuple[Any, ...], now: tuple[Any, ...]) -> list[Any]:
    try:
        return list(map(sub, now, before))
    except TypeError:  # a collector that the JVM does not have
        pairs = zip(now, before, strict=True)
        return [None if new is None or old is None else new - old for new, old in pairs]


def _sum(sizes: tuple[Any, ...]) -> int:
    try:
        return int(sum(sizes))
    except TypeError:  # a space that the collector does not have
        return sum(filter(None, sizes))
