"""Throughput of a run by a factor that places the target on one NUMA node, or on all processors."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Final

from loadcell.incidents.evidence.base import Evidence
from loadcell.incidents.evidence.placements import Placements
from loadcell.incidents.runs.base import numa_nodes, samples
from loadcell.store.read import StoredRun

_FACTORS: Final = ("affinity.target", "affinity.node")
_ONE, _ALL = "one node", "all"
#: Rows of the monitor `target`; those with the `pid` 0 are of all its processes.
_SAMPLES: Final = "target.memory-nodes"
_PID_SIZE_FAR: Final = ("pid", "memory_bytes", "far_bytes", "memory_nodes")
_COLUMNS: Final = frozenset(_PID_SIZE_FAR)


def of_run(stored: StoredRun) -> Iterator[Evidence]:
    """The placements of a run whose factor has the levels `one node` and `all`; for each combination of its
    other factors.
    """
    nodes = numa_nodes(stored)
    far_shares = {name: (share, most) for name, share, most in _far_shares(stored)} if nodes > 1 else {}
    for factor in stored.run.factors:
        if factor.key not in _FACTORS or not {_ONE, _ALL} <= {level.label for level in factor.levels}:
            continue
        by_others: dict[tuple[tuple[str, str], ...], dict[str, list[float]]] = {}
        far: dict[tuple[tuple[str, str], ...], list[tuple[float, float]]] = {}
        levels = {treatment.id: treatment.levels for treatment in stored.run.treatments}
        for trial in stored.trials:
            of_trial = levels.get(trial.treatment, {})
            throughput = trial.totals.throughput_per_s if trial.totals else None
            if trial.status == "ok" and throughput is not None and factor.key in of_trial:
                others = tuple((key, level) for key, level in of_trial.items() if key != factor.key)
                by_level = by_others.setdefault(others, {})
                by_level.setdefault(of_trial[factor.key], []).append(throughput)
                if of_trial[factor.key] == _ALL and trial.name in far_shares:
                    far.setdefault(others, []).append(far_shares[trial.name])
        for others, by_level in by_others.items():
            name = ", ".join(f"{key}={level}" for key, level in others)
            pinned, spread = (tuple(by_level.get(level, ())) for level in (_ONE, _ALL))
            shares = far.get(others, [])
            far_share = median(share for share, _ in shares) if shares else None
            is_on_one = bool(shares) and all(most == 1 for _, most in shares)
            yield Placements(name, factor.key, nodes, pinned, spread, far_share, is_on_one)


def _far_shares(stored: StoredRun) -> Iterator[tuple[str, float, float]]:
    """The share of the memory of each trial's target on other nodes over all samples, and the largest number
    of nodes with memory.
    """
    for trial, columns in samples(stored, _SAMPLES, _COLUMNS):
        if not columns.keys() >= _COLUMNS:
            continue
        totals = [
            (size, far, memory_nodes or 0)
            for pid, size, far, memory_nodes in zip(*(columns[name] for name in _PID_SIZE_FAR), strict=True)
            if pid == 0 and size and far is not None
        ]
        if totals:
            share = sum(far for _, far, _ in totals) / sum(size for size, _, _ in totals)
            yield trial.name, share, max(most for _, _, most in totals)
