"""Costs of HTTP scenarios: `python -m bench.http_scenario`, on one nginx with a JSON body of 1 KB.

Two parts:

- `instructions`: of the load thread for one more request, counted by callgrind (the difference between a load
  of many and one of few requests): a scenario of one step over single requests. Aim: 1.1 at most.
- `cpu`: CPU time of the whole client process over its requests, in turn: single requests, a scenario of one
  step, a scenario of four steps that extracts a value from a body and sends it in the next request, and the
  peers that are installed (hey, vegeta and oha in --peers or PATH). Aim: requests per CPU second of the
  scenario of four steps at least 0.8 of those of single requests.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.client_cost_http import CLIENTS, nginx, specification, version_of, worker_cost
from bench.paired import (
    Cost,
    in_turn,
    keep,
    note,
    on_processors,
    ratios,
    run_process,
    spread,
    worker_order,
)

#: Few and many requests of the loads whose instructions are counted.
REQUESTS = (5_000, 30_000)
#: A response of 1 KB whose value stands in the second half.
BODY = json.dumps(
    {
        "page": 1,
        "items": [
            {"id": 1000 + number, "name": f"Item {number}", "price": 9.5, "tags": ["new", "in stock"]}
            for number in range(12)
        ],
        "token": "0123456789abcdef0123456789abcdef",
        "next": "/items?page=2&more=" + "x" * 30,
    }
)


def single() -> dict[str, Any]:
    """Single requests."""
    return {"requests": [{"path": "/"}]}


def scenario(steps: int) -> dict[str, Any]:
    """A scenario; from two steps on the first one extracts a value that the second one sends."""
    names = [f"step{number}" for number in range(steps)]
    entries: list[dict[str, Any]] = [{"name": name, "path": "/"} for name in names]
    if steps > 1:
        entries[0]["extract"] = [{"variable": "token", "json": "$.token"}]
        entries[1]["path"] = "/?token=${token}"
    return {"requests": [], "scenario": {"steps": entries}}


LOADS: dict[str, tuple[dict[str, Any], int]] = {
    "single": (single(), 1),
    "one step": (scenario(1), 1),
    "four steps": (scenario(4), 4),
}


def loadcell(name: str, port: int, core: int, seconds: int) -> Cost:
    """The worker process of a trial."""
    requests, steps = LOADS[name]
    return worker_cost(core, specification(port, requests, duration_ns=seconds * 10**9), steps)


def instructions(name: str, port: int, requests: int) -> int:
    """Instructions of the load thread of a worker that makes this number of requests."""
    with tempfile.TemporaryDirectory(prefix="loadcell-bench-") as home:
        valgrind = f"valgrind --tool=callgrind --separate-threads=yes --callgrind-out-file={home}/%p -q"
        load = {"requests": requests, "duration_ns": 300 * 10**9, "interval_ns": 10 * 10**9}
        order = worker_order(specification(port, LOADS[name][0], **load))
        run_process([*valgrind.split(), sys.executable, "-m", "loadcell.execution.worker"], send=order)
        threads = [path.read_text() for path in Path(home).iterdir() if not path.name.endswith("-01")]
    totals = [re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE) for text in threads]
    return sum(int(total[1]) for total in totals if total)


def instructions_per_request(port: int, core: int, repeats: int) -> dict[str, Any]:
    """Instructions for one more request, and their ratio."""
    per_request = {}
    with on_processors(core):
        for name in ("single", "one step"):
            counts = [[instructions(name, port, requests) for _ in range(repeats)] for requests in REQUESTS]
            few, many = (statistics.median(values) for values in counts)
            per_request[name] = (many - few) / (REQUESTS[1] - REQUESTS[0])
            note(f"  {name}: {per_request[name]:.0f} instructions per request")
    return {"per_request": per_request, "ratio": per_request["one step"] / per_request["single"]}


def peers(port: int, core: int, seconds: int, folder: str | None) -> dict[str, Callable[[], Cost]]:
    """Peers that are installed, by name: each makes single requests."""
    url, path = f"http://127.0.0.1:{port}/", os.pathsep.join(filter(None, (folder, os.environ["PATH"])))
    calls = {
        "hey": (f"hey -cpus 1 -z {seconds}s -c {CLIENTS} {url}", r"\[200\]\s+(\d+) responses"),
        "vegeta": (
            f"vegeta attack -rate=0 -max-workers={CLIENTS} -workers={CLIENTS} "
            f"-duration={seconds}s -output=/dev/null",
            None,
        ),
        "oha": (f"oha --no-tui -z {seconds}s -c {CLIENTS} {url}", r"\[200\]\s+(\d+) responses"),
    }

    def make(name: str) -> Cost:
        call, pattern = calls[name]
        words = call.split()
        command = ["taskset", "-c", str(core), shutil.which(words[0], path=path) or words[0], *words[1:]]
        before = served(port)
        started = time.monotonic()
        cpu_s, output = run_process(command, send=f"GET {url}\n" if pattern is None else "")
        took = time.monotonic() - started
        done = served(port) - before if pattern is None else int((re.search(pattern, output) or [0, 0])[1])
        assert done > 0, output
        return Cost(cpu_s, done, took)

    installed = [name for name in calls if shutil.which(name, path=path)]
    return {name: lambda name=name: make(name) for name in installed}  # type: ignore[misc]


def served(port: int) -> int:
    """Requests that nginx has served since it was started."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/status") as response:
        return int(response.read().split()[9])


def main() -> None:
    """Measure, print a table, keep it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--counts", type=int, default=3, help="of instructions (default: 3)")
    parser.add_argument("--peers", metavar="FOLDER", help="where hey, vegeta and oha are, if not in PATH")
    args = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    with nginx(cores[0], body=BODY) as port:
        counted = instructions_per_request(port, cores[-1], args.counts)
        contenders: dict[str, Callable[[], Cost]] = {
            name: lambda name=name: loadcell(name, port, cores[-1], args.seconds)  # type: ignore[misc]
            for name in LOADS
        }
        others = peers(port, cores[-1], args.seconds, args.peers)
        costs = in_turn(args.rounds, {**contenders, **others}, unit="request")
    cpu = {name: [cost.per_query_us for cost in runs] for name, runs in costs.items()}
    result: dict[str, Any] = {
        "versions": {"nginx": version_of("nginx", "-v")},
        "rounds": args.rounds,
        "seconds": args.seconds,
        "clients": CLIENTS,
        "body_bytes": len(BODY),
        "instructions": counted,
        "cpu_us_per_request": {name: spread(values) for name, values in cpu.items()},
        "requests_per_cpu_s_ratio": {
            name: ratios(cpu["single"], cpu[name]) for name in ("one step", "four steps")
        },
        "cpu_ratio": {name: ratios(cpu["four steps"], cpu[name]) for name in others},
    }
    words = f"--rounds {args.rounds} --seconds {args.seconds} --counts {args.counts}"
    keep("http_scenario", f"python -m bench.http_scenario {words}", result)
    note(f"instructions, one step / single: {counted['ratio']:.3f}")
    for title, table in (
        ("requests per CPU second, {} / single", result["requests_per_cpu_s_ratio"]),
        ("CPU per request, four steps / {}", result["cpu_ratio"]),
    ):
        for name, ratio in table.items():
            extent = f"({ratio['min']:.3f} to {ratio['max']:.3f})"
            note(f"{title.format(name)}: {ratio['median']:.3f} {extent}")


if __name__ == "__main__":
    main()
