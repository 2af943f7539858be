"""The probes of disk and network beside the tools whose definitions they go by: fio and iperf3, on the same directory and loopback.

In turn (A B, B A, ...), one pair a round; what counts is the ratio pair by pair, of the ratios the median with its interval. Who
reads and writes a file does it on one and the same processor; of a stream either end has its own, the same for both. fio's file is laid out
before it is measured (`overwrite=1`), as the probe's is, and each file has gone before the next is made.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from bench.paired import Cost, first_line, held_against, in_turn, keep, on_processors, spread, whole_process
from loadcell.targets.shared.process import free_port

#: Before each measurement, and not in it.
RAMP_S = 0.5
STREAM_RAMP_S = 1  # iperf3 knows whole seconds only
BLOCK, STREAM_BLOCK = 4096, 128 * 1024


@dataclass(frozen=True)
class Job:
    """One job, in fio's words; `aim` is how far the median ratio may be from 1."""

    name: str
    access: str
    direct: bool
    fdatasync: int
    aim: float = 0.03


JOBS = (
    Job("randread, direct", "randread", True, 0),
    Job("randwrite, direct", "randwrite", True, 0),
    Job("readwrite, fdatasync=1", "readwrite", False, 1),
)


def main() -> None:
    """Measure, and keep the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--size-mib", type=int, default=256)
    parser.add_argument("--directory", default="/var/tmp", help="where the files lie")
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    asked = parser.parse_args()
    found: dict[str, Any] = {}
    place = Path(tempfile.mkdtemp(prefix="loadcell-bench-", dir=asked.directory))
    try:
        for job in [job for job in JOBS if asked.only in job.name]:
            contenders = {
                "loadcell": partial(probe, asked, place, job),
                "fio": partial(fio, asked, place, job),
            }
            with on_processors(max(os.sched_getaffinity(0))):
                costs = in_turn(asked.rounds, contenders, unit="block")
            found[job.name] = judged(costs, "fio", job.aim)
    finally:
        shutil.rmtree(place)
    if asked.only in "stream":
        near, far = min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))
        with on_processors(far), serving() as ports, on_processors(near):
            over = {
                "loadcell": partial(stream, asked, ports["loadcell"]),
                "iperf3": partial(iperf3, asked, ports["iperf3"]),
            }
            costs = in_turn(asked.rounds, over, unit="block")
        found["stream"] = judged(costs, "iperf3", 0.05)
    result = {
        "rounds": asked.rounds,
        "seconds": asked.seconds,
        "tools": {"fio": first_line("fio", "--version"), "iperf3": first_line("iperf3", "--version")},
        **found,
    }
    print(json.dumps(result, indent=2))
    if not asked.only:
        keep(
            "probes_io",
            f"python -m bench.probes_io --rounds {asked.rounds} --seconds {asked.seconds}",
            result,
        )


def judged(costs: dict[str, list[Cost]], tool: str, aim: float) -> dict[str, Any]:
    """Rates, and their ratio held against the aim."""
    rates = {name: [one.per_second for one in each] for name, each in costs.items()}
    cpu = {name: [one.per_query_us for one in each] for name, each in costs.items()}
    return {
        "blocks_a_second": {name: spread(each) for name, each in rates.items()},
        "cpu_us_a_block": {name: spread(each) for name, each in cpu.items()},
        f"loadcell / {tool}": held_against(aim, rates["loadcell"], rates[tool]),
    }


# -- loadcell -----------------------------------------------------------------------------------------------------------


def order(
    target: dict[str, Any], workload: dict[str, Any], seconds: int, ramp_s: float
) -> tuple[dict[str, Any], float]:
    """A load by the worker process: its result, and CPU seconds of its threads in the measured window."""
    spec = {
        "version": 1,
        "seed": 1,
        "target": {"protocol": "host", **target},
        "workload": {"probe": workload},
        "load": {"clients": 1, "warmup_ns": int(ramp_s * 10**9), "duration_ns": seconds * 10**9},
    }
    send = json.dumps({"mode": "run", "parent": os.getpid(), "spec": spec})
    _, output = whole_process([sys.executable, "-m", "loadcell.run.worker"], send=send)
    last: dict[str, Any] = json.loads(output.splitlines()[-1])
    if last["type"] != "result" or last["result"]["outcome"] != "completed":
        raise SystemExit(str(last)[:500])
    result: dict[str, Any] = last["result"]
    return result, sum(one["cpu_ns"] for one in result["client"]["threads"]) / 1e9


def transactions(result: dict[str, Any], cpu_s: float) -> Cost:
    """What its transactions cost."""
    return Cost(cpu_s, result["operations"][0]["succeeded"], result["window"]["duration_ns"] / 1e9)


def probe(asked: argparse.Namespace, place: Path, job: Job) -> Cost:
    """The job as a disk probe."""
    options = {
        "access": job.access,
        "size_bytes": asked.size_mib * 2**20,
        "block_bytes": BLOCK,
        "direct": job.direct,
        "fdatasync": job.fdatasync,
        "depth": 1,
        "engine": "psync",
    }
    result, cpu_s = order({"directory": str(place)}, {"disk": options}, asked.seconds, RAMP_S)
    if result.get("remarks"):
        raise SystemExit(f"{place} cannot do direct I/O: name another --directory")
    return transactions(result, cpu_s)


def stream(asked: argparse.Namespace, port: int) -> Cost:
    """A stream over the loopback."""
    workload = {"network": {"test": "stream", "block_bytes": STREAM_BLOCK}}
    result, cpu_s = order({"peer": f"127.0.0.1:{port}"}, workload, asked.seconds, STREAM_RAMP_S)
    return transactions(result, cpu_s)


# -- the tools ----------------------------------------------------------------------------------------------------------


def fio(asked: argparse.Namespace, place: Path, job: Job) -> Cost:
    """The same job by fio."""
    file = place / "fio"
    command = [
        "fio", "--name=job", f"--filename={file}", f"--size={asked.size_mib}m", f"--bs={BLOCK}",
        f"--rw={job.access}", f"--direct={int(job.direct)}", f"--fdatasync={job.fdatasync}", "--ioengine=psync",
        "--overwrite=1", "--time_based", f"--runtime={asked.seconds}", f"--ramp_time={int(RAMP_S * 1000)}ms",
        "--output-format=json",
    ]  # fmt: skip
    [done] = json.loads(output_of(command))["jobs"]
    file.unlink()
    seconds = done["job_runtime"] / 1000
    blocks = done["read"]["total_ios"] + done["write"]["total_ios"]
    return Cost((done["usr_cpu"] + done["sys_cpu"]) / 100 * seconds, blocks, seconds)


def iperf3(asked: argparse.Namespace, port: int) -> Cost:
    """The same stream by iperf3, as the receiver counted it."""
    command = [
        "iperf3", "-c", "127.0.0.1", "-p", str(port), "-t", str(asked.seconds), "-O", str(STREAM_RAMP_S), "-J",
    ]  # fmt: skip
    end = json.loads(output_of(command))["end"]
    got = end["sum_received"]
    cpu_s = end["cpu_utilization_percent"]["host_total"] / 100 * got["seconds"]
    return Cost(cpu_s, round(got["bytes"] / STREAM_BLOCK), got["seconds"])


@contextmanager
def serving() -> Iterator[dict[str, int]]:
    """The other ends of streams while it lasts: the port of each."""
    ports = {"loadcell": free_port(), "iperf3": free_port()}
    commands = (
        [sys.executable, "-m", "loadcell", "host", "--serve", f"127.0.0.1:{ports['loadcell']}"],
        ["iperf3", "-s", "-p", str(ports["iperf3"])],
    )
    servers = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for command in commands]
    try:
        for port in ports.values():
            wait_for(port)
        yield ports
    finally:
        for server in servers:
            server.terminate()
            server.wait()


def wait_for(port: int, patience_s: float = 10) -> None:
    """Until something listens there. The kernel is asked for it: iperf3 would take a connection for a test."""
    deadline = time.monotonic() + patience_s
    while not any(
        one.status == psutil.CONN_LISTEN and one.laddr[1:] == (port,) for one in psutil.net_connections("tcp")
    ):
        if time.monotonic() > deadline:
            raise SystemExit(f"nothing listens on port {port} after {patience_s:.0f} s")
        time.sleep(0.05)


def output_of(command: Sequence[str]) -> str:
    """What a tool prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} failed: {done.stderr[-500:] or done.stdout[-500:]}")
    return done.stdout


if __name__ == "__main__":
    main()
