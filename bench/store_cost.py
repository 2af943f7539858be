"""What loadcell itself takes of an embedded store's time: gets of redb, beside a loop written by hand.

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
    command = f"python -m bench.store_cost --rounds {asked.rounds} --seconds {asked.seconds:g}"
    keep("store_cost", command, result)


if __name__ == "__main__":
    main()
