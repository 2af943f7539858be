"""Memory of a run by the levels of each numeric factor, with all other factors at the same levels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Final, TypeAlias

from loadcell.incidents.base import Diagnosis
from loadcell.incidents.evidence.base import Evidence
from loadcell.incidents.evidence.batches import Batches, BatchLevel, BatchTrial
from loadcell.incidents.evidence.collections import Collections
from loadcell.incidents.full_gc_spiral import FullGcSpiral
from loadcell.model.trial_record import TrialRecord
from loadcell.store.read import StoredRun

#: Reasons of trials that ended for want of memory: of the JVM, Python, C++, the kernel and loadcell.
_OUT_OF_MEMORY: Final = re.compile(
    r"OutOfMemoryError|MemoryError|std::bad_alloc|[Oo]ut of memory|Cannot allocate memory|memory limit"
)
_FEWEST_LEVELS, _FEWEST_TRIALS = 2, 3
_MOST: Final = 12
#: Sizes in GC logs are in MiB.
_OF_GC_LOG: Final = 2**20
_MOST_REASON: Final = 300

#: Values of the other factors, by path.
Others: TypeAlias = tuple[tuple[str, str], ...]


def of_evidence(stored: StoredRun, evidence: Sequence[Evidence]) -> Iterator[Evidence]:
    """The levels of each numeric factor whose memory is known: with trials that lack memory, or of a JVM."""
    jvms: dict[str, list[Collections]] = {}
    for item in evidence:
        if isinstance(item, Collections):
            jvms.setdefault(item.source, []).append(item)
    groups = [
        group
        for path in sorted({path for trial in stored.trials for path in trial.values})
        for others, trials in _combinations(stored.trials, path).items()
        if (group := _group(path, others, trials, jvms)) is not None
    ]
    groups.sort(key=lambda group: not _is_troubled(group))
    yield from groups[:_MOST]


def _is_troubled(group: Batches) -> bool:
    return any(level.troubled for level in group.levels)


def _combinations(trials: Sequence[TrialRecord], path: str) -> dict[Others, list[TrialRecord]]:
    """Trials with a number at `path`, by the values of all other paths."""
    combinations: dict[Others, list[TrialRecord]] = {}
    for trial in trials:
        if _number(trial.values.get(path)) is not None:
            others = tuple(sorted((key, str(value)) for key, value in trial.values.items() if key != path))
            combinations.setdefault(others, []).append(trial)
    return combinations


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if isfinite(number) and number > 0 else None


def _group(
    path: str, others: Others, trials: Sequence[TrialRecord], jvms: Mapping[str, list[Collections]]
) -> Batches | None:
    by_size: dict[float, list[TrialRecord]] = {}
    for trial in trials:
        by_size.setdefault(_number(trial.values[path]) or 0.0, []).append(trial)
    if len(by_size) < _FEWEST_LEVELS:
        return None
    of_group = [jvm for trial in trials for jvm in jvms.get(trial.name, ())]
    has_jvm = any(jvm.log.around.live_sets for jvm in of_group)
    levels = tuple(
        BatchLevel(size, tuple(_trial(trial, jvms.get(trial.name, ()), has_jvm) for trial in by_size[size]))
        for size in sorted(by_size)
    )
    counts = [count for level in levels if (count := len(level.peaks_bytes))]
    if len(counts) < _FEWEST_LEVELS or sum(counts) < _FEWEST_TRIALS:
        return None
    if not (has_jvm or any(level.troubled for level in levels)):
        return None
    name = path.rpartition(".")[2]
    shown = ", ".join(f"{key.rpartition('.')[2]}={value}" for key, value in others)
    lowest = [item.used_bytes for jvm in of_group for item in jvm.log.around.live_sets]
    capacities = [jvm.capacity_bytes for jvm in of_group if jvm.capacity_bytes]
    limits = capacities if has_jvm else [limit for trial in trials if (limit := _limit(trial)) is not None]
    return Batches(
        f"{name} ({shown})" if shown else name,
        name,
        levels,
        min(lowest, default=0),
        max(limits, default=None),
        _OF_GC_LOG if has_jvm else 1,
    )


def _trial(trial: TrialRecord, jvms: Sequence[Collections], has_jvm: bool) -> BatchTrial:
    live = [item.used_bytes for jvm in jvms for item in jvm.log.around.live_sets]
    reason = trial.reason or ""
    return BatchTrial(
        trial.name,
        max(live, default=None) if has_jvm else _peak(trial),
        sum(len(jvm.full()) for jvm in jvms) if jvms else None,
        bool(_OUT_OF_MEMORY.search(reason)) or any(jvm.log.around.errors for jvm in jvms),
        any(_is_spiral(jvm) for jvm in jvms),
        reason[:_MOST_REASON],
    )


def _is_spiral(jvm: Collections) -> bool:
    judgements = FullGcSpiral().examine(jvm)
    return any(isinstance(item, Diagnosis) and item.level == "critical" for item in judgements)


def _peak(trial: TrialRecord) -> int | None:
    """Peak memory of the target's processes, or of a tool's on the host."""
    resources = trial.resources
    if resources is None:
        return None
    processes = resources.target or (resources.client if trial.tool is not None else None)
    return None if processes is None else processes.memory_peak_bytes


def _limit(trial: TrialRecord) -> int | None:
    target = None if trial.resources is None else trial.resources.target
    group = None if target is None else target.control_group
    return None if group is None else group.memory_limit_bytes
