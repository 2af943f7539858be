"""Size of the data of a plan compared with the memory that caches them; clients compared with CPU threads.

Data that fit into memory measure CPU and locks; data of 2 to 5 times the memory measure storage, because most
reads then miss. Workloads estimate their data (`Workload.data_size`), targets name their cache
(`Target.cache`).
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from loadcell.model.json import JsonObject
from loadcell.plan.data_size import Cache, DataSize, Questions
from loadcell.plan.model import Group, Resolved
from loadcell.plan.parts import Parts
from loadcell.plan.treatment import Treatment

#: What holds most of the data, which decides what a trial measures: the memory of a target without storage,
#: the server's cache, the kernel's page cache, partly cache and partly storage, storage, storage with more
#: data than needed; or more than the store can hold.
Position = Literal["in-memory", "cached", "page-cache", "between", "storage", "oversized", "too-large"]
#: Data up to this share of a cache fit: the rest is for other use of the memory, and for the error of the
#: estimate (at most 15% on servers).
FITS_SHARE = 0.8
#: Data of as many times the memory are read mostly from storage: with uniformly distributed keys a half of
#: the reads at least miss at 2 times, and four fifths at 5 times; more data only take longer to load.
STORAGE_TIMES = (2, 5)
#: Most treatments that are looked at.
_ASKED_AT_MOST = 1_000


@dataclass(frozen=True)
class Sizing:
    """Data of one size and the cache of their target, with the treatments that have both.

    `path` is the setting that scales the data, `memory_bytes` the machine's memory. `fits_to` is the largest
    scale that fits the cache (0: none), `storage_from` and `storage_to` are those that measure storage; None
    where no scale does. `other_bytes` are data of other client groups in the same cache.
    """

    path: str
    size: DataSize
    cache: Cache
    memory_bytes: int
    other_bytes: int
    treatments: tuple[str, ...]

    @property
    def cache_bytes(self) -> int:
        """The memory that the data fit into or not: the cache as set, never more than the machine has."""
        return min(self.cache.size_bytes or self.memory_bytes, self.memory_bytes)

    @property
    def _missed_bytes(self) -> int:
        """Memory beyond which reads come from storage."""
        return self.memory_bytes if self.cache.behind == "page-cache" else self.cache_bytes

    @property
    def total_bytes(self) -> int:
        """Data of all client groups."""
        return self.size.size_bytes + self.other_bytes

    @property
    def position(self) -> Position:
        """Where most reads of these data are answered."""
        total = self.total_bytes
        if self.cache.behind == "nothing":
            return "in-memory" if total <= self.cache_bytes * FITS_SHARE else "too-large"
        if total <= self.cache_bytes * FITS_SHARE:
            return "cached"
        if total <= self._missed_bytes * FITS_SHARE:
            return "page-cache"
        lowest, highest = (self._missed_bytes * times for times in STORAGE_TIMES)
        if total < lowest:
            return "between"
        return "storage" if total <= highest else "oversized"

    @property
    def fits_to(self) -> int:
        """The largest scale whose data fit the cache; 0 where none does."""
        return self.size.scale_at(self.cache_bytes * FITS_SHARE - self.other_bytes)

    @property
    def storage(self) -> tuple[int, int] | None:
        """The smallest and the largest scale that measure storage; None where the target has no storage."""
        if self.cache.behind == "nothing":
            return None
        lowest, highest = (self._missed_bytes * times - self.other_bytes for times in STORAGE_TIMES)
        return self.size.scale_at(lowest) + 1, max(1, self.size.scale_at(highest))

    def document(self) -> JsonObject:
        """Plain JSON values."""
        storage = self.storage
        return {
            "setting": self.path,
            "scale": self.size.scale,
            "data_bytes": self.size.size_bytes,
            "other_data_bytes": self.other_bytes,
            "cache": self.cache.setting or "memory",
            "cache_bytes": self.cache_bytes,
            "memory_bytes": self.memory_bytes,
            "position": self.position,
            "fits_to": self.fits_to,
            "storage_from": storage[0] if storage else None,
            "storage_to": storage[1] if storage else None,
            "treatments": list(self.treatments),
        }


@dataclass(frozen=True)
class Unsized:
    """Data on an external server, whose memory is unknown: `questions` tell it. `path` is the setting that
    scales the data and `size` their estimate; None of data that the plan finds there.
    """

    path: str
    size: DataSize | None
    questions: Questions

    def document(self) -> JsonObject:
        """Plain JSON values."""
        return {
            "setting": self.path or None,
            "scale": None if self.size is None else self.size.scale,
            "data_bytes": None if self.size is None else self.size.size_bytes,
            "ask_data_size": self.questions.data,
            "ask_cache_size": self.questions.cache,
        }


@dataclass(frozen=True)
class Concurrency:
    """Clients of the treatments, from fewest to most, and the CPU threads for them.

    `noun` is what the workload calls a client. `target_cpus` is None where the target runs elsewhere;
    `shared`: target and client have CPU threads in common. `closed`: each client waits for its answer.
    `single_threaded`: the target executes its work on one thread.
    """

    noun: str
    fewest: int
    most: int
    target_cpus: int | None
    client_cpus: int
    shared: bool
    closed: bool
    single_threaded: bool = False

    def document(self) -> JsonObject:
        """Plain JSON values."""
        return {
            "noun": self.noun,
            "fewest": self.fewest,
            "most": self.most,
            "target_cpu_threads": self.target_cpus,
            "client_cpu_threads": self.client_cpus,
            "shared": self.shared,
            "single_threaded": self.single_threaded,
        }


def asked(treatments: Sequence[Treatment]) -> list[Treatment]:
    """The treatments that are looked at: all, or the first, the last and a random choice that is always the
    same: a constant step would meet one level of a factor alone.
    """
    if len(treatments) <= _ASKED_AT_MOST:
        return list(treatments)
    chosen = random.Random(0).sample(range(1, len(treatments) - 1), _ASKED_AT_MOST - 2)  # noqa: S311
    return [treatments[index] for index in (0, *sorted(chosen), len(treatments) - 1)]


def sizings(treatments: Sequence[Treatment], parts: Parts) -> list[Sizing]:
    """The different sizes of data with their caches, in the order of the treatments.

    Empty where the size or the memory is unknown: on an external server, or of a workload without estimate.
    """
    memory_bytes = parts.memory() if parts.memory is not None else None
    if not memory_bytes:
        return []
    by_content: dict[Sizing, list[str]] = {}
    for treatment in asked(treatments):
        for sizing in _of(treatment.resolved, parts, memory_bytes):
            by_content.setdefault(sizing, []).append(treatment.id)
    return [replace(sizing, treatments=tuple(names)) for sizing, names in by_content.items()]


def unsized(treatments: Sequence[Treatment], parts: Parts) -> list[Unsized]:
    """The different data of treatments with external servers, in the order of the treatments."""
    results: dict[Unsized, None] = {}
    for treatment in asked(treatments):
        settings = treatment.resolved
        questions = parts.target(settings.target_name).size_questions
        if settings.target.external and questions is not None:
            sizes = _sizes(settings, parts)
            results |= {
                Unsized(f"{group.section}.{size.setting}", size, questions): None for group, size in sizes
            }
            if not sizes:
                results[Unsized("", None, questions)] = None
    return list(results)


def _of(settings: Resolved, parts: Parts, memory_bytes: int) -> Iterator[Sizing]:
    target = parts.target(settings.target_name)
    cache = target.cache(settings.target)
    if cache is None:
        return
    sizes = _sizes(settings, parts)
    total = sum(size.size_bytes for _, size in sizes)
    for group, size in sizes:
        path = f"{group.section}.{size.setting}"
        yield Sizing(path, size, cache, memory_bytes, total - size.size_bytes, ())


def _sizes(settings: Resolved, parts: Parts) -> list[tuple[Group, DataSize]]:
    """Sizes of the different data of client groups, as far as they are known."""
    target = parts.target(settings.target_name)
    sizes: dict[str, tuple[Group, DataSize]] = {}
    kind = parts.target_kind(settings.target_name)
    for group in settings.client_groups:
        workload = parts.workload(group.workload_name)(group.workload)
        size = workload.data_size(kind)
        if size is not None and size.records:
            stored = target.record_bytes(settings.target, size.unit_bytes)
            size = None if stored is None else replace(size, unit_bytes=stored)
        if size is not None:
            sizes.setdefault(json.dumps(workload.data(), sort_keys=True), (group, size))
    return list(sizes.values())


#: Kind of client, CPU threads of target and client, closed loop, target of one thread.
_Clients: TypeAlias = tuple[str, tuple[int, ...] | None, tuple[int, ...], bool, bool]


def concurrency(treatments: Sequence[Treatment], parts: Parts) -> list[Concurrency]:
    """Clients beside CPU threads, one value for each kind of client and place of target and client."""
    if parts.topology is None:
        return []
    every = parts.topology().usable
    counts: dict[_Clients, list[int]] = {}
    for treatment in asked(treatments):
        settings = treatment.resolved
        target = parts.target(settings.target_name)
        placements: Mapping[str, str] = settings.affinity.placements
        cpus = {
            key: parts.topology().cpus_of(placement)
            for key, placement in placements.items()
            if key != "memory"
        }
        here = target.started(settings.target) or target.in_worker
        of_treatment: Counter[_Clients] = Counter()
        for group in settings.client_groups:
            noun = parts.workload(group.workload_name).client_noun
            if group.load.clients:
                key = (
                    noun,
                    cpus.get("target", every) if here else None,
                    cpus.get("client", every),
                    group.load.rate is None,
                    here and target.single_threaded,
                )
                of_treatment[key] += group.load.clients
        for key, clients in of_treatment.items():
            counts.setdefault(key, []).append(clients)
    return [
        Concurrency(
            noun,
            min(clients),
            max(clients),
            None if target_cpus is None else len(target_cpus),
            len(client_cpus),
            bool(set(target_cpus or ()) & set(client_cpus)),
            closed,
            single_threaded,
        )
        for (noun, target_cpus, client_cpus, closed, single_threaded), clients in counts.items()
    ]
