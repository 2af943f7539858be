"""Memory of the load's process after 1 million requests and after many: it must not grow with their number.

The servers answer at once: what is measured is the client, in the shortest time. They are
tests/truth/reference_server.rs for PostgreSQL, and bare_stream.rs for streams.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.paired import EXAMPLES, ROOT, keep, note, worker_order
from bench.stream_cost import FIELDS, SIZE

FIRST = 1_000_000
SECONDS = 3600


@dataclass(frozen=True)
class Case:
    """A load and its server."""

    #: words of the server's command, without the directory
    server: Sequence[str]
    #: port in its first line
    port: Callable[[str], int]
    #: target, workload and load by the port
    specification: Callable[[int], dict[str, Any]]
    #: requests after which memory is read again
    last: int


def point_selects(port: int) -> dict[str, Any]:
    """A closed loop of 16 clients."""
    return {
        "target": {"protocol": "postgres", "host": "127.0.0.1", "port": port, "user": "x", "database": "x"},
        "workload": {"sysbench": {"script": "oltp_point_select", "tables": 1, "table_size": 1000}},
        "load": {"clients": 16},
    }


def records(section: dict[str, Any]) -> Callable[[int], dict[str, Any]]:
    """Records as fast as they are taken, on one connection."""
    return lambda port: {
        "target": {"protocol": "stream", "host": "127.0.0.1", "port": port},
        "workload": {"stream": {"source": {"fields": FIELDS}, "size": SIZE, **section}},
        "load": {"clients": 1},
    }


def port_of_json(line: str) -> int:
    """Port of the servers of streams."""
    port: int = json.loads(line)["port"]
    return port


ANSWERED = {"answers": "each", "order": "key", "key": "key"}

CASES = {
    "memory": Case(["reference_server"], lambda line: int(line.split()[1]), point_selects, 30_000_000),
    "memory_stream": Case(["bare_stream", "sink"], port_of_json, records({}), 100_000_000),
    "memory_stream_answered": Case(["bare_stream", "answer"], port_of_json, records(ANSWERED), 100_000_000),
}


def resident_bytes(pid: int) -> int:
    """Resident set of a process, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


def specification(case: Case, port: int) -> dict[str, Any]:
    """Specification of a case; the load is killed at the last request."""
    sections = case.specification(port)
    load = {**sections["load"], "threads": 1, "warmup_ns": 0, "duration_ns": SECONDS * 10**9}
    target = {**sections["target"], "sslmode": "disable"}
    return {**sections, "version": 1, "seed": 1, "target": target, "load": load}


def measure(name: str, case: Case, last: int) -> None:
    """Run until the last count is reached, read memory at both, keep it."""
    program, *words = case.server
    server = subprocess.Popen(
        [str(EXAMPLES / program), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    port = case.port(server.stdout.readline())
    worker = subprocess.Popen(
        [sys.executable, "-m", "loadcell.execution.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write(worker_order(specification(case, port)))
    worker.stdin.close()
    done, marks = 0, {}
    try:
        for line in worker.stdout:
            event = json.loads(line)
            if event.get("type") != "interval":
                continue
            done += next(op["succeeded"] for op in event["operations"] if op["name"] == "transaction")
            if done >= FIRST and "first" not in marks:
                marks["first"] = {"requests": done, "resident_bytes": resident_bytes(worker.pid)}
            if done >= last:
                marks["last"] = {"requests": done, "resident_bytes": resident_bytes(worker.pid)}
                break
            if event["index"] % 10 == 0:
                note(f"  {done / 1e6:6.1f} million requests, {resident_bytes(worker.pid) / 2**20:.1f} MiB")
    finally:
        worker.kill()
        worker.wait()
        server.communicate()
    growth = marks["last"]["resident_bytes"] - marks["first"]["resident_bytes"]
    keep(name, f"python -m bench.memory {name} --requests {last}", {**marks, "growth_bytes": growth})
    for mark in marks.values():
        print(
            f"{name}: {mark['requests'] / 1e6:.1f} million requests: "
            f"{mark['resident_bytes'] / 2**20:.2f} MiB resident"
        )
    print(f"{name}: growth {growth / 2**20:.2f} MiB")


def main() -> None:
    """Measure the cases that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}; otherwise all")
    parser.add_argument("--requests", type=int)
    args = parser.parse_args()
    if unknown := set(args.cases) - set(CASES):
        parser.error(f"unknown case {', '.join(sorted(unknown))}: there are {', '.join(CASES)}")
    for name in args.cases or CASES:
        case = CASES[name]
        measure(name, case, args.requests or case.last)


if __name__ == "__main__":
    main()
