"""What loadcell itself takes of an embedded store's time: gets of redb, beside a loop written by hand in the same language.

Both draw uniform keys of the same file and get them, each in a transaction of its own. loadcell times and records each of
them, twice; the loop (`redb_loop.rs`) only counts. CPU time of the threads over the gets they made, in turn.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.paired import EXAMPLES, Cost, in_turn, keep, ratios, spread, whole_process

KEYS, CACHE = 100_000, 256 * 2**20


def main() -> None:
    """Measure, and keep the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        order(asked, Path(directory), "prepare")
        costs = in_turn(
            asked.rounds,
            {
                "loadcell": lambda: loadcell(asked, Path(directory)),
                "by hand": lambda: by_hand(asked, Path(directory)),
            },
            unit="get",
        )
    ours, theirs = costs["loadcell"], costs["by hand"]
    per_get = {name: spread([one.per_query_us for one in each]) for name, each in costs.items()}
    rate = {name: spread([one.per_second for one in each]) for name, each in costs.items()}
    result = {
        "rounds": asked.rounds,
        "seconds": asked.seconds,
        "threads": asked.threads,
        "cpu_us_a_get": per_get,
        "gets_a_second": rate,
        "loadcell / by hand": {
            "cpu": ratios([one.per_query_us for one in ours], [one.per_query_us for one in theirs]),
            "throughput": ratios([one.per_second for one in ours], [one.per_second for one in theirs]),
        },
    }
    print(json.dumps(result, indent=2))
    command = f"python -m bench.store_cost --rounds {asked.rounds} --seconds {asked.seconds}"
    keep("store_cost", command, result)


def order(asked: argparse.Namespace, directory: Path, mode: str) -> dict[str, Any]:
    """What a worker process does with the store, and its account of it."""
    store = {"engine": "redb", "directory": str(directory), "cache_bytes": CACHE}
    spec = {
        "version": 1,
        "seed": 1,
        "target": {"protocol": "store", "store": store},
        "workload": {"kv": {"keys": KEYS, "reads": 1.0}},
        "load": {
            "clients": asked.threads,
            "warmup_ns": 200_000_000,
            "duration_ns": asked.seconds * 10**9,
        },
    }
    send = json.dumps({"mode": mode, "parent": os.getpid(), "spec": spec})
    _, output = whole_process([sys.executable, "-m", "loadcell.run.worker"], send=send)
    last: dict[str, Any] = json.loads(output.splitlines()[-1])
    if last["type"] != "result":
        raise SystemExit(str(last))
    result: dict[str, Any] = last["result"]
    return result


def loadcell(asked: argparse.Namespace, directory: Path) -> Cost:
    """A load of gets."""
    result = order(asked, directory, "run")
    threads = result["client"]["threads"]
    cpu_ns, gets = (sum(one[name] for one in threads) for name in ("cpu_ns", "requests"))
    return Cost(cpu_ns / 1e9, gets, result["window"]["duration_ns"] / 1e9)


def by_hand(asked: argparse.Namespace, directory: Path) -> Cost:
    """The same by the loop."""
    file = directory / "kv-0.redb"
    command = [EXAMPLES / "redb_loop", file, KEYS, asked.seconds, asked.threads]
    _, output = whole_process([str(word) for word in command])
    gets, cpu_s, took_s = output.split()
    return Cost(float(cpu_s), int(gets), float(took_s))


if __name__ == "__main__":
    main()
