"""Gets of one embedded store, by loadcell and by a loop written by hand in the same language.

Both draw uniform keys of the same file and get them, each in a transaction of its own, on so many threads.
loadcell times and records each of them, from when it was due and from when it was called; the loop
(`redb_loop.rs`, `lmdb_loop.rs`) only counts.
"""

from __future__ import annotations

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.paired import EXAMPLES, Cost, run_process

#: what a store reads it keeps: all that there is
_CACHE = 256 * 2**20
_WARMUP_NS = 200_000_000


@dataclass(frozen=True)
class Stored:
    """A store in a directory of its own: `engine` is `redb` or `lmdb`."""

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
        cpu_ns, gets = (sum(one[name] for one in made) for name in ("cpu_ns", "requests"))
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
        """The same by so many loops at once, each a process of its own with one thread.

        LMDB alone lets several in.
        """
        with ThreadPoolExecutor(processes) as pool:
            each = [one.result() for one in [pool.submit(self.by_hand, 1) for _ in range(processes)]]
        return Cost(
            sum(one.cpu_s for one in each), sum(one.queries for one in each), max(one.wall_s for one in each)
        )

    def _order(self, mode: str, threads: int) -> dict[str, Any]:
        """What a worker process does with the store, and its account of it."""
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
        send = json.dumps({"mode": mode, "parent": os.getpid(), "spec": spec})
        _, output = run_process([sys.executable, "-m", "loadcell.execution.worker"], send=send)
        last: dict[str, Any] = json.loads(output.splitlines()[-1])
        if last["type"] != "result":
            raise SystemExit(str(last))
        result: dict[str, Any] = last["result"]
        return result
