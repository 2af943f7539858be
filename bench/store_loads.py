"""Gets of one embedded store, by loadcell and by a loop written by hand in the same language.

Both draw uniform keys of the same file and get them, each in its own transaction, on the same number of
threads. loadcell times and records each of them, from when it was due and from when it was called; the loop
(`redb_loop.rs`, `lmdb_loop.rs`) only counts.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.paired import EXAMPLES, Cost, run_process, run_worker

#: what a store reads it keeps: all that there is
_CACHE = 256 * 2**20
_WARMUP_NS = 200_000_000


@dataclass(frozen=True)
class Stored:
    """A store in its own directory: `engine` is `redb` or `lmdb`."""

    engine: str
    directory: Path
    keys: int
    seconds: float

    def prepare(self) -> None:
        """Write all keys, with values of 100 bytes."""
        self._order("prepare", 1)

    def loadcell(self, threads: int) -> Cost:
        """A load of gets; the CPU time is that of the threads that make it."""
        result = self._order("run", threads)
        made = result["client"]["threads"]
        cpu_ns, gets = (sum(thread[name] for thread in made) for name in ("cpu_ns", "requests"))
        return Cost(cpu_ns / 1e9, gets, result["window"]["duration_ns"] / 1e9)

    def by_hand(self, threads: int, *, timed: bool = False) -> Cost:
        """The same by the loop, which may time each get."""
        command = [
            EXAMPLES / f"{self.engine}_loop",
            self.directory / f"kv-0.{self.engine}",
            self.keys,
            self.seconds,
            threads,
            *(["timed"] if timed else []),
        ]
        _, output = run_process([str(word) for word in command])
        gets, cpu_s, took_s = output.split()
        return Cost(float(cpu_s), int(gets), float(took_s))

    def by_hand_apart(self, processes: int) -> Cost:
        """The same by several loops at once, each a process with one thread.

        LMDB alone supports that.
        """
        with ThreadPoolExecutor(processes) as pool:
            costs = [loop.result() for loop in [pool.submit(self.by_hand, 1) for _ in range(processes)]]
        return Cost(
            sum(cost.cpu_s for cost in costs),
            sum(cost.queries for cost in costs),
            max(cost.wall_s for cost in costs),
        )

    def _order(self, mode: str, threads: int) -> dict[str, Any]:
        """Result of a worker process on the store."""
        store = {"engine": self.engine, "directory": str(self.directory), "cache_bytes": _CACHE}
        spec = {
            "version": 1,
            "seed": 1,
            "target": {"protocol": "store", "store": store},
            "workload": {"kv": {"keys": self.keys, "reads": 1.0}},
            "load": {
                "clients": threads,
                "warmup_ns": _WARMUP_NS,
                "duration_ns": int(self.seconds * 1e9),
            },
        }
        return run_worker(spec, mode)[1]
