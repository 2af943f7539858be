"""Sizing of a JVM with a sharded store for a machine: heap, caches and direct memory by the best levels.

The formula is that of a report on Berkeley DB: the heap is a share of the machine's memory, the caches in the
heap share a part of it, and direct memory and the caches outside the heap are shares of the memory there. Its
shares are those of the trials. Each term has the run that varied it; a term that none varied has its constant
value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from loadcell.analysis.jvm_evidence import SizedRun, Term, evidence, memories_of
from loadcell.analysis.jvm_memory import (
    CACHE,
    COLLECTOR,
    DIRECT,
    HEAP,
    KINDS,
    OFF_HEAP,
    VERSION,
    YOUNG,
    JvmMemory,
    TermKind,
    Values,
    caches_fit,
    flags_of,
    is_size_flag,
)
from loadcell.model.json import JsonObject
from loadcell.model.jvm_caches import has_off_heap
from loadcell.model.jvm_pointers import USUAL, Pointers, compressed_pointers
from loadcell.model.message import Bytes, MessageCode, MessageError

NO_HEAP = MessageCode("sizing.no-heap", run=str)
NO_USABLE_HEAP = MessageCode("sizing.no-usable-heap", run=str)
NO_MACHINE = MessageCode("sizing.no-machine", run=str)
EXCEEDS = MessageCode("sizing.exceeds", heap_bytes=Bytes, memory_bytes=Bytes, run=str)

MIB, GIB = 2**20, 2**30
#: A heap of at least this size is in whole GiB, a smaller one in whole MiB.
_LARGE_HEAP = 4 * GIB
#: Largest share of the heap that Berkeley DB accepts for one cache, in percent.
_MOST_PERCENT = 90
#: A value that is more times the largest one tested is an extrapolation.
MOST_TIMES = 2


class SizingError(MessageError):
    """Runs from which no sizing can be computed."""


@dataclass(frozen=True)
class Machine:
    """The machine to size for."""

    memory_bytes: int
    shards: int


@dataclass(frozen=True)
class HeapCache:
    """Cache in the heap of each shard: `percent` of the heap, or a size where that is no whole number.
    `share` is that of all caches, before sizes are rounded.
    """

    share: Fraction
    percent: int | None
    shard_bytes: int
    total_bytes: int


@dataclass(frozen=True, eq=False)
class Sizing:
    """Memory for a machine. Each of `shares` belongs to the term of the same name; `computed_heap_bytes` is
    the heap before sizes without compressed object pointers are avoided. `pointers` is None where no heap has
    compressed ones.
    """

    machine: Machine
    terms: tuple[Term, ...]
    shares: Shares
    computed_heap_bytes: int
    pointers: Pointers | None
    heap_bytes: int
    young_bytes: int | None
    cache: HeapCache | None
    off_heap_shard_bytes: int | None
    direct_bytes: int | None
    tested: Tested

    def term(self, kind: TermKind) -> Term:
        return _of_kind(self.terms, kind)

    @property
    def avoided(self) -> bool:
        """True if the computed heap would have no compressed object pointers, and little use of its size."""
        return self.pointers is not None and self.pointers.avoids(self.computed_heap_bytes)

    @property
    def collector(self) -> Values:
        """The collector and its flags, without those that are sizes: they fit the tested heap."""
        settings = self.term(COLLECTOR).settings
        return tuple((path, value) for path, value in settings if not is_size_flag(path, value))

    @property
    def size_flags(self) -> Values:
        """Flags of the collector's term that are sizes."""
        return tuple(
            (path, value) for path, value in self.term(COLLECTOR).settings if is_size_flag(path, value)
        )

    @property
    def lacks_off_heap(self) -> bool:
        """True if trials had caches outside the heap, and the version of the sizing has none."""
        return bool(self.term(OFF_HEAP).settings) and not _with_off_heap(self.term(VERSION))

    @property
    def off_heap_bytes(self) -> int | None:
        """Caches outside the heap of all shards."""
        shard_bytes = self.off_heap_shard_bytes
        return None if shard_bytes is None else shard_bytes * self.machine.shards

    @property
    def remaining_bytes(self) -> int:
        """Memory for the operating system, its page cache, and the JVM's other areas; below 0 where the
        shares need more than the machine has.
        """
        outside = (self.direct_bytes or 0) + (self.off_heap_bytes or 0)
        return self.machine.memory_bytes - self.heap_bytes - outside

    @property
    def fits(self) -> bool:
        """True if the machine has the memory of all parts, and the heap that of its caches."""
        return self.remaining_bytes >= 0 and self.caches_fit

    @property
    def caches_fit(self) -> bool:
        """True if the caches leave room in the heap."""
        return self.cache is None or caches_fit(self.cache.share)


@dataclass(frozen=True)
class Shares:
    """Coefficients of the formula: heap of the memory, young generation and cache of the heap, direct memory
    and caches outside the heap of the memory that the heap leaves.
    """

    heap: Fraction
    young: Fraction | None
    cache: Fraction | None
    off_heap: Fraction | None
    direct: Fraction | None


@dataclass(frozen=True)
class Tested:
    """The largest heap and number of shards tested. `memory_bytes` is that of the machine of the heap's term,
    `used` the share of it that its JVM could use.
    """

    heap_bytes: int
    shards: int
    memory_bytes: int
    used: Fraction


def size(runs: Sequence[SizedRun], machine: Machine) -> Sizing:
    """The sizing for a machine. Raises SizingError without a heap or a machine's memory in the runs."""
    names = ", ".join(run.name for run in runs)
    jvm_runs = [run for run in runs if next(memories_of(run), None) is not None]
    if not jvm_runs:
        raise SizingError(NO_HEAP(run=names))
    terms = tuple(evidence(kind, jvm_runs) for kind in KINDS)
    heap_term = _of_kind(terms, HEAP)
    if heap_term.run is None or heap_term.memory is None:
        raise SizingError(NO_USABLE_HEAP(run=names))
    tested = _tested(jvm_runs, heap_term.run, heap_term.memory)
    shares = _shares(terms, Fraction(heap_term.memory.heap_bytes, tested.memory_bytes))
    computed = int(shares.heap * machine.memory_bytes)
    pointers = _pointers(terms)
    heap = bounded_heap(computed, pointers)
    outside = machine.memory_bytes - heap
    return Sizing(
        machine=machine,
        terms=terms,
        shares=shares,
        computed_heap_bytes=computed,
        pointers=pointers,
        heap_bytes=heap,
        young_bytes=None if shares.young is None else _rounded_down(shares.young * heap),
        cache=None if shares.cache is None else _cache(shares.cache, heap, machine.shards),
        off_heap_shard_bytes=None
        if shares.off_heap is None
        else _rounded_down(shares.off_heap * outside / machine.shards),
        direct_bytes=None if shares.direct is None else _rounded_down(shares.direct * outside),
        tested=tested,
    )


def _of_kind(terms: Iterable[Term], kind: TermKind) -> Term:
    return next(term for term in terms if term.kind is kind)


def _pointers(terms: Iterable[Term]) -> Pointers | None:
    settings = _of_kind(terms, COLLECTOR).settings
    return compressed_pointers(dict(settings).get("collector"), flags_of(settings))


def _with_off_heap(version: Term) -> bool:
    return has_off_heap(dict(version.settings).get("version"))


def _shares(terms: Sequence[Term], heap: Fraction) -> Shares:
    young, cache, off_heap, direct, version = (
        _of_kind(terms, kind) for kind in (YOUNG, CACHE, OFF_HEAP, DIRECT, VERSION)
    )
    if not _with_off_heap(version):
        off_heap = Term(OFF_HEAP, "unset")
    return Shares(
        heap=heap,
        young=None if young.memory is None else young.memory.young_share,
        cache=None if cache.memory is None else cache.memory.cache_share,
        off_heap=_outside(off_heap, None if off_heap.memory is None else off_heap.memory.off_heap_bytes),
        direct=_outside(direct, None if direct.memory is None else direct.memory.direct_bytes),
    )


def _tested(runs: Sequence[SizedRun], heap_run: SizedRun, heap_memory: JvmMemory) -> Tested:
    memories = [memory for run in runs for memory in memories_of(run)]
    memory_bytes = _machine_bytes(heap_run)
    return Tested(
        heap_bytes=max(memory.heap_bytes for memory in memories),
        shards=max(memory.shards for memory in memories),
        memory_bytes=memory_bytes,
        used=Fraction(heap_memory.heap_bytes + heap_memory.outside_bytes, memory_bytes),
    )


def bounded_heap(size_bytes: int, pointers: Pointers | None = USUAL) -> int:
    """A size rounded down, which is never one from 32 to 40 GiB where pointers are compressed below."""
    step = GIB if size_bytes >= _LARGE_HEAP else MIB
    rounded = size_bytes // step * step
    return pointers.largest_bytes if pointers is not None and pointers.avoids(rounded) else rounded


def target_memory(environment: JsonObject) -> int | None:
    """Memory of the machine of the target, or the limit of its cgroup; None where it is not recorded."""
    hosts = environment.get("hosts") or []
    for host in hosts if isinstance(hosts, list) else ():
        if "target" in str(host.get("role")).split("+"):
            limit = (host.get("container") or {}).get("memory_bytes")
            sizes = [value for value in (host.get("memory_bytes"), limit) if isinstance(value, int) and value]
            return min(sizes, default=None)
    return None


def _rounded_down(size_bytes: Fraction | int) -> int:
    """Whole MiB from 1 MiB on."""
    size = int(size_bytes)
    return size // MIB * MIB if size >= MIB else size


def _cache(share: Fraction, heap_bytes: int, shards: int) -> HeapCache:
    percent = min(share * 100 / shards, Fraction(_MOST_PERCENT))
    share = percent * shards / 100
    if percent >= 1 and percent.denominator == 1:
        shard_bytes = int(heap_bytes * percent / 100)
        return HeapCache(share, int(percent), shard_bytes, shard_bytes * shards)
    shard_bytes = _rounded_down(share * heap_bytes / shards)
    return HeapCache(share, None, shard_bytes, shard_bytes * shards)


def _outside(term: Term, size_bytes: int | None) -> Fraction | None:
    """A size as a share of the memory outside the heap, at most all of it. Raises SizingError."""
    if term.run is None or term.memory is None or size_bytes is None:
        return None
    return min(Fraction(1), Fraction(size_bytes, _machine_bytes(term.run) - term.memory.heap_bytes))


def _machine_bytes(run: SizedRun) -> int:
    """Memory of a run's machine, which is larger than each heap. Raises SizingError."""
    if not run.memory_bytes:
        raise SizingError(NO_MACHINE(run=run.name))
    heap = max((memory.heap_bytes for memory in memories_of(run)), default=0)
    if heap >= run.memory_bytes:
        raise SizingError(EXCEEDS(heap_bytes=heap, memory_bytes=run.memory_bytes, run=run.name))
    return run.memory_bytes
