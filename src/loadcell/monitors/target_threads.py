"""The busiest threads of the target's processes, as `top -H` shows them: CPU, run delay, state."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from loadcell.linux.process_counters import Key, ProcessCounters, ThreadTimes, thread_name, thread_times
from loadcell.linux.procfs import thread_stat
from loadcell.model.panels import SampleTable
from loadcell.monitors.base import Row

THREADS: Final = "threads"
TABLE: Final = SampleTable(
    "threads",
    ("pid", "tid", "name", "state", "cpu_percent", "run_delay_percent", "threads", "elapsed_s"),
    text=frozenset({"name", "state"}),
)
#: Threads with a row in a sample.
MOST_ROWS: Final = 10
#: Samples with rows in a load of any length: 11 rows each are some 2 MB.
MOST_SAMPLES: Final = 1_800
#: Threads read in one sample: each costs some 10 microseconds.
MOST_READ: Final = 2_000
#: CPU time of reading threads, as a share of a core.
COST_SHARE: Final = 0.001


@dataclass(frozen=True, slots=True)
class _Process:
    """Thread times of a process, and its CPU time in ticks when they were read."""

    ticks: int
    threads: ThreadTimes


class BusiestThreads:
    """Takes the processes of each sample, reads the times of their threads, and has rows of the busiest.

    Threads of a process without CPU time since the last reading are not read again. Where reading takes more
    than `COST_SHARE` of a core by `cpu_s` (CPU time of this thread), rows cover several seconds. Threads
    beyond `MOST_READ`, of the least busy processes, have no rows.
    """

    def __init__(
        self,
        root: Path,
        length_s: float,
        cpu_s: Callable[[], float] = time.thread_time,
        process_kind: Callable[[str], str] = str,
    ) -> None:
        self._root = root
        self._process_kind = process_kind
        self._cpu_s = cpu_s
        self._least_s = length_s / MOST_SAMPLES
        self._cost_s = 0.0
        self._cached: dict[Key, _Process] | None = None
        self._seen: frozenset[Key] = frozenset()
        self._elapsed_s = 0.0
        self._rows: list[Row] = []

    def take(self, processes: Mapping[Key, ProcessCounters], elapsed_s: float) -> None:
        """Processes of one instant, `elapsed_s` after those before; 0 at the first one."""
        self._rows = []
        self._elapsed_s += elapsed_s
        if self._cached is not None and self._elapsed_s < max(self._least_s, self._cost_s / COST_SHARE):
            return
        began_s = self._cpu_s()
        before, seen = self._cached or {}, self._seen
        now = self._read(processes, before)
        if self._cached is not None and self._elapsed_s > 0 and processes:
            used = _used(before, seen, now, self._elapsed_s)
            count = sum(counters.stat.threads for counters in processes.values())
            self._rows = self._busiest(used, count, self._elapsed_s)
        self._cached, self._seen, self._elapsed_s = now, frozenset(processes), 0.0
        self._cost_s = self._cpu_s() - began_s

    def rows(self) -> list[Row]:
        """Rows of the last sample, given once: first that of all threads (`tid` 0, name total)."""
        rows, self._rows = self._rows, []
        return rows

    def _read(
        self, processes: Mapping[Key, ProcessCounters], before: Mapping[Key, _Process]
    ) -> dict[Key, _Process]:
        """Thread times of all processes: the busiest first, until enough threads were read."""

        def ticks(key: Key) -> int:
            return processes[key].stat.user + processes[key].stat.system

        def since(key: Key) -> int:
            return ticks(key) - (before[key].ticks if key in before else 0)

        cached: dict[Key, _Process] = {}
        remaining = MOST_READ
        for key in sorted(processes, key=since, reverse=True):
            if key in before and since(key) == 0:
                cached[key] = before[key]
            elif remaining > 0:
                cached[key] = _Process(ticks(key), thread_times(self._root, key[0], remaining))
                remaining -= len(cached[key].threads.times)
        return cached

    def _busiest(
        self, used: Mapping[tuple[int, int], tuple[float, float]], count: int, elapsed_s: float
    ) -> list[Row]:
        """Rows of the threads of `used`: shares of time by process and thread id."""
        ran = [item for item in used if used[item][0] > 0]
        rows: list[Row] = []
        for pid, tid in sorted(ran, key=lambda item: -used[item][0])[:MOST_ROWS]:
            stat = thread_stat(self._root, pid, tid)
            name = thread_name(self._root, pid, tid, self._process_kind)
            row = _row(pid, tid, name, stat.state if stat else "", elapsed_s)
            running, delayed = used[pid, tid]
            rows.append({**row, "cpu_percent": 100 * running, "run_delay_percent": 100 * delayed})
        total = _row(0, 0, "total", "", elapsed_s)
        total["cpu_percent"] = 100 * sum(running for running, _ in used.values())
        total["run_delay_percent"] = 100 * sum(delayed for _, delayed in used.values())
        total["threads"] = count
        return [total, *rows]


def _row(pid: int, tid: int, name: str, state: str, elapsed_s: float) -> Row:
    return {"pid": pid, "tid": tid, "name": name, "state": state, "elapsed_s": elapsed_s}


def _used(
    before: Mapping[Key, _Process], seen: frozenset[Key], now: Mapping[Key, _Process], elapsed_s: float
) -> dict[tuple[int, int], tuple[float, float]]:
    """Shares of the time that threads ran and were delayed, by process and thread id.

    A thread that was not there before, or whose counters fell (its id was used again), started since: all it
    has used, it used now, and never more than the time gone by. A process that was there and not read before
    has no base, and neither have threads beyond those that were read.
    """
    used = {}
    for key, process in now.items():
        if key not in before and key in seen:
            continue
        old = before[key].threads if key in before else ThreadTimes({})
        for tid, (run_ns, wait_ns) in process.threads.times.items():
            if tid not in old.times and not old.are_all:
                continue
            run_before, wait_before = old.times.get(tid, (0, 0))
            if run_ns < run_before or wait_ns < wait_before:
                run_before = wait_before = 0
            used[key[0], tid] = (
                min(1.0, (run_ns - run_before) / 1e9 / elapsed_s),
                min(1.0, (wait_ns - wait_before) / 1e9 / elapsed_s),
            )
    return used
