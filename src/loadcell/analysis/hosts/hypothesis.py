"""Which difference between two machines a workload's own follows: a hypothesis, with what speaks for it and
against it.

A workload that spends all of its time waiting for one thing is as many times as fast as that thing is. So a
baseline whose ratio is near the workload's can be what it waits for. One whose ratio is larger can be it in
part: Amdahl's law (1967) says for what share of the time. One whose ratio is smaller, or which did not
change, or changed the other way, cannot be it alone. With two machines this is the limit: everything
differs at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from loadcell.analysis.compare.metrics import LEAST_EFFECT
from loadcell.analysis.hosts.compare import Machines, Times, times_of
from loadcell.analysis.hosts.facts import clock_mhz, memory_mts
from loadcell.analysis.hosts.scores import Score
from loadcell.model import probes
from loadcell.stats.two_samples import Effect

#: Two ratios within a tenth of each other are near: by as much do values of one program differ between
#: installations that differ in nothing of note (link order, environment size; Mytkowicz et al., ASPLOS 2009).
NEAR = math.log(1.1)

#: What a candidate is to the workload. `near`: its ratio is the workload's, or the two intervals overlap.
#: `part`: it differs by more, so it can account for it in part. `less`: by too little to account for it
#: alone. `alike`: not at all. `against`: the other way.
Standing = Literal["near", "part", "less", "alike", "against"]
STANDINGS: tuple[Standing, ...] = ("near", "part", "less", "alike", "against")

#: What can be behind a workload's speed.
Resource = Literal[
    "clock", "cores", "memory-speed", "cpu-one", "cpu-all", "memory-bandwidth", "cache-bandwidth",
    "memory-latency", "cache-latency",
    "disk-read", "disk-write", "disk-mixed", "disk-sync", "network",
]  # fmt: skip

_DISK: dict[str, Resource] = {
    "read": "disk-read",
    "randread": "disk-read",
    "write": "disk-write",
    "randwrite": "disk-write",
}


@dataclass(frozen=True)
class Candidate:
    """One difference between the machines: its subject, its score (None: from the inventory), and its size.

    `apart` is the distance of its ratio from the workload's, as a fraction (0.1: one is a tenth more than the
    other);
    `overlap` whether the two intervals share a value (None: there are not two). `share` is, for `part`, the
    part of the time on the slower machine that the workload would have to spend on it, if all else took as
    long on both.
    """

    resource: Resource
    score: Score | None
    times: Times
    standing: Standing
    apart: float
    overlap: bool | None = None
    share: float | None = None


@dataclass(frozen=True)
class Workload:
    """A workload that ran on both machines: its name, and its speed on the second relative to the first."""

    name: str
    times: Times
    repeats: int


@dataclass(frozen=True)
class Hypothesis:
    """A workload, and all candidates, the likeliest first.

    It follows those that are `near`: none, one, or several.
    """

    workload: Workload
    candidates: tuple[Candidate, ...]

    @property
    def differs(self) -> bool:
        """True if the workload itself is faster on one of them: else there is nothing to account for."""
        return abs(math.log(self.workload.times.value)) > math.log1p(LEAST_EFFECT)

    def of(self, standing: Standing) -> list[Candidate]:
        """Those that stand so."""
        return [candidate for candidate in self.candidates if candidate.standing == standing]

    @property
    def nearest(self) -> Candidate | None:
        """The candidate whose ratio is least apart from the workload's; None without any."""
        return min(self.candidates, key=lambda candidate: candidate.apart, default=None)


def workload(name: str, effect: Effect, *, higher_is_better: bool) -> Workload:
    """From a comparison of its runs on both machines."""
    return Workload(name, times_of(effect, higher_is_better), effect.n)


def hypothesis(machines: Machines, work: Workload) -> Hypothesis:
    """Compare every difference between the machines with the workload's."""
    candidates = [
        _candidate(resource, score, times, work.times) for resource, score, times in _differences(machines)
    ]
    order = {standing: index for index, standing in enumerate(STANDINGS)}
    return Hypothesis(
        work, tuple(sorted(candidates, key=lambda candidate: (order[candidate.standing], candidate.apart)))
    )


def _differences(machines: Machines) -> Iterator[tuple[Resource, Score | None, Times]]:
    hosts = [machine.host for machine in machines.machines]
    inventory: Sequence[tuple[Resource, list[float | None]]] = (
        ("clock", [clock_mhz(host) for host in hosts]),
        ("cores", [(host.get("cpu") or {}).get("cores") for host in hosts]),
        ("memory-speed", [memory_mts(host) for host in hosts]),
    )
    for resource, (first, second) in inventory:
        if first and second:
            yield resource, None, Times(second / first)
    steps, moved = _sizes(machines, probes.LATENCY.name), _sizes(machines, probes.MEMORY.name)
    for row in machines.rows:
        score = row.score
        arrays = score.definition.sized
        if score.section == probes.LATENCY.name and score.size_bytes not in (steps[0], steps[-1]):
            continue  # steps of one staircase: its two ends say what caches and memory do
        if score.section == probes.MEMORY.name and arrays and (score.size_bytes or 0) < moved[-1]:
            continue  # what fits into a cache says nothing of memory
        yield resource_of(score, steps[-1] if steps else 0), score, row.times


def _sizes(machines: Machines, section: str) -> list[int]:
    """The sizes at which both were probed, the smallest first."""
    return sorted({row.score.size_bytes or 0 for row in machines.rows if row.score.section == section})


def resource_of(score: Score, largest_bytes: int) -> Resource:
    """The resource that a score measures; `largest_bytes` is the size at which latency is that of memory."""
    match score.section:
        case probes.CPU.name:
            return "cpu-one" if score.threads == 1 else "cpu-all"
        case probes.MEMORY.name:
            return "memory-bandwidth" if score.definition.sized else "cache-bandwidth"
        case probes.LATENCY.name:
            return "memory-latency" if (score.size_bytes or 0) >= largest_bytes else "cache-latency"
        case probes.DISK.name:
            return "disk-sync" if score.fdatasync else _DISK.get(score.test, "disk-mixed")
        case _:
            return "network"


def _candidate(resource: Resource, score: Score | None, times: Times, work: Times) -> Candidate:
    machine_log, workload_log = math.log(times.value), math.log(work.value)
    overlap = _overlap(times, work)
    apart = math.expm1(abs(machine_log - workload_log))
    least = math.log1p(LEAST_EFFECT)
    if abs(machine_log - workload_log) <= NEAR and not (abs(machine_log) <= least < abs(workload_log)):
        return Candidate(resource, score, times, "near", apart, overlap)
    if overlap and machine_log * workload_log > 0:
        return Candidate(resource, score, times, "near", apart, overlap)
    if abs(machine_log) <= least:
        return Candidate(resource, score, times, "alike", apart, overlap)
    if machine_log * workload_log <= 0:
        return Candidate(resource, score, times, "against", apart, overlap)
    if abs(machine_log) < abs(workload_log):
        return Candidate(resource, score, times, "less", apart, overlap)
    share = -math.expm1(-abs(workload_log)) / -math.expm1(-abs(machine_log))
    return Candidate(resource, score, times, "part", apart, overlap, share)


def _overlap(times: Times, other: Times) -> bool | None:
    """True if two intervals share a value; what is no interval (too few repeats, the inventory)
    says nothing.
    """
    if not (times.sure and other.sure):
        return None
    assert times.low is not None
    assert times.high is not None
    assert other.low is not None
    assert other.high is not None
    return times.low <= other.high and other.low <= times.high
