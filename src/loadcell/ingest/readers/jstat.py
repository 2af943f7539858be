"""jstat -gcutil, -gc and -gccause, of Java 6 to 25, with times (-t) or without."""

from __future__ import annotations

from collections.abc import Iterable

from loadcell.ingest.base import NotItsOutputError, Reading, Samples, TooManyError, Unread
from loadcell.ingest.printed_numbers import real
from loadcell.ingest.readers import Reader, by_line
from loadcell.model.jvm_samples import JSTAT_COLUMNS, TABLE
from loadcell.model.message import MessageCode

OUTPUT_JSTAT = MessageCode("output.jstat")

OUTPUT_JSTAT_TOO_SHORT = MessageCode("output.jstat.too-short")

NAME = "jstat"

#: Spaces by what jstat calls them: the share; used and capacity with -gc (KiB).
_SPACES = {
    "survivor0_percent": ("S0", "S0U", "S0C"),
    "survivor1_percent": ("S1", "S1U", "S1C"),
    "eden_percent": ("E", "EU", "EC"),
    "old_percent": ("O", "OU", "OC"),
    "metaspace_percent": ("M", "MU", "MC"),
    "class_space_percent": ("CCS", "CCSU", "CCSC"),
    # the permanent generation of Java 7 and before
    "permanent_percent": ("P", "PU", "PC"),
}
_HEAP = ("S0", "S1", "E", "O")
_COUNTERS = {
    "young_gcs": ("YGC", 1),
    "young_gc_ms": ("YGCT", 1e3),
    "full_gcs": ("FGC", 1),
    "full_gc_ms": ("FGCT", 1e3),
    "concurrent_gcs": ("CGC", 1),
    "concurrent_gc_ms": ("CGCT", 1e3),
}
_KIB = 1024
#: The usual interval, which counts where jstat printed no times.
INTERVAL_S = 1.0


def read(lines: Iterable[str], interval_s: float = INTERVAL_S) -> Reading:
    """Every line of values; the first sets the base of counters, and gives no row.

    Without times (-t) lines are `interval_s` apart.
    """
    samples = Samples(TABLE, f"{TABLE}.csv", "jstat", JSTAT_COLUMNS, absolute=False)
    unread, names = Unread(), []
    before: dict[str, float] = {}
    number, begun = 0, False
    for line in lines:
        words = line.split()
        if "YGC" in words and ("S0" in words or "S0C" in words):
            # The causes of collections are words, with blanks in them.
            names = [word for word in words if word not in ("LGCC", "GCC")]
            continue
        values = _values(names, words)
        if values is None:
            unread.add(line)
            continue
        at_s = values["Timestamp"] if "Timestamp" in values else number * interval_s
        number += 1
        if "Timestamp" not in values:
            samples.assumed_interval_s = interval_s
        try:
            if begun:
                _put(samples, at_s, values, before)
        except (ValueError, TooManyError):
            unread.add(line)
        before, begun = values, True
    if not names:
        raise NotItsOutputError(OUTPUT_JSTAT())
    if not len(samples):
        raise NotItsOutputError(OUTPUT_JSTAT_TOO_SHORT())
    return unread.reading((), samples)


def _values(names: list[str], words: list[str]) -> dict[str, float] | None:
    """Values by name; `-` and NaN are left out. None if the line has no values."""
    if not names or len(words) < len(names):
        return None
    values = {}
    for name, word in zip(names, words, strict=False):
        if word in ("-", "NaN", "\ufffd", "?"):
            continue
        try:
            values[name] = real(word.replace(",", "."))  # jstat groups nothing: a comma is a decimal one
        except ValueError:
            return None
    return values if "YGC" in values else None


def _put(samples: Samples, at_s: float, values: dict[str, float], before: dict[str, float]) -> None:
    samples.touch(at_s)
    for column, (share, used, capacity) in _SPACES.items():
        if share in values:
            samples.put(at_s, column, values[share])
        elif values.get(capacity) and used in values:
            samples.put(at_s, column, 100 * values[used] / values[capacity])
    if "OU" in values:
        used_kib = sum(values.get(f"{space}U", 0.0) for space in _HEAP)
        samples.put(at_s, "heap_used_bytes", used_kib * _KIB)
        samples.put(at_s, "heap_capacity_bytes", sum(values.get(f"{space}C", 0.0) for space in _HEAP) * _KIB)
    for column, used in (("metaspace_used_bytes", "MU"), ("permanent_used_bytes", "PU")):
        if used in values:
            samples.put(at_s, column, values[used] * _KIB)
    if values["YGC"] < before.get("YGC", 0.0):
        return  # another JVM, or the same started again: its counters began again
    for column, (counter, factor) in _COUNTERS.items():
        if counter in values and counter in before:
            samples.put(at_s, column, max(0.0, (values[counter] - before[counter]) * factor))


READER = Reader(
    NAME,
    by_line(read),
    anywhere=(b" YGC ",),
    timed=lambda output, interval_s: read(output.lines(), interval_s),
)
