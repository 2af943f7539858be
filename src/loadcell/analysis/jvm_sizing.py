"""Sizing of a JVM with a sharded store for a machine: heap, caches and direct memory by the best levels.

The formula is that of a report on Berkeley DB: the heap is a share of the machine's memory, the caches in the
heap share a part of it, and direct memory is a share of the memory outside the heap. Its shares are those of
the trials. Each term has the run that varied it; a term that none varied has its constant value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from loadcell.analysis.best_levels import Choice, Level, combined
from loadcell.analysis.jvm_memory import (
    CACHE,
    DIRECT,
    HEAP,
    KINDS,
    OFF_HEAP,
    YOUNG,
    JvmMemory,
    JvmSettings,
    TermKind,
    Values,
    settings_of,
)
from loadcell.analysis.treatments import Treatment
from loadcell.model.json import JsonObject
from loadcell.model.message import Bytes, Labels, MessageCode, MessageError

NO_HEAP = MessageCode("sizing.no-heap", run=str)
NO_USABLE_HEAP = MessageCode("sizing.no-usable-heap", run=str)
NO_MACHINE = MessageCode("sizing.no-machine", run=str)
EXCEEDS = MessageCode("sizing.exceeds", heap_bytes=Bytes, memory_bytes=Bytes, run=str)

MIB, GIB = 2**20, 2**30
#: From the first size on a heap has no compressed object pointers, and below the second it holds fewer
#: objects than one of `LARGEST_COMPRESSED`.
UNCOMPRESSED, WORTHWHILE, LARGEST_COMPRESSED = 32 * GIB, 40 * GIB, 31 * GIB
#: A heap of at least this size is in whole GiB, a smaller one in whole MiB.
_LARGE_HEAP = 4 * GIB
#: Largest share of the heap that Berkeley DB accepts for one cache, in percent.
_MOST_PERCENT = 90
#: A value that is more times the largest one tested is an extrapolation.
MOST_TIMES = 2

Verdict = Literal["best", "left", "no-repeats", "unusable", "constant", "unset"]
VERDICTS = Labels("sizing.verdict", ("best", "left", "no-repeats", "unusable", "constant", "unset"))
#: Verdicts in the order of preference where several runs vary a term.
_RANK: tuple[Verdict, ...] = ("best", "left", "no-repeats", "unusable")


class SizingError(MessageError):
    """Runs from which no sizing can be computed."""


@dataclass(frozen=True)
class Machine:
    """The machine to size for."""

    memory_bytes: int
    shards: int


@dataclass(frozen=True, eq=False)
class SizedRun:
    """A run with its choices. `memory_bytes` is that of its target's machine, the limit of its cgroup, or the
    memory that a small test stands for.
    """

    name: str
    choices: Sequence[Choice]
    treatments: Sequence[Treatment]
    memory_bytes: int | None


@dataclass(frozen=True, eq=False)
class Term:
    """Result of the runs for a term. `choice` is the factor that varied it, with the chosen `level`; both are
    None for a constant. `settings` are those tested, `memory` all memory of their treatment. `others` names
    further runs that varied the term, or had another constant.
    """

    kind: TermKind
    verdict: Verdict
    run: SizedRun | None = None
    choice: Choice | None = None
    level: Level | None = None
    settings: Values = ()
    memory: JvmMemory | None = None
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class HeapCache:
    """Cache in the heap of each shard: `percent` of the heap, or a size where that is no whole number."""

    percent: int | None
    shard_bytes: int
    total_bytes: int


@dataclass(frozen=True, eq=False)
class Sizing:
    """Memory for a machine. Each of `shares` belongs to the term of the same name; `computed_heap_bytes` is
    the heap before sizes without compressed object pointers are avoided.
    """

    machine: Machine
    terms: tuple[Term, ...]
    shares: Shares
    computed_heap_bytes: int
    heap_bytes: int
    young_bytes: int | None
    cache: HeapCache | None
    off_heap_shard_bytes: int | None
    direct_bytes: int | None
    tested: Tested

    def term(self, kind: TermKind) -> Term:
        return next(term for term in self.terms if term.kind is kind)

    @property
    def avoided(self) -> bool:
        """True if the computed heap would have no compressed object pointers, and little use of its size."""
        return UNCOMPRESSED <= self.computed_heap_bytes < WORTHWHILE

    @property
    def off_heap_bytes(self) -> int | None:
        """Caches outside the heap of all shards."""
        shard_bytes = self.off_heap_shard_bytes
        return None if shard_bytes is None else shard_bytes * self.machine.shards

    @property
    def remaining_bytes(self) -> int:
        """Memory for the operating system, its page cache, and the JVM's other areas."""
        outside = max(self.direct_bytes or 0, self.off_heap_bytes or 0)
        return self.machine.memory_bytes - self.heap_bytes - outside


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
    jvm_runs = [run for run in runs if next(_memories(run), None) is not None]
    if not jvm_runs:
        raise SizingError(NO_HEAP(run=names))
    terms = tuple(_term(kind, jvm_runs) for kind in KINDS)
    heap_term = next(term for term in terms if term.kind is HEAP)
    if heap_term.run is None or heap_term.memory is None:
        raise SizingError(NO_USABLE_HEAP(run=names))
    tested = _tested(jvm_runs, heap_term.run, heap_term.memory)
    shares = _shares(terms, Fraction(heap_term.memory.heap_bytes, tested.memory_bytes))
    computed = int(shares.heap * machine.memory_bytes)
    heap = bounded_heap(computed)
    outside = machine.memory_bytes - heap
    off_heap = None if shares.off_heap is None else _rounded_down(shares.off_heap * outside / machine.shards)
    direct = None
    if shares.direct is not None:
        direct = max(_rounded_down(shares.direct * outside), (off_heap or 0) * machine.shards)
    return Sizing(
        machine=machine,
        terms=terms,
        shares=shares,
        computed_heap_bytes=computed,
        heap_bytes=heap,
        young_bytes=None if shares.young is None else _rounded_down(shares.young * heap),
        cache=None if shares.cache is None else _cache(shares.cache, heap, machine.shards),
        off_heap_shard_bytes=off_heap,
        direct_bytes=direct,
        tested=tested,
    )


def _shares(terms: Sequence[Term], heap: Fraction) -> Shares:
    young, cache, off_heap, direct = (
        next(term for term in terms if term.kind is kind) for kind in (YOUNG, CACHE, OFF_HEAP, DIRECT)
    )
    return Shares(
        heap=heap,
        young=None if young.memory is None else young.memory.young_share,
        cache=None if cache.memory is None else cache.memory.cache_share,
        off_heap=_outside(off_heap, None if off_heap.memory is None else off_heap.memory.off_heap_bytes),
        direct=_outside(direct, None if direct.memory is None else direct.memory.direct_bytes),
    )


def _tested(runs: Sequence[SizedRun], heap_run: SizedRun, heap_memory: JvmMemory) -> Tested:
    memories = [memory for run in runs for memory in _memories(run)]
    memory_bytes = _machine_bytes(heap_run)
    return Tested(
        heap_bytes=max(memory.heap_bytes for memory in memories),
        shards=max(memory.shards for memory in memories),
        memory_bytes=memory_bytes,
        used=Fraction(heap_memory.heap_bytes + heap_memory.outside_bytes, memory_bytes),
    )


def bounded_heap(size_bytes: int) -> int:
    """A size rounded down, which is never one from 32 to 40 GiB."""
    step = GIB if size_bytes >= _LARGE_HEAP else MIB
    rounded = size_bytes // step * step
    return LARGEST_COMPRESSED if UNCOMPRESSED <= rounded < WORTHWHILE else rounded


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
    if percent >= 1 and percent.denominator == 1:
        shard_bytes = int(heap_bytes * percent / 100)
        return HeapCache(int(percent), shard_bytes, shard_bytes * shards)
    shard_bytes = _rounded_down(share * heap_bytes / shards)
    return HeapCache(None, shard_bytes, shard_bytes * shards)


def _outside(term: Term, size_bytes: int | None) -> Fraction | None:
    """A size as a share of the memory outside the heap, at most all of it. Raises SizingError."""
    if term.run is None or term.memory is None or size_bytes is None:
        return None
    return min(Fraction(1), Fraction(size_bytes, _machine_bytes(term.run) - term.memory.heap_bytes))


def _machine_bytes(run: SizedRun) -> int:
    """Memory of a run's machine, which is larger than each heap. Raises SizingError."""
    if not run.memory_bytes:
        raise SizingError(NO_MACHINE(run=run.name))
    heap = max((memory.heap_bytes for memory in _memories(run)), default=0)
    if heap >= run.memory_bytes:
        raise SizingError(EXCEEDS(heap_bytes=heap, memory_bytes=run.memory_bytes, run=run.name))
    return run.memory_bytes


def _memories(run: SizedRun) -> Iterator[JvmMemory]:
    """Memory of each treatment that has a result."""
    for treatment in run.treatments:
        settings = settings_of(treatment)
        if settings is not None and any(trial.counts for trial in treatment.trials) and settings.memory:
            yield settings.memory


def _term(kind: TermKind, runs: Sequence[SizedRun]) -> Term:
    """The best evidence: a factor that varied the term, else a constant of the first run that sets it."""
    varied = [
        _of_choice(kind, run, choice) for run in runs for choice in run.choices if _varies(kind, run, choice)
    ]
    if varied:
        best = min(varied, key=lambda term: (_RANK.index(term.verdict), -_counting(term)))
        others = tuple(dict.fromkeys(term.run.name for term in varied if term.run and term is not best))
        return replace(best, others=others)
    constants = [term for run in runs if (term := _constant(kind, run)) is not None]
    if not constants:
        return Term(kind, "unset")
    first = constants[0]
    different = [term.run.name for term in constants if term.run and term.settings != first.settings]
    return replace(first, others=tuple(dict.fromkeys(different)))


def _constant(kind: TermKind, run: SizedRun) -> Term | None:
    settings = _settings(run.choices, run.treatments)
    values = () if settings is None else kind.read(settings)
    if settings is None or not values:
        return None
    return Term(kind, "constant", run, settings=values, memory=settings.memory)


def _counting(term: Term) -> int:
    return 0 if term.choice is None else sum(len(level.counting) for level in term.choice.levels)


def _of_choice(kind: TermKind, run: SizedRun, choice: Choice) -> Term:
    if not choice.remaining:
        return Term(kind, "unusable", run, choice)
    level = choice.remaining[0]
    settings = _settings(run.choices, [item for item in run.treatments if _has(item, choice, level)])
    values = () if settings is None else kind.read(settings)
    memory = None if settings is None else settings.memory
    return Term(kind, _verdict(choice), run, choice, level, values, memory)


def _verdict(choice: Choice) -> Verdict:
    if choice.best is not None:
        return "best"
    return "left" if choice.repeated else "no-repeats"


def _settings(choices: Iterable[Choice], treatments: Sequence[Treatment]) -> JvmSettings | None:
    """Settings of the treatment of all best levels; without one, of the first treatment with a result."""
    chosen = combined(choices, treatments)
    tried = (item for item in treatments if any(trial.counts for trial in item.trials))
    treatment = chosen or next(tried, None)
    return None if treatment is None else settings_of(treatment)


def _has(treatment: Treatment, choice: Choice, level: Level) -> bool:
    return treatment.levels.get(choice.key) == level.label


def _varies(kind: TermKind, run: SizedRun, choice: Choice) -> bool:
    """True if levels of a factor differ in a term's settings, all other factors alike."""
    first: dict[tuple[tuple[str, str], ...], Values] = {}
    for treatment in run.treatments:
        settings = settings_of(treatment)
        if settings is None:
            continue
        held = tuple(item for item in treatment.levels.items() if item[0] != choice.key)
        values = kind.read(settings)
        if first.setdefault(held, values) != values:
            return True
    return False
