"""Overhead of the workload `files`: reads of files, next to hand-written loops without and with a clock.

CPU time of the threads over the files they read, in turn. All read the same files from the page cache;
loadcell also looks at the mode and compares size, version and checksum, as its purpose is.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.paired import EXAMPLES, Cost, in_turn, keep, ratios, run_process, run_worker, spread

COUNT = 1000
_WARMUP_NS = 200_000_000


@dataclass(frozen=True)
class Files:
    """Files of `size_bytes` in a directory."""

    directory: Path
    size_bytes: int
    seconds: float

    @property
    def data(self) -> Path:
        """The directory of the files themselves."""
        return self.directory / "data"

    def prepare(self) -> None:
        """Write all files."""
        for directory in (self.data, self.directory / "lists"):
            directory.mkdir()
        self._order("prepare")

    def loadcell(self) -> Cost:
        """A load of reads; the CPU time is that of the thread that makes it."""
        result = self._order("run")
        [thread] = result["client"]["threads"]
        return Cost(thread["cpu_ns"] / 1e9, thread["requests"], result["window"]["duration_ns"] / 1e9)

    def by_hand(self, *words: str) -> Cost:
        """The same by the loop, which may time each read."""
        command = (str(EXAMPLES / "files_loop"), str(self.data), str(COUNT), str(self.seconds), "1", *words)
        reads, cpu_s, took_s = run_process(command)[1].split()
        return Cost(float(cpu_s), int(reads), float(took_s))

    def _order(self, mode: str) -> dict[str, Any]:
        mix = {"create": 0, "write": 0, "read": 1, "rename": 0, "list": 0, "delete": 0}
        section = {"directory": str(self.data), "lists": str(self.directory / "lists")}
        files = {"count": COUNT, "directories": 10, "sizes": [self.size_bytes], "mix": mix, "fsync": False}
        spec = {
            "version": 1,
            "seed": 1,
            "target": {"protocol": "files", "files": section},
            "workload": {"files": files},
            "load": {"clients": 1, "warmup_ns": _WARMUP_NS, "duration_ns": int(self.seconds * 1e9)},
        }
        return run_worker(spec, mode)[1]


def compared(size_bytes: int, rounds: int, seconds: float) -> dict[str, Any]:
    """CPU time per read and its ratios, for files of one size."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        files = Files(Path(directory), size_bytes, seconds)
        files.prepare()
        costs = in_turn(
            rounds,
            {
                "loadcell": files.loadcell,
                "by hand": files.by_hand,
                "by hand, timed": lambda: files.by_hand("timed"),
            },
            unit="read",
        )
    per_read = {name: [cost.per_query_us for cost in runs] for name, runs in costs.items()}
    return {
        "cpu_us_a_read": {name: spread(values) for name, values in per_read.items()},
        **{
            f"loadcell / {other}": ratios(per_read["loadcell"], per_read[other])
            for other in ("by hand", "by hand, timed")
        },
    }


def main() -> None:
    """Measure, and keep the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=2)
    asked = parser.parse_args()
    sizes = {"4 KiB": 4096, "64 KiB": 65536}
    result = {name: compared(size_bytes, asked.rounds, asked.seconds) for name, size_bytes in sizes.items()}
    print(json.dumps(result, indent=2))
    keep("files_cost", f"python -m bench.files_cost --rounds {asked.rounds}", result)


if __name__ == "__main__":
    main()
