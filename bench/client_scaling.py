"""Speed-up by a second client thread: throughput and CPU per request at one and at two threads.

The server takes CPU, too: on a machine with two cores, two threads of the client and a server are three that
want two cores, and no target of this machine is far from its limit. So beside the plain ratio (two threads
over one) the second thread is compared with the ideal: two processes with a thread each, which share nothing,
on the same cores beside the same server. The shortfall of two threads is the cost of sharing. The CPU per
request gives the speed-up with cores enough: twice the ratio of one thread's CPU per request to two threads'.

The server is bare_server.rs: a read and a write a request, the least that a server can do.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from bench.paired import EXAMPLES, ROOT, keep, note, ratios, spread, worker_order

CLIENTS = 32


@dataclass(frozen=True)
class Measurement:
    """Requests per second, and CPU microseconds of the load threads per request, of all processes."""

    per_second: float
    cpu_us: float


@contextmanager
def bare_server() -> Iterator[int]:
    """The server on any core; its port."""
    process = subprocess.Popen(
        [str(EXAMPLES / "bare_server"), "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline().split()[1])
    finally:
        process.stdin.close()
        process.wait()


def specification(port: int, clients: int, threads: int, seconds: float, **target: Any) -> dict[str, Any]:
    """A closed loop of GETs."""
    where = {"protocol": "http", "host": "127.0.0.1", "port": port, "sslmode": "disable", **target}
    return {
        "version": 1,
        "seed": 1,
        "target": where,
        "workload": {"http": {"requests": [{"path": "/"}]}},
        "load": {
            "clients": clients,
            "threads": threads,
            "warmup_ns": int(0.3e9),
            "duration_ns": int(seconds * 1e9),
        },
    }


def load(port: int, processes: int, threads: int, seconds: float) -> Measurement:
    """Run `processes` workers at once with `threads` threads each; 32 connections per thread."""
    spec = specification(port, CLIENTS * threads, threads, seconds)
    workers = []
    for _ in range(processes):
        worker = subprocess.Popen(
            [sys.executable, "-m", "loadcell.execution.worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
        )  # fmt: skip
        assert worker.stdin is not None
        worker.stdin.write(worker_order(spec))
        workers.append(worker)
    # All begin when all have started Python.
    time.sleep(0.5)
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.close()
    per_second = cpu_ns = requests = 0.0
    for worker in workers:
        assert worker.stdout is not None
        result = json.loads(worker.stdout.read().splitlines()[-1])["result"]
        worker.wait()
        assert result["outcome"] == "completed", result
        assert not result["errors"], result["errors"]
        done = next(
            operation["succeeded"] for operation in result["operations"] if operation["name"] == "transaction"
        )
        per_second += done / (result["window"]["duration_ns"] / 1e9)
        requests += done
        cpu_ns += sum(thread["cpu_ns"] for thread in result["client"]["threads"])
    return Measurement(per_second, cpu_ns / requests / 1e3)


def medians(measurements: Sequence[Measurement]) -> dict[str, Any]:
    """The spread of both values."""
    return {
        "requests_per_s": spread([measurement.per_second for measurement in measurements]),
        "cpu_us_per_request": spread([measurement.cpu_us for measurement in measurements]),
    }


def main() -> None:
    """Measure in turn, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=3)
    args = parser.parse_args()
    shapes = {"one thread": (1, 1), "two threads": (1, 2), "two processes": (2, 1)}
    measurements: dict[str, list[Measurement]] = {name: [] for name in shapes}
    with bare_server() as port:
        for number in range(args.rounds):
            names = list(shapes)
            for name in names[number % 3 :] + names[: number % 3]:
                measurement = load(port, *shapes[name], args.seconds)
                measurements[name].append(measurement)
                note(
                    f"  round {number + 1} {name:14} {measurement.per_second:9,.0f}/s "
                    f"{measurement.cpu_us:5.2f} us CPU/request"
                )
    rate = {name: [measurement.per_second for measurement in runs] for name, runs in measurements.items()}
    cpu = {name: [measurement.cpu_us for measurement in runs] for name, runs in measurements.items()}
    worth = [
        2 * single / shared for single, shared in zip(cpu["two processes"], cpu["two threads"], strict=True)
    ]
    result = {
        "rounds": args.rounds,
        "seconds": args.seconds,
        "cores": len(os.sched_getaffinity(0)),
        **{name: medians(runs) for name, runs in measurements.items()},
        "rate, two threads / one": ratios(rate["two threads"], rate["one thread"]),
        "rate, two threads / two processes": ratios(rate["two threads"], rate["two processes"]),
        "cpu, two threads / two processes": ratios(cpu["two threads"], cpu["two processes"]),
        "two threads would be worth": spread(worth),
    }
    keep(
        "client_scaling",
        f"python -m bench.client_scaling --rounds {args.rounds} --seconds {args.seconds:g}",
        result,
    )
    for name in list(result)[-4:]:
        ratio: Any = result[name]
        print(f"{name}: {ratio['median']:.2f} ({ratio['min']:.2f} to {ratio['max']:.2f})")
    print(
        "(median rates: "
        f"{', '.join(f'{name} {statistics.median(runs):,.0f}/s' for name, runs in rate.items())})"
    )


if __name__ == "__main__":
    main()
