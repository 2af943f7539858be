"""The probes of disk and network beside the tools whose definitions they go by: fio and iperf3, on the same
directory and loopback.

In turn (A B, B A, ...), one pair a round; what counts is the ratio pair by pair, of the ratios the median
with its interval. Who reads and writes a file does it on one and the same processor; of a stream either end
has its own, the same for both. fio's file is laid out before it is measured (`overwrite=1`), as the probe's
is, and each file has gone before the next is made.

A rate combines two times: that of a block, and that of the tool itself until the next block. Both tools time
their blocks, so the two can be separated: `service_us` (fio's `clat`, with the flush after it; the probe's
service time), whose ratio is of like with like, and `between_us`, the remaining time per block. fio runs a
third time as `--gtod_reduce=1`, with nearly none of its timing: the gain is the cost of that timing. And all
of it once more on files in memory, where no disk and no neighbour disturbs what tools do of their own.
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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from bench.paired import (
    Cost,
    first_line,
    in_turn,
    keep,
    on_processors,
    ratio_to_aim,
    run_worker,
    spread,
)
from loadcell.systems.shared.account import free_port

#: Before each measurement, and not in it.
RAMP_S = 0.5
STREAM_RAMP_S = 1  # iperf3 knows whole seconds only
BLOCK, STREAM_BLOCK = 4096, 128 * 1024


@dataclass(frozen=True)
class Job:
    """One job, in fio's words; `on_disk` is False of those that show the tools alone."""

    name: str
    access: str
    direct: bool
    fdatasync: int
    on_disk: bool = True


JOBS = (
    Job("randread, direct", "randread", True, 0),
    Job("randwrite, direct", "randwrite", True, 0),
    Job("readwrite, fdatasync=1", "readwrite", False, 1),
    Job("randread, in memory", "randread", False, 0, on_disk=False),
    Job("randwrite, in memory", "randwrite", False, 0, on_disk=False),
    Job("readwrite, fdatasync=1, in memory", "readwrite", False, 1, on_disk=False),
)

#: How far the median ratio may be from 1.
AIM, STREAM_AIM = 0.03, 0.05
UNTIMED = "fio --gtod_reduce=1"


@dataclass(frozen=True)
class Blocks(Cost):
    """Cost of blocks, and their mean and median service time by the tool's own clock (None: not timed)."""

    service_us: float | None = None
    half_us: float | None = None
    user_cpu_s: float | None = None

    @property
    def between_us(self) -> float | None:
        """Time of the tool itself per block."""
        return None if self.service_us is None else self.wall_s / self.queries * 1e6 - self.service_us


@dataclass(frozen=True)
class Streamed(Cost):
    """Cost of a stream's blocks at this end, and CPU seconds of the other end."""

    far_cpu_s: float


def main() -> None:
    """Measure, and keep the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--size-mib", type=int, default=256)
    parser.add_argument("--directory", default="/var/tmp", help="where the files lie")
    parser.add_argument("--memory", default="/dev/shm", help="where the files lie that are to be in memory")
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    asked = parser.parse_args()
    results: dict[str, Any] = {}
    for job in [job for job in JOBS if asked.only in job.name]:
        with working_in(asked.directory if job.on_disk else asked.memory) as directory:
            contenders = {
                "loadcell": partial(probe, asked, directory, job),
                "fio": partial(fio, asked, directory, job),
                UNTIMED: partial(fio, asked, directory, job, timing=False),
            }
            with on_processors(max(os.sched_getaffinity(0))):
                costs = in_turn(asked.rounds, contenders, unit="block")
        aim = AIM if job.on_disk else None
        results[job.name] = {**judged(costs, "fio", aim), **taken_apart(costs, aim)}
    if asked.only in "stream":
        near, far = min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))
        with on_processors(far), serving() as servers, on_processors(near):
            over = {
                "loadcell": partial(stream, asked, servers["loadcell"]),
                "iperf3": partial(iperf3, asked, servers["iperf3"]),
            }
            streams = in_turn(asked.rounds, over, unit="block")
        results["stream"] = judged(streams, "iperf3", STREAM_AIM)
        results["stream"]["cpu_us_a_block_at_the_other_end"] = {
            name: spread([cost.far_cpu_s / cost.queries * 1e6 for cost in runs])
            for name, runs in streams.items()
        }
    result = {
        "rounds": asked.rounds,
        "seconds": asked.seconds,
        "tools": {"fio": first_line("fio", "--version"), "iperf3": first_line("iperf3", "--version")},
        **results,
    }
    print(json.dumps(result, indent=2))
    if not asked.only:
        keep(
            "probes_io",
            f"python -m bench.probes_io --rounds {asked.rounds} --seconds {asked.seconds}",
            result,
        )


def judged(costs: Mapping[str, Sequence[Cost]], tool: str, aim: float | None) -> dict[str, Any]:
    """Rates, and their ratio, compared with the aim if there is one."""
    rates = {name: [cost.per_second for cost in runs] for name, runs in costs.items()}
    cpu = {name: [cost.per_query_us for cost in runs] for name, runs in costs.items()}
    return {
        "blocks_a_second": {name: spread(values) for name, values in rates.items()},
        "cpu_us_a_block": {name: spread(values) for name, values in cpu.items()},
        f"loadcell / {tool}": ratio_to_aim(aim, rates["loadcell"], rates[tool]),
    }


def taken_apart(costs: Mapping[str, Sequence[Blocks]], aim: float | None) -> dict[str, Any]:
    """Times of blocks by each tool's own clock, and of each tool between two blocks."""
    ours, fios, untimed = costs["loadcell"], costs["fio"], costs[UNTIMED]
    service = {name: timed([cost.service_us for cost in costs[name]]) for name in ("loadcell", "fio")}
    between = {name: timed([cost.between_us for cost in costs[name]]) for name in ("loadcell", "fio")}
    accounted = [
        (block + fios_between) / (block + ours_between)
        for block, fios_between, ours_between in zip(
            service["fio"], between["fio"], between["loadcell"], strict=True
        )
    ]
    halves = [(mine.half_us, theirs.half_us) for mine, theirs in zip(ours, fios, strict=True)]
    pairs = [(mine, theirs) for mine, theirs in halves if mine is not None and theirs is not None]
    return {
        "service_us": {name: spread(values) for name, values in service.items()},
        "between_us": {name: spread(values) for name, values in between.items()},
        "service, loadcell / fio": ratio_to_aim(aim, service["loadcell"], service["fio"]),
        "median service, loadcell / fio": ratio_to_aim(aim, *zip(*pairs, strict=True)) if pairs else None,
        "loadcell / fio by what is between": spread(accounted),
        "fio without its timing / fio": ratio_to_aim(
            None, [cost.per_second for cost in untimed], [cost.per_second for cost in fios]
        ),
        "fio_user_cpu_us_a_block": spread([(cost.user_cpu_s or 0) / cost.queries * 1e6 for cost in fios]),
    }


def timed(times: Sequence[float | None]) -> list[float]:
    """Those of runs that all looked at the clock."""
    return [time for time in times if time is not None]


@contextmanager
def working_in(directory: str) -> Iterator[Path]:
    """A directory there for as long as it is wanted."""
    home = Path(tempfile.mkdtemp(prefix="loadcell-bench-", dir=directory))
    try:
        yield home
    finally:
        shutil.rmtree(home)


# -- loadcell
# -----------------------------------------------------------------------------------------------------------


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
    _, result = run_worker(spec)
    return result, sum(thread["cpu_ns"] for thread in result["client"]["threads"]) / 1e9


def probe(asked: argparse.Namespace, directory: Path, job: Job) -> Blocks:
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
    result, cpu_s = order({"directory": str(directory)}, {"disk": options}, asked.seconds, RAMP_S)
    if result.get("remarks"):
        raise SystemExit(f"{directory} cannot do direct I/O: name another --directory")
    done, seconds = result["operations"][0], result["window"]["duration_ns"] / 1e9
    service = done["service"]
    half_us = service["p50_ns"] / 1e3 if one_kind(job) else None
    return Blocks(cpu_s, done["succeeded"], seconds, service["mean_ns"] / 1e3, half_us)


def one_kind(job: Job) -> bool:
    """Return whether all blocks do the same: of a mix fio has no median over all."""
    return job.access != "readwrite"


def stream(asked: argparse.Namespace, far: Server) -> Streamed:
    """A stream over the loopback."""
    workload = {"network": {"test": "stream", "block_bytes": STREAM_BLOCK}}
    far.begin()
    result, cpu_s = order({"peer": f"127.0.0.1:{far.port}"}, workload, asked.seconds, STREAM_RAMP_S)
    seconds = result["window"]["duration_ns"] / 1e9
    return Streamed(cpu_s, result["operations"][0]["succeeded"], seconds, far.spent_s(asked.seconds))


# -- the tools
# ----------------------------------------------------------------------------------------------------------


def fio(asked: argparse.Namespace, directory: Path, job: Job, *, timing: bool = True) -> Blocks:
    """The same job by fio."""
    file = directory / "fio"
    command = [
        "fio", "--name=job", f"--filename={file}", f"--size={asked.size_mib}m", f"--bs={BLOCK}",
        f"--rw={job.access}", f"--direct={int(job.direct)}", f"--fdatasync={job.fdatasync}",
        "--ioengine=psync",
        "--overwrite=1", "--time_based", f"--runtime={asked.seconds}", f"--ramp_time={int(RAMP_S * 1000)}ms",
        "--output-format=json", f"--gtod_reduce={int(not timing)}",
    ]  # fmt: skip
    [done] = json.loads(output_of(command))["jobs"]
    file.unlink()
    seconds = done["job_runtime"] / 1000
    blocks = done["read"]["total_ios"] + done["write"]["total_ios"]
    service_us = half_us = None
    if timing:
        spent_ns = sum(done[kind]["total_ios"] * done[kind]["clat_ns"]["mean"] for kind in ("read", "write"))
        flushes = done["sync"]["lat_ns"]
        service_us = (spent_ns + flushes["N"] * flushes["mean"]) / blocks / 1e3
        if one_kind(job):
            kind = "read" if job.access == "randread" else "write"
            half_us = done[kind]["clat_ns"]["percentile"]["50.000000"] / 1e3
    user_cpu_s, all_cpu_s = (
        share / 100 * seconds for share in (done["usr_cpu"], done["usr_cpu"] + done["sys_cpu"])
    )
    return Blocks(all_cpu_s, blocks, seconds, service_us, half_us, user_cpu_s)


def iperf3(asked: argparse.Namespace, far: Server) -> Streamed:
    """The same stream by iperf3, as the receiver counted it."""
    command = [
        "iperf3", "-c", "127.0.0.1", "-p", str(far.port), "-t", str(asked.seconds), "-O", str(STREAM_RAMP_S),
        "-J",
    ]  # fmt: skip
    far.begin()
    report = json.loads(output_of(command))
    end = report["end"]
    if "sum_received" not in end:
        raise SystemExit(f"iperf3 has no sum: {report.get('error', 'it does not say why')}")
    got = end["sum_received"]
    cpu_s = end["cpu_utilization_percent"]["host_total"] / 100 * got["seconds"]
    return Streamed(cpu_s, round(got["bytes"] / STREAM_BLOCK), got["seconds"], far.spent_s(asked.seconds))


class Server:
    """The other end of streams: where it listens, and what CPU time it takes."""

    def __init__(self, port: int, process: int) -> None:
        self.port = port
        self._process = psutil.Process(process)
        self._before_s = 0.0

    def begin(self) -> None:
        """A stream is to come."""
        self._before_s = self._cpu_s()

    def spent_s(self, seconds: float) -> float:
        """CPU seconds since then, as many of them as fall on the part that is measured: it serves what comes
        before as well.
        """
        return (self._cpu_s() - self._before_s) * seconds / (seconds + STREAM_RAMP_S)

    def _cpu_s(self) -> float:
        times = self._process.cpu_times()
        return float(times.user + times.system)


@contextmanager
def serving() -> Iterator[dict[str, Server]]:
    """The other ends of streams while it lasts."""
    ports = {"loadcell": free_port(), "iperf3": free_port()}
    commands = {
        "loadcell": [sys.executable, "-m", "loadcell", "host", "--serve", f"127.0.0.1:{ports['loadcell']}"],
        "iperf3": ["iperf3", "-s", "-p", str(ports["iperf3"])],
    }
    servers = {
        name: subprocess.Popen(command, stdout=subprocess.DEVNULL) for name, command in commands.items()
    }
    try:
        for port in ports.values():
            wait_for(port)
        yield {name: Server(ports[name], server.pid) for name, server in servers.items()}
    finally:
        for server in servers.values():
            server.terminate()
            server.wait()


def wait_for(port: int, patience_s: float = 10) -> None:
    """Until something listens there.

    The kernel is asked for it: iperf3 would take a connection for a test.
    """
    deadline = time.monotonic() + patience_s
    while not any(
        connection.status == psutil.CONN_LISTEN and connection.laddr[1:] == (port,)
        for connection in psutil.net_connections("tcp")
    ):
        if time.monotonic() > deadline:
            raise SystemExit(f"nothing listens on port {port} after {patience_s:.0f} s")
        time.sleep(0.05)


def output_of(command: Sequence[str]) -> str:
    """Output of a tool."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} failed: {done.stderr[-500:] or done.stdout[-500:]}")
    return done.stdout


if __name__ == "__main__":
    main()
