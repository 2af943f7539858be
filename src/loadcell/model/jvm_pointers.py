"""Compressed object pointers of a JVM: up to which size a heap has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from loadcell.model.json import JsonValue
from loadcell.model.jvm_caches import natural_number

#: The flags that decide it.
ALIGNMENT, COMPRESSED = "ObjectAlignmentInBytes", "UseCompressedOops"
#: Units of objects' alignment that a compressed pointer of 32 bits can address.
_ADDRESSED: Final = 2**32
_USUAL_ALIGNMENT: Final = 8
#: Collectors that never use compressed object pointers, and the flags that select them.
_UNCOMPRESSED: Final = {"ZGC": "UseZGC"}


#: A heap without compressed pointers holds fewer objects than the largest one with them, unless it is larger
#: than their limit by this share: from 32 to 40 GiB.
_PAYS_OFF: Final = Fraction(1, 4)
_GIB: Final = 2**30


@dataclass(frozen=True)
class Pointers:
    """Compressed pointers, which heaps have below `limit_bytes`."""

    limit_bytes: int

    @property
    def largest_bytes(self) -> int:
        """The largest heap in whole GiB that has them."""
        return self.limit_bytes - _GIB

    @property
    def pays_off_bytes(self) -> int:
        """Size from which on a heap without them holds more objects than `largest_bytes`."""
        return int(self.limit_bytes * (1 + _PAYS_OFF))

    def avoids(self, heap_bytes: int) -> bool:
        """True for a heap that holds fewer objects than a smaller one."""
        return self.limit_bytes <= heap_bytes < self.pays_off_bytes


#: Those of a JVM without flags.
USUAL: Final = Pointers(_ADDRESSED * _USUAL_ALIGNMENT)


def compressed_pointers(collector: JsonValue, flags: Mapping[str, JsonValue]) -> Pointers | None:
    """Compressed pointers by the collector and the flags; None where no heap has them."""
    if collector in _UNCOMPRESSED or any(flags.get(flag) is True for flag in _UNCOMPRESSED.values()):
        return None
    if flags.get(COMPRESSED) is False:
        return None
    alignment = natural_number(flags.get(ALIGNMENT))
    return USUAL if alignment is None else Pointers(_ADDRESSED * alignment)
