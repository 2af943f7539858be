"""Sizes of the humongous objects of G1, by the lines of `-Xlog:gc+humongous=debug`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from loadcell.ingest.printed_numbers import digits
from loadcell.model.gc_pauses import ObjectSizes

#: JDK 16 and before have no brackets.
_OBJECT: Final = re.compile(
    r"GC\((?P<collection>\d+)\) (?P<kind>Humongous|Live humongous|Dead humongous|Reclaimed humongous) "
    r"region (?P<region>\d+) \(?object size (?P<size>\d{1,18}) "
)
_ENDS: Final = ("Dead", "Reclaimed")


@dataclass
class HumongousObjects:
    """Objects, each counted once: a long-lived one has a line in every collection.

    Sizes are in classes, of which each has the sizes between two powers of two.
    """

    _counts: dict[int, int] = field(default_factory=dict)
    _largest: dict[int, int] = field(default_factory=dict)
    _collection: str = ""
    #: sizes by region: of the collection before, and of the present one
    _earlier: dict[str, int] = field(default_factory=dict)
    _present: dict[str, int] = field(default_factory=dict)

    def take(self, text: str) -> None:
        """Take a line of a collection, if it is one of an object."""
        if (match := _OBJECT.match(text)) is None:
            return
        collection, kind, region, size = match.groups()
        if collection != self._collection:
            self._collection, self._earlier, self._present = collection, self._present, {}
        size_bytes = digits(size)
        before_bytes = self._present.get(region, self._earlier.get(region))
        if before_bytes != size_bytes:
            size_class = size_bytes.bit_length()
            self._counts[size_class] = self._counts.get(size_class, 0) + 1
            self._largest[size_class] = max(self._largest.get(size_class, 0), size_bytes)
        if kind.startswith(_ENDS):
            self._present.pop(region, None)
            self._earlier.pop(region, None)
        else:
            self._present[region] = size_bytes

    def sizes(self) -> tuple[ObjectSizes, ...]:
        """Numbers of objects by size, the smallest first."""
        return tuple(ObjectSizes(self._largest[item], self._counts[item]) for item in sorted(self._counts))
