"""Client memory per connection, and throughput, at 1,000 and 10,000 kept-alive connections of HTTP and Redis.

Resident memory of the load's process while all its connections are in use; the difference of the two over
9,000 is the cost of a connection. Both ends are on this machine, in separate processes: a limit of open files
(`ulimit -Hn`) of 10,100 is enough. Runs take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.client_scaling import bare_server, specification
from bench.memory import resident_bytes
from bench.paired import ROOT, first_line, keep, note, ratios, spread

FEW, MANY = 1_000, 10_000


@contextmanager
def redis() -> Iterator[int]:
    """Run a Redis that accepts that many connections; yield its port."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    work = Path(tempfile.mkdtemp(prefix="loadcell-bench-"))
    words = {"port": port, "bind": "127.0.0.1", "save": "", "dir": work, "maxclients": MANY + 100}
    command = ["redis-server", *(str(word) for pair in words.items() for word in (f"--{pair[0]}", pair[1]))]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        time.sleep(1)
        yield port
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(work, ignore_errors=True)


def of_http(port: int, clients: int, seconds: float) -> dict[str, Any]:
    return _warm(specification(port, clients, 1, seconds))


def of_redis(port: int, clients: int, seconds: float) -> dict[str, Any]:
    spec = _warm(specification(port, clients, 1, seconds, protocol="resp"))
    return {**spec, "workload": {"kv": {"reads": 1.0, "keys": 1000}}}


def _warm(spec: dict[str, Any]) -> dict[str, Any]:
    """Lengthen the warm-up: the first request on each connection also makes the kernel allocate memory."""
    return {**spec, "load": {**spec["load"], "warmup_ns": int(1.5e9)}}


def load(spec: dict[str, Any]) -> tuple[float, float, int]:
    """Requests a second, CPU microseconds of the load's thread a request, and the worker's resident bytes in
    the last interval.
    """
    worker = subprocess.Popen(
        [sys.executable, "-m", "loadcell.execution.worker"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write(json.dumps({"mode": "run", "parent": os.getpid(), "spec": spec}))
    worker.stdin.close()
    resident, last = 0, ""
    for line in worker.stdout:
        last = line
        if json.loads(line).get("type") == "interval":
            resident = resident_bytes(worker.pid)
    worker.wait()
    result = json.loads(last)["result"]
    assert result["outcome"] == "completed", result
    assert not result["errors"], result["errors"]
    done = next(
        operation["succeeded"] for operation in result["operations"] if operation["name"] == "transaction"
    )
    cpu_ns = sum(thread["cpu_ns"] for thread in result["client"]["threads"])
    return done / (result["window"]["duration_ns"] / 1e9), cpu_ns / done / 1e3, resident


def measured(
    rounds: int, seconds: float, port: int, of: Callable[[int, int, float], dict[str, Any]]
) -> dict[str, Any]:
    """Both numbers of connections in turn."""
    rates: dict[int, list[float]] = {FEW: [], MANY: []}
    cpu: dict[int, list[float]] = {FEW: [], MANY: []}
    resident: dict[int, list[int]] = {FEW: [], MANY: []}
    for number in range(rounds):
        for clients in (FEW, MANY) if number % 2 == 0 else (MANY, FEW):
            rate, cost, resident_bytes = load(of(port, clients, seconds))
            rates[clients].append(rate)
            cpu[clients].append(cost)
            resident[clients].append(resident_bytes)
            note(
                f"  {clients:6,} connections {rate:9,.0f}/s {cost:5.2f} us CPU/request "
                f"{resident_bytes / 2**20:6.1f} MiB"
            )
    per_connection = [
        (many - few) / (MANY - FEW) for few, many in zip(resident[FEW], resident[MANY], strict=True)
    ]
    return {
        "bytes_per_connection": statistics.median(per_connection),
        "resident_bytes": {str(clients): spread(values) for clients, values in resident.items()},
        "requests_per_s": {str(clients): spread(values) for clients, values in rates.items()},
        "cpu_us_per_request": {str(clients): spread(values) for clients, values in cpu.items()},
        "rate, many / few": ratios(rates[MANY], rates[FEW]),
        "cpu, many / few": ratios(cpu[MANY], cpu[FEW]),
    }


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4)
    args = parser.parse_args()
    with bare_server() as port:
        http = measured(args.rounds, args.seconds, port, of_http)
    with redis() as port:
        resp = measured(args.rounds, args.seconds, port, of_redis)
    keep(
        "connections",
        f"python -m bench.connections --rounds {args.rounds} --seconds {args.seconds:g}",
        {"redis": first_line("redis-server", "--version"), "HTTP": http, "Redis": resp},
    )
    for name, result in (("HTTP", http), ("Redis", resp)):
        held, cost = result["rate, many / few"], result["cpu, many / few"]
        print(
            f"{name}: {result['bytes_per_connection']:,.0f} bytes a connection; throughput at {MANY:,} / "
            f"at {FEW:,}: "
            f"{held['median']:.2f} ({held['min']:.2f} to {held['max']:.2f}), the client's CPU a request "
            f"{cost['median']:.2f} ({cost['min']:.2f} to {cost['max']:.2f})"
        )


if __name__ == "__main__":
    main()
