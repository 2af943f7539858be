"""Number of accesses a second each layer of a machine can serve at most, by their size: a roofline (Williams
et al. 2009).

Small accesses are limited by how long one takes, large ones by bandwidth: `min(1 / latency, bandwidth /
size)`. The original has floating-point work on its axes; with bytes an access and accesses a second, memory,
disk and network stand in one picture.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from loadcell.analysis.hosts.facts import cache_sizes
from loadcell.analysis.hosts.scores import Score
from loadcell.model.json import JsonObject
from loadcell.model.message import Count, Message, MessageCode

_MIB = 2**20
#: What is in a cache must leave room for what else is: no more than this share of it counts as in it.
_FITS = 0.75
#: mbw and STREAM have several arrays of their size: what they use of them at once.
_ARRAYS = {"memcpy": 2, "dumb": 2, "mcblock": 2, "copy": 2, "scale": 2, "add": 3, "triad": 3}
_BITS = 8

LAYER_CACHE = MessageCode("hosts.layer.cache", level=Count)
LAYER_MEMORY = MessageCode("hosts.layer.memory")
LAYER_DISK_READ = MessageCode("hosts.layer.disk-read")
LAYER_DISK_SYNC = MessageCode("hosts.layer.disk-sync")
LAYER_NETWORK = MessageCode("hosts.layer.network")


@dataclass(frozen=True)
class Roof:
    """One layer, one thread of work: `most_per_s` accesses a second however small, `bytes_per_s` however
    large.
    """

    name: Message
    most_per_s: float
    bytes_per_s: float

    @property
    def knee_bytes(self) -> float:
        """The size of an access from which on bandwidth is the limit."""
        return self.bytes_per_s / self.most_per_s

    def at(self, size_bytes: float) -> float:
        """Accesses a second of this size."""
        return min(self.most_per_s, self.bytes_per_s / size_bytes)

    def points(self, sizes: Sequence[float]) -> list[tuple[float, float]]:
        """The roof at these sizes, its knee among them where it lies between."""
        inside = [self.knee_bytes] if sizes[0] < self.knee_bytes < sizes[-1] else []
        return [(size, self.at(size)) for size in sorted([*sizes, *inside])]


def roofs(host: JsonObject, scores: Sequence[Score]) -> list[Roof]:
    """Every layer of which both latency and bandwidth were measured, the quickest first."""
    all_roofs = [*_of_memory(host, scores), *_of_disk(scores), *_of_network(scores)]
    return sorted(all_roofs, key=lambda roof: -roof.most_per_s)


def _of_memory(host: JsonObject, scores: Sequence[Score]) -> Iterator[Roof]:
    below = 0
    for level, size in cache_sizes(host).items():
        yield from _layer(LAYER_CACHE(level=level), scores, below, size * _FITS)
        below = size
    yield from _layer(LAYER_MEMORY(), scores, below, math.inf)


def _layer(name: Message, scores: Sequence[Score], above: float, most: float) -> Iterator[Roof]:
    """From what was measured on working sets larger than `above` bytes and not larger than `most`, by one
    thread.
    """
    single = [score for score in scores if score.threads == 1 and above < _working_set(score) <= most]
    access = [score for score in single if score.section == "latency"]
    moved = [score.median for score in single if score.section == "memory"]
    if access and moved:
        slowest = max(access, key=_working_set)
        yield Roof(name, 1e9 / slowest.median, max(moved) * _MIB)


def _working_set(score: Score) -> float:
    """Number of bytes are in use at once: sysbench goes over one block again and again."""
    if score.test == "sysbench":
        return score.block_bytes or 0
    return (score.size_bytes or 0) * _ARRAYS.get(score.test, 1)


def _of_disk(scores: Sequence[Score]) -> Iterator[Roof]:
    by_disk = {
        (score.test, score.figure): score
        for score in scores
        if score.section == "disk" and score.threads == score.depth == 1
    }
    small, large = by_disk.get(("randread", "iops")), by_disk.get(("read", "read_mib_per_s"))
    if small and large:
        yield Roof(LAYER_DISK_READ(), small.median, large.median * _MIB)
    synced = next((score for score in scores if score.figure == "sync_ms"), None)
    large = by_disk.get(("write", "write_mib_per_s"))
    if synced and large:
        yield Roof(LAYER_DISK_SYNC(), 1e3 / synced.median, large.median * _MIB)


def _of_network(scores: Sequence[Score]) -> Iterator[Roof]:
    by_network = {
        (score.test, score.figure): score
        for score in scores
        if score.section == "network" and score.threads == 1
    }
    small, large = by_network.get(("rr", "transactions_per_s")), by_network.get(("stream", "mbit_per_s"))
    if small and large:
        yield Roof(LAYER_NETWORK(), small.median, large.median * 1e6 / _BITS)
