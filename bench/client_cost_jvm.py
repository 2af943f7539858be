"""Client CPU per HTTP request on a service on the JVM, over that on nginx with bodies of the same size.

Closed: as many requests as the server answers. Paced: the same rate at both, which leaves no difference but
that of the responses. The server has one core and the client the other.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

from bench.berkeleydb_service import VALUE_BYTES, RunningService, berkeleydb
from bench.client_cost_http import nginx, specification, worker_cost
from bench.paired import Cost, in_turn, keep, note, ratio_to_aim, spread

#: Largest difference from 1 of the cost on the JVM over that on nginx.
AIM = 0.1
#: Requests per second of the paced load, which either server completes on one core.
RATE = 4_000
WARM_UP_S = 10


def cost(port: int, path: str, core: int, seconds: int, *, paced: bool) -> Cost:
    """Cost of a load of GET requests."""
    load: dict[str, Any] = {"duration_ns": seconds * 10**9, "timeout_ns": 5 * 10**9}
    if paced:
        segment = {"from_per_s": RATE, "to_per_s": RATE, "for_ns": seconds * 10**9}
        load["schedule"] = {"arrivals": "constant", "rate": [segment]}
    return worker_cost(core, specification(port, {"requests": [{"path": path}]}, **load))


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=int, default=4)
    args = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    theirs, ours = cores[0], cores[-1]
    prefix = ["taskset", "-c", str(theirs)]
    with berkeleydb(prefix) as service, nginx(theirs, body="0" * VALUE_BYTES) as port:
        cost(service.port, "/random_get", ours, WARM_UP_S, paced=False)  # until it is compiled
        result: dict[str, Any] = {
            "rounds": args.rounds,
            "seconds": args.seconds,
            "rate_per_s": RATE,
            "body_bytes": VALUE_BYTES,
        }
        for name, paced in (("closed", False), ("paced", True)):
            result[name] = _compared(service, port, ours, args, paced=paced)
    keep(
        "client_cost_jvm",
        f"python -m bench.client_cost_jvm --rounds {args.rounds} --seconds {args.seconds}",
        result,
    )


def _compared(
    service: RunningService, port: int, core: int, args: argparse.Namespace, *, paced: bool
) -> object:
    costs = in_turn(
        args.rounds,
        {
            "jvm": lambda: cost(service.port, "/random_get", core, args.seconds, paced=paced),
            "nginx": lambda: cost(port, "/", core, args.seconds, paced=paced),
        },
        unit="request",
    )
    cpu = {name: [run.per_query_us for run in runs] for name, runs in costs.items()}
    ratio = ratio_to_aim(AIM, cpu["jvm"], cpu["nginx"])
    values = f"{ratio['median']:.3f} ({ratio['min']:.3f} to {ratio['max']:.3f})"
    note(f"{'paced' if paced else 'closed'}: CPU, JVM / nginx: {values}")
    return {"cpu_us_per_request": {name: spread(values) for name, values in cpu.items()}, "ratio": ratio}


if __name__ == "__main__":
    main()
