"""The probes of disk and network beside the tools whose definitions they go by: fio and iperf3, on the same directory and loopback.

In turn, tool and probe, one pair a round; what counts is the ratio pair by pair. fio's file is laid out before it is measured
(`overwrite=1`), as the probe's is.
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
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.paired import Cost, first_line, in_turn, keep, ratios, spread, whole_process
from loadcell.targets.shared.process import free_port

#: Before each measurement, and not in it.
RAMP_S = 1
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
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--size-mib", type=int, default=512)
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
            costs = in_turn(asked.rounds, contenders, unit="block")
            found[job.name] = judged(costs, "fio", job.aim)
    finally:
        shutil.rmtree(place)
    if asked.only in "stream":
        over = {"loadcell": partial(stream, asked), "iperf3": partial(iperf3, asked)}
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
    ratio = ratios(rates["loadcell"], rates[tool])
    return {
        "blocks_a_second": {name: spread(each) for name, each in rates.items()},
        "cpu_us_a_block": {name: spread(each) for name, each in cpu.items()},
        f"loadcell / {tool}": ratio,
        "aim": aim,
        "met": abs(ratio["median"] - 1) <= aim,
    }


# -- loadcell -----------------------------------------------------------------------------------------------------------


def order(target: dict[str, Any], workload: dict[str, Any], seconds: int) -> tuple[dict[str, Any], float]:
    """A load by the worker process: its result, and CPU seconds of its threads in the measured window."""
    spec = {
        "version": 1,
        "seed": 1,
        "target": {"protocol": "host", **target},
        "workload": {"probe": workload},
        "load": {"clients": 1, "warmup_ns": RAMP_S * 10**9, "duration_ns": seconds * 10**9},
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
    result, cpu_s = order({"directory": str(place)}, {"disk": options}, asked.seconds)
    if result.get("remarks"):
        raise SystemExit(f"{place} cannot do direct I/O: name another --directory")
    return transactions(result, cpu_s)


def stream(asked: argparse.Namespace) -> Cost:
    """A stream over the loopback to a process of loadcell's own."""
    result, cpu_s = order({}, {"network": {"test": "stream", "block_bytes": STREAM_BLOCK}}, asked.seconds)
    return transactions(result, cpu_s)


# -- the tools ----------------------------------------------------------------------------------------------------------


def fio(asked: argparse.Namespace, place: Path, job: Job) -> Cost:
    """The same job by fio. As the probe's, its file is new each time: where it lies makes a difference of some percent."""
    (place / "fio").unlink(missing_ok=True)
    command = [
        "fio", "--name=job", f"--filename={place / 'fio'}", f"--size={asked.size_mib}m", f"--bs={BLOCK}",
        f"--rw={job.access}", f"--direct={int(job.direct)}", f"--fdatasync={job.fdatasync}", "--ioengine=psync",
        "--overwrite=1", "--time_based", f"--runtime={asked.seconds}", f"--ramp_time={RAMP_S}", "--output-format=json",
    ]  # fmt: skip
    [done] = json.loads(output_of(command))["jobs"]
    seconds = done["job_runtime"] / 1000
    blocks = done["read"]["total_ios"] + done["write"]["total_ios"]
    return Cost((done["usr_cpu"] + done["sys_cpu"]) / 100 * seconds, blocks, seconds)


def iperf3(asked: argparse.Namespace) -> Cost:
    """The same stream by iperf3, as the receiver counted it."""
    port = str(free_port())
    server = subprocess.Popen(["iperf3", "-s", "-1", "-p", port], stdout=subprocess.DEVNULL)
    try:
        time.sleep(0.3)
        command = ["iperf3", "-c", "127.0.0.1", "-p", port, "-t", str(asked.seconds), "-O", str(RAMP_S), "-J"]
        end = json.loads(output_of(command))["end"]
    finally:
        server.terminate()
        server.wait()
    got = end["sum_received"]
    cpu_s = end["cpu_utilization_percent"]["host_total"] / 100 * got["seconds"]
    return Cost(cpu_s, round(got["bytes"] / STREAM_BLOCK), got["seconds"])


def output_of(command: Sequence[str]) -> str:
    """What a tool prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} failed: {done.stderr[-500:] or done.stdout[-500:]}")
    return done.stdout


if __name__ == "__main__":
    main()
