"""Memory of the load's process after 1 million and after 30 million requests: it must not grow with their
number.

The server is tests/truth/reference_server.rs, which answers at once: what is measured is the client, in the
shortest time.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.paired import EXAMPLES, ROOT, keep, note, worker_order

FIRST, LAST = 1_000_000, 30_000_000
CLIENTS = 16


def resident_bytes(pid: int) -> int:
    """Resident set of a process, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


def specification(port: int, seconds: int) -> dict[str, Any]:
    """A closed loop of point selects on the known server."""
    target = {"protocol": "postgres", "host": "127.0.0.1", "port": port, "user": "x", "database": "x"}
    return {
        "version": 1,
        "seed": 1,
        "target": {**target, "sslmode": "disable"},
        "workload": {"sysbench": {"script": "oltp_point_select", "tables": 1, "table_size": 1000}},
        "load": {"clients": CLIENTS, "threads": 1, "warmup_ns": 0, "duration_ns": seconds * 10**9},
    }


def main() -> None:
    """Run until the last count is reached, read memory at both, keep it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=LAST)
    args = parser.parse_args()
    server = subprocess.Popen(
        [str(EXAMPLES / "reference_server")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    port = int(server.stdout.readline().split()[1])
    worker = subprocess.Popen(
        [sys.executable, "-m", "loadcell.execution.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write(worker_order(specification(port, 3600)))
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
            if done >= args.requests:
                marks["last"] = {"requests": done, "resident_bytes": resident_bytes(worker.pid)}
                break
            if event["index"] % 10 == 0:
                note(f"  {done / 1e6:6.1f} million requests, {resident_bytes(worker.pid) / 2**20:.1f} MiB")
    finally:
        worker.kill()
        worker.wait()
        server.communicate()
    growth = marks["last"]["resident_bytes"] - marks["first"]["resident_bytes"]
    keep("memory", f"python -m bench.memory --requests {args.requests}", {**marks, "growth_bytes": growth})
    for mark in marks.values():
        print(
            f"{mark['requests'] / 1e6:.1f} million requests: {mark['resident_bytes'] / 2**20:.2f} "
            "MiB resident"
        )
    print(f"growth: {growth / 2**20:.2f} MiB")


if __name__ == "__main__":
    main()
