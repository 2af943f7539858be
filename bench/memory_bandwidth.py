"""Counters of memory bandwidth on this machine, and the limit that a load bound by it is given.

`python -m bench.memory_bandwidth` asks the kernel for each kind of counter, then copies memory with one
thread for each processor (probe `memory`, test `memcpy`) and prints the limiting resource that is named.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.paired import keep
from loadcell.linux.memory_bandwidth import MemoryTraffic, peak_bytes_per_s

_PLAN = """
title: memory bandwidth
target: {host: {}}
workload:
  probe:
    memory: {test: memcpy, size: 256MiB}
load: {clients: CLIENTS, warmup: 1s, duration: 5s}
repeats: 3
"""
#: Exit statuses of runs that measured, and of those with invalid trials.
_MEASURED = (0, 1, 3)


def _perf(event: str) -> str:
    done = subprocess.run(
        ["perf", "stat", "-a", "-e", event, "sleep", "0.1"],
        capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"},
    )  # fmt: skip
    lines = [line.strip() for line in done.stderr.splitlines()]
    return next((line for line in lines if event in line or "rror" in line), "no answer")


def answers() -> dict[str, object]:
    """Answers of the kernel by what was asked for."""
    devices = sorted(path.name for path in Path("/sys/bus/event_source/devices").glob("*"))
    resctrl = next(
        (line for line in Path("/proc/filesystems").read_text().splitlines() if "resctrl" in line), ""
    )
    traffic = MemoryTraffic()
    counters = sorted(traffic.read())
    traffic.close()
    return {
        "event sources": devices,
        "perf stat -e uncore_imc/cas_count_read/": _perf("uncore_imc/cas_count_read/"),
        "perf stat -e LLC-load-misses": _perf("LLC-load-misses"),
        "resctrl in /proc/filesystems": bool(resctrl),
        "/sys/fs/resctrl": Path("/sys/fs/resctrl").exists(),
        "/sys/firmware/dmi": Path("/sys/firmware/dmi").exists(),
        "counters that loadcell opens": counters,
        "theoretical bandwidth, bytes per second": peak_bytes_per_s(),
    }


def judged() -> dict[str, object]:
    """The limits of a run that copies memory with all processors, by treatment."""
    loadcell = [sys.executable, "-m", "loadcell"]
    with tempfile.TemporaryDirectory(prefix="loadcell-bandwidth-", dir="/var/tmp") as home:
        plan = Path(home, "plan.yaml")
        plan.write_text(_PLAN.replace("CLIENTS", str(len(os.sched_getaffinity(0)))))
        done = subprocess.run(
            [*loadcell, "run", str(plan), "--out", f"{home}/run", "--quiet"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode not in _MEASURED:
            raise SystemExit(done.stderr)
        report = subprocess.run(
            [*loadcell, "report", f"{home}/run", "--json"], capture_output=True, text=True, check=True
        )
        document = json.loads(report.stdout)
    return {
        "limits": document["bottlenecks"],
        "mib_per_s": [trial["figures"].get("mib_per_s") for trial in document["trials"]],
        "statuses": [trial["status"] for trial in document["trials"]],
    }


def main() -> None:
    """Command line."""
    results = {"answers": answers(), **judged()}
    print(json.dumps(results, indent=1, ensure_ascii=False))
    keep("memory_bandwidth", "python -m bench.memory_bandwidth", results)


if __name__ == "__main__":
    main()
