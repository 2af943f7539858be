"""Client CPU per Redis request: loadcell, redis-benchmark and a bare epoll loop, on one server.

CPU time of the whole client process over the requests it made, in turn (A B C, B C A ...). For loadcell the
start of Python is in it, which is most of a second, whatever the load; beside it stands what the thread that
makes the load took.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from typing import Any

from bench.paired import (
    EXAMPLES,
    Cost,
    first_line,
    in_turn,
    keep,
    note,
    ratios,
    run_process,
    run_worker,
    spread,
)

sys.path.insert(0, "tests")
from redis_server import RedisServer, debian_redis

CLIENTS = 32
KEYS = 100_000
VALUE = 100

#: The workload by name: the verb, and how many requests a connection sends at once.
CASES = {"get": ("get", 1), "set": ("set", 1), "get, pipeline 16": ("get", 16)}


def specification(server: RedisServer, verb: str, pipeline: int, seconds: int) -> dict[str, Any]:
    """Specification for the worker of a trial."""
    options = {"keys": KEYS, "value_size": VALUE, "mix": {verb: 1}, "pipeline": pipeline}
    return {
        "version": 1,
        "seed": 1,
        "target": server.endpoint(),
        "workload": {"kv": options},
        "load": {"clients": CLIENTS, "threads": 1, "warmup_ns": 0, "duration_ns": seconds * 10**9},
    }


def loadcell(server: RedisServer, verb: str, pipeline: int, seconds: int, threads_us: list[float]) -> Cost:
    """The worker process of a trial, with one engine thread; all it did counts, warm-up and drain too.

    What the thread alone took of CPU time a request, within the measurement, is appended to `threads_us`.
    """
    spec = specification(server, verb, pipeline, seconds)
    cpu_s, result = run_worker(spec)
    assert not result["errors"], result["errors"]
    threads_us.append(result["client"]["cpu_ns"] / 1e3 / result["queries"]["total"])
    return Cost(cpu_s, result["lifetime"]["queries"], result["window"]["duration_ns"] / 1e9)


def redis_benchmark(server: RedisServer, verb: str, pipeline: int, requests: int) -> Cost:
    """redis-benchmark with one thread, its random keys and the same sizes."""
    command = ["redis-benchmark", "-h", server.host, "-p", str(server.port), "-t", verb, "-c", str(CLIENTS)]
    command += ["-n", str(requests), "-r", str(KEYS), "-d", str(VALUE), "-P", str(pipeline), "--csv"]
    cpu_s, output = run_process(command)
    rate = re.search(rf'^"{verb.upper()}","([\d.]+)"', output, re.MULTILINE)
    assert rate is not None, output
    return Cost(cpu_s, requests, requests / float(rate[1]))


def bare_loop(server: RedisServer, verb: str, pipeline: int, seconds: int) -> Cost:
    """The limit: the same requests, and nothing else."""
    words = [server.host, server.port, verb, KEYS, VALUE, CLIENTS, pipeline, seconds]
    _, output = run_process([str(EXAMPLES / "bare_redis"), *map(str, words)])
    figures = json.loads(output)
    return Cost(figures["cpu_s"], figures["queries"], figures["wall_s"])


def main() -> None:
    """Measure, print a table, keep it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=15)
    args = parser.parse_args()
    result: dict[str, Any] = {
        "versions": {
            "redis-benchmark": first_line("redis-benchmark", "--version"),
            "redis-server": first_line(str(debian_redis()), "--version"),
        },
        "rounds": args.rounds,
        "seconds": args.seconds,
        "clients": CLIENTS,
        "cases": {},
    }
    with RedisServer(password="") as server:
        from loadcell import _engine

        _engine.prepare(json.dumps(specification(server, "get", 1, 1)), lambda _: None)
        for name, (verb, pipeline) in CASES.items():
            note(name)
            first = bare_loop(server, verb, pipeline, 2)
            requests, threads_us = round(first.per_second * args.seconds), list[float]()
            costs = in_turn(
                args.rounds,
                {
                    "loadcell": lambda v=verb, p=pipeline, t=threads_us: loadcell(
                        server, v, p, args.seconds, t
                    ),  # type: ignore[misc]
                    "redis-benchmark": lambda v=verb, p=pipeline, n=requests: redis_benchmark(
                        server, v, p, n
                    ),  # type: ignore[misc]
                    "bare loop": lambda v=verb, p=pipeline: bare_loop(server, v, p, args.seconds),  # type: ignore[misc]
                },
                unit="request",
            )
            cpu = {client: [cost.per_query_us for cost in runs] for client, runs in costs.items()}
            cpu["loadcell's thread"] = threads_us
            rate = {client: [cost.per_second for cost in runs] for client, runs in costs.items()}
            peers = ("redis-benchmark", "bare loop")
            result["cases"][name] = {
                "cpu_us_per_request": {client: spread(values) for client, values in cpu.items()},
                "requests_per_s": {client: spread(values) for client, values in rate.items()},
                "cpu_ratio": {peer: ratios(cpu["loadcell"], cpu[peer]) for peer in peers},
                "thread_cpu_ratio": {peer: ratios(threads_us, cpu[peer]) for peer in peers},
                "rate_ratio": {peer: ratios(rate["loadcell"], rate[peer]) for peer in peers},
            }
    command = f"python -m bench.client_cost_redis --rounds {args.rounds} --seconds {args.seconds}"
    keep("client_cost_redis", command, result)
    for name, figures in result["cases"].items():
        for which in ("cpu_ratio", "thread_cpu_ratio"):
            for peer, ratio in figures[which].items():
                spread_of = f"{ratio['median']:.2f} ({ratio['min']:.2f} to {ratio['max']:.2f})"
                print(f"{name}: {which}, loadcell / {peer}: {spread_of}")


if __name__ == "__main__":
    main()
