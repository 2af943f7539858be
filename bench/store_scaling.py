"""Speed-up by a second thread where the target is not the limit: gets of LMDB, with one thread and with two.

A target in a separate process needs a core to itself, so on two cores the only target that is not the limit
is in the load's own process. LMDB's readers take no lock and share no line of memory that any of them writes,
and all values lie in the processor's caches: so a second thread could double the throughput. How much it is
on this machine (whose two processors may be one core's hardware threads) the loop written by hand says, which
records nothing and shares nothing. What loadcell's threads fall short of that, they cost each other: the
ratio of the two ratios. Two such loops in processes of their own share the file and its table of readers, and
nothing else: what two threads of one process lack beside them is the process's.

Where others use the machine, throughput says little: twice the CPU a get of one thread over that of two is
what the second would be worth if each had a core.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.paired import Cost, in_turn, keep, ratios, spread
from bench.store_loads import Stored

#: a megabyte and a half of tree and values
KEYS = 10_000
#: those of the plain loop are the limit
WHO = ("loadcell", "by hand")


def main() -> None:
    """Measure in turn, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--engine", choices=("lmdb", "redb"), default="lmdb")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        store = Stored(asked.engine, Path(directory), KEYS, asked.seconds)
        store.prepare()
        costs = in_turn(
            asked.rounds,
            {
                "loadcell, one": lambda: store.loadcell(1),
                "loadcell, two": lambda: store.loadcell(2),
                "by hand, one": lambda: store.by_hand(1),
                "by hand, two": lambda: store.by_hand(2),
                **({"by hand, apart": lambda: store.by_hand_apart(2)} if asked.engine == "lmdb" else {}),
            },
            unit="get",
        )
    worth = {who: scaling(costs[f"{who}, one"], costs[f"{who}, two"]) for who in WHO}
    result: dict[str, Any] = {
        "rounds": asked.rounds,
        "seconds": asked.seconds,
        "engine": asked.engine,
        "cores": len(os.sched_getaffinity(0)),
        "gets_a_second": {name: spread([cost.per_second for cost in runs]) for name, runs in costs.items()},
        "cpu_us_a_get": {name: spread([cost.per_query_us for cost in runs]) for name, runs in costs.items()},
        "two threads / one, loadcell": spread(worth["loadcell"]),
        "two threads / one, by hand": spread(worth["by hand"]),
        "two threads / one, loadcell / by hand": ratios(worth["loadcell"], worth["by hand"]),
        **{
            f"with cores enough, {who}": spread(deserved(costs[f"{who}, one"], costs[f"{who}, two"]))
            for who in WHO
        },
    }
    if apart := costs.get("by hand, apart"):
        result["two processes / one, by hand"] = spread(scaling(costs["by hand, one"], apart))
        result["with cores enough, by hand, two processes"] = spread(deserved(costs["by hand, one"], apart))
    command = f"python -m bench.store_scaling --rounds {asked.rounds} --seconds {asked.seconds:g}"
    keep("store_scaling", command + ("" if asked.engine == "lmdb" else f" --engine {asked.engine}"), result)
    for name in [name for name in result if name.startswith(("two", "with"))]:
        print(
            f"{name}: {result[name]['median']:.2f} ({result[name]['min']:.2f} to {result[name]['max']:.2f})"
        )


def scaling(single: Sequence[Cost], both: Sequence[Cost]) -> list[float]:
    """Throughput of two threads over that of one, round by round."""
    return [second.per_second / first.per_second for first, second in zip(single, both, strict=True)]


def deserved(single: Sequence[Cost], both: Sequence[Cost]) -> list[float]:
    """Speed-up of two at once with a core each, by the CPU time of a get alone and next to the other."""
    return [2 * first.per_query_us / second.per_query_us for first, second in zip(single, both, strict=True)]


if __name__ == "__main__":
    main()
