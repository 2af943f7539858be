"""The host during each trial, from its samples: the wall clock, the memory when it swapped most, and the
memory that was allocated on NUMA nodes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from loadcell.incidents.evidence.base import Evidence
from loadcell.incidents.evidence.clocks import ClockReading, Clocks
from loadcell.incidents.evidence.memory import Memory
from loadcell.incidents.evidence.numa import NumaAllocations, NumaMemory
from loadcell.incidents.runs.base import numa_nodes, samples, start_ns
from loadcell.model.trial_record import TrialRecord
from loadcell.store.read import StoredRun

#: Samples of the window: as many seconds as the kernel's mean of its pressure.
_WINDOW: Final = 10
_CLOCK: Final = ("mono_ns", "clock_offset_step_s")
_MEMORY: Final = (
    "memory_used_bytes", "memory_available_bytes", "swap_used_bytes", "swap_in_per_s", "swap_out_per_s",
    "pressure_memory_some_percent", "pressure_io_some_percent", "pressure_cpu_some_percent",
)  # fmt: skip

_NODES: Final = ("mono_ns", "numa_local_per_s", "numa_other_per_s", "numa_missed_per_s")


def of_run(stored: StoredRun) -> Iterator[Evidence]:
    """Clock, memory and NUMA nodes of the host in each trial with samples of them."""
    nodes = numa_nodes(stored)
    for record, columns in samples(stored, "host", {*_CLOCK, *_MEMORY, *_NODES}):
        if columns.keys() >= set(_CLOCK) and (clocks := _clocks(record, columns)) is not None:
            yield clocks
        if columns.keys() >= set(_MEMORY) and columns[_MEMORY[0]]:
            yield _memory(record.name, np.array([columns[name] for name in _MEMORY], dtype=np.float64).T)
        if nodes > 1 and columns.keys() >= set(_NODES):
            allocations = _allocations(record, columns)
            if allocations is not None:
                yield NumaMemory(record.name, nodes, None, allocations)


def _clocks(record: TrialRecord, columns: Mapping[str, list[float | None]]) -> Clocks | None:
    """Readings of the clock; None of fewer than two samples, or without a measurement."""
    steps = sorted(
        (int(at_ns), step_s)
        for at_ns, step_s in zip(*(columns[name] for name in _CLOCK), strict=True)
        if at_ns is not None and step_s is not None
    )
    begin_ns = start_ns(record)
    mono_ns = record.measure.started_mono_ns if record.measure else None
    if begin_ns is None or mono_ns is None or len(steps) < 2:
        return None
    before_s = sum(step_s for at_ns, step_s in steps if at_ns <= mono_ns)
    offset_ns = begin_ns - mono_ns - round(before_s * 1e9)
    readings = [ClockReading(steps[0][0] - (steps[1][0] - steps[0][0]), offset_ns)]
    for at_ns, step_s in steps:
        offset_ns += round(step_s * 1e9)
        readings.append(ClockReading(at_ns, offset_ns))
    return Clocks(record.name, tuple(readings), has_services=False)


def _memory(trial: str, values: np.ndarray[Any, np.dtype[np.float64]]) -> Memory:
    """The window of a trial with the highest lower one of both rates."""
    rates = np.nan_to_num(values[:, 3:5])
    length = min(_WINDOW, len(values))
    kernel = np.full(length, 1 / length)
    moved = np.minimum(*(np.convolve(rates[:, index], kernel, "valid") for index in range(2)))
    first = int(moved.argmax())
    window = values[first : first + length]
    page = os.sysconf("SC_PAGE_SIZE")
    used, available, swap_used, swapped_in, swapped_out, memory, io, cpu = (
        None if np.isnan(column).all() else float(np.nanmean(column)) for column in window.T
    )
    return Memory(
        trial,
        round((used or 0) + (available or 0)),
        round(available or 0),
        round(swap_used or 0),
        round(swap_used or 0),
        (swapped_in or 0) * page,
        (swapped_out or 0) * page,
        None,
        _share(memory),
        _share(io),
        _share(cpu),
    )


def _allocations(record: TrialRecord, columns: Mapping[str, list[float | None]]) -> NumaAllocations | None:
    """Memory that was allocated during the measurement; None without it, or without samples in it."""
    measure = record.measure
    if measure is None or measure.started_mono_ns is None:
        return None
    end_ns = measure.started_mono_ns + measure.duration_s * 1e9
    values = np.array([columns[name] for name in _NODES], dtype=np.float64)
    values = values[:, ~np.isnan(values).any(axis=0)]
    # a sample covers the time since the one before
    lengths_s = np.diff(values[0]) / 1e9
    is_within = (values[0, :-1] >= measure.started_mono_ns) & (values[0, 1:] <= end_ns)
    window_s = float(lengths_s[is_within].sum())
    if not window_s:
        return None
    local, other, missed = (values[1:, 1:] * lengths_s)[:, is_within].sum(axis=1) * os.sysconf("SC_PAGE_SIZE")
    return NumaAllocations(window_s, float(local), float(other), float(missed))


def _share(percent: float | None) -> float | None:
    return None if percent is None else percent / 100
