"""Client CPU per HTTP/2 request: loadcell and h2load (nghttp2), on one nginx, without TLS.

CPU time of the whole client process, from its start to its end, over the requests it made: for loadcell that
includes starting Python. Both have one request in progress on each of their connections. The server has one
core and every client, each in its turn, the other.
"""

from __future__ import annotations

import argparse
import os
import re
from typing import Any

from bench.client_cost_http import CLIENTS, loadcell, nginx, version_of
from bench.paired import Cost, in_turn, keep, note, ratios, run_process, spread


def h2load(port: int, core: int, seconds: int) -> Cost:
    """h2load with one thread, and one stream a connection."""
    command = [
        "taskset",
        "-c",
        str(core),
        "h2load",
        "-t",
        "1",
        "-c",
        str(CLIENTS),
        "-m",
        "1",
        "-D",
        str(seconds),
    ]
    cpu_s, output = run_process([*command, f"http://127.0.0.1:{port}/"])
    done = re.search(r"(\d+) succeeded, (\d+) failed", output)
    assert done is not None, output
    assert done[2] == "0", output
    return Cost(cpu_s, int(done[1]), seconds)


def main() -> None:
    """Measure, print a table, keep it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=5)
    args = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    theirs, ours = cores[0], cores[-1]
    with nginx(theirs, "http2") as port:
        costs = in_turn(
            args.rounds,
            {
                "loadcell": lambda: loadcell(port, ours, args.seconds, "2"),
                "h2load": lambda: h2load(port, ours, args.seconds),
            },
            unit="request",
        )
    cpu = {name: [cost.per_query_us for cost in runs] for name, runs in costs.items()}
    rate = {name: [cost.per_second for cost in runs] for name, runs in costs.items()}
    result: dict[str, Any] = {
        "versions": {"h2load": version_of("h2load", "--version"), "nginx": version_of("nginx", "-v")},
        "rounds": args.rounds,
        "seconds": args.seconds,
        "clients": CLIENTS,
        "cpu_us_per_request": {name: spread(values) for name, values in cpu.items()},
        "requests_per_s": {name: spread(values) for name, values in rate.items()},
        "cpu_ratio": {"h2load": ratios(cpu["loadcell"], cpu["h2load"])},
        "rate_ratio": {"h2load": ratios(rate["loadcell"], rate["h2load"])},
    }
    keep(
        "client_cost_http2",
        f"python -m bench.client_cost_http2 --rounds {args.rounds} --seconds {args.seconds}",
        result,
    )
    for measure, ratio in (("CPU", result["cpu_ratio"]["h2load"]), ("rate", result["rate_ratio"]["h2load"])):
        note(
            f"{measure}, loadcell / h2load: {ratio['median']:.2f} ({ratio['min']:.2f} to {ratio['max']:.2f})"
        )


if __name__ == "__main__":
    main()
