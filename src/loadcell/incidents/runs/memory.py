"""Memory of the host during each trial, from its samples: the time in which it swapped most."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from loadcell.incidents.evidence.base import Evidence
from loadcell.incidents.evidence.memory import Memory
from loadcell.incidents.runs.base import samples
from loadcell.store.read import StoredRun

#: Samples of the window: as many seconds as the kernel's mean of its pressure.
_WINDOW: Final = 10
_COLUMNS: Final = (
    "memory_used_bytes", "memory_available_bytes", "swap_used_bytes", "swap_in_per_s", "swap_out_per_s",
    "pressure_memory_some_percent", "pressure_io_some_percent", "pressure_cpu_some_percent",
)  # fmt: skip


def of_run(stored: StoredRun) -> Iterator[Evidence]:
    """The memory of the host in each trial with samples."""
    for trial, rows in samples(stored, "host", _COLUMNS):
        if rows:
            yield _memory(trial.name, np.array(rows, dtype=np.float64))


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


def _share(percent: float | None) -> float | None:
    return None if percent is None else percent / 100
