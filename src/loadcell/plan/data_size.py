"""Size of a data set, as its workload estimates it; and the memory of a target that caches it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: What holds pages outside the cache: the kernel's page cache, storage at once (O_DIRECT), or nothing: all
#: data must be in memory.
Behind = Literal["page-cache", "storage", "nothing"]


@dataclass(frozen=True)
class DataSize:
    """Estimated size of a data set, linear in its scale.

    `setting` is the option of the workload that sets the scale (`table_size`), `scale` its value;
    `unit_bytes` belong to one unit of it, `fixed_bytes` to none. `records`: a unit is a key with its value,
    to whose bytes the target adds its overhead (`Target.record_bytes`).
    """

    setting: str
    scale: int
    unit_bytes: float
    fixed_bytes: int = 0
    records: bool = False

    @property
    def size_bytes(self) -> int:
        """Bytes of the whole data set."""
        return round(self.scale * self.unit_bytes) + self.fixed_bytes

    def scale_at(self, size_bytes: float) -> int:
        """The largest scale whose data have at most this size; 0 where not even the smallest has."""
        return max(0, int((size_bytes - self.fixed_bytes) / self.unit_bytes))


@dataclass(frozen=True)
class Questions:
    """Questions that a running server answers with the size of its data, and with that of its cache."""

    data: str
    cache: str


@dataclass(frozen=True)
class Cache:
    """The cache of a target: `size_bytes` as `setting` of the plan says, or by default (empty setting).

    Without `size_bytes` the machine's memory is the cache.
    """

    behind: Behind
    setting: str = ""
    size_bytes: int | None = None
