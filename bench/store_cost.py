"""Overhead of loadcell on an embedded store: gets of redb, next to hand-written loops without and with a
clock.

CPU time of the threads over the gets they made, in turn. How both get: `store_loads.py`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from bench.paired import in_turn, keep, ratios, spread
from bench.store_loads import Stored

KEYS = 100_000


def main() -> None:
    """Measure, and keep the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        store = Stored("redb", Path(directory), KEYS, asked.seconds)
        store.prepare()
        costs = in_turn(
            asked.rounds,
            {
                "loadcell": lambda: store.loadcell(asked.threads),
                "by hand": lambda: store.by_hand(asked.threads),
                "by hand, timed": lambda: store.by_hand(asked.threads, timed=True),
            },
            unit="get",
        )
    per_get = {name: spread([cost.per_query_us for cost in runs]) for name, runs in costs.items()}
    rate = {name: spread([cost.per_second for cost in runs]) for name, runs in costs.items()}
    result = {
        "rounds": asked.rounds,
        "seconds": asked.seconds,
        "threads": asked.threads,
        "cpu_us_a_get": per_get,
        "gets_a_second": rate,
        **{
            f"{ours} / {theirs}": {
                "cpu": ratios(*([cost.per_query_us for cost in costs[who]] for who in (ours, theirs))),
                "throughput": ratios(*([cost.per_second for cost in costs[who]] for who in (ours, theirs))),
            }
            for ours, theirs in (
                ("loadcell", "by hand"),
                ("loadcell", "by hand, timed"),
                ("by hand, timed", "by hand"),
            )
        },
    }
    print(json.dumps(result, indent=2))
    command = f"python -m bench.store_cost --rounds {asked.rounds} --seconds {asked.seconds:g}"
    keep("store_cost", command, result)


if __name__ == "__main__":
    main()
