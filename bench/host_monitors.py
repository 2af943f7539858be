"""CPU time of the monitors `host` and `target` at one sample per second, as a share of a core, for targets of
different sizes; and of all monitors in runs of PostgreSQL.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.before_after import INCOMPLETE
from bench.monitors import sample_costs
from bench.paired import ROOT, keep, spread
from loadcell.monitors.base import MonitorContext
from loadcell.monitors.host import Host, HostOptions
from loadcell.monitors.target import Target, TargetOptions

SAMPLES, ROUNDS = 60, 5
#: All monitors together, in percent of a core.
AIM = 0.5
#: Processes, and threads of each; every thread wakes up ten times per second.
TARGETS = ((1, 1), (32, 1), (1, 200), (1, 1000))
THREADS = """
import sys, threading, time
def work():
    while True: time.sleep(.1)
for _ in range(int(sys.argv[1]) - 1): threading.Thread(target=work, daemon=True).start()
print(flush=True)
work()
"""


def of_target(processes: int, threads: int) -> dict[str, Any]:
    """CPU time of `host` and `target` in percent of a core; samples are a second apart for the monitors."""
    with ExitStack() as stack:
        started = []
        for _ in range(processes):
            command = [sys.executable, "-c", THREADS, str(threads)]
            process = subprocess.Popen(command, stdout=subprocess.PIPE)
            stack.callback(process.wait)
            stack.callback(process.kill)
            assert process.stdout is not None
            process.stdout.readline()
            started.append(process.pid)
        context = MonitorContext(roots=lambda: started)
        shares: dict[str, list[float]] = {"host": [], "target": []}
        for monitor in (Host(HostOptions(), context), Target(TargetOptions(), context)):
            shares[monitor.name] += [100 * cost_s for cost_s in sample_costs(monitor, ROUNDS, SAMPLES)]
    return {name: spread(values) for name, values in shares.items()}


def of_run() -> dict[str, Any]:
    """CPU time of all monitors in trials of PostgreSQL with 1 and 16 clients, in percent of a core."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "run"
        plan = ROOT / "plans" / "quickstart.yaml"
        settings = ("repeats=2", "load.duration=8s", "factors={load.clients: [1, 16]}")
        command = [str(Path(sys.executable).with_name("loadcell")), "run", str(plan), "--out", str(out)]
        for setting in settings:
            command += ["--set", setting]
        finished = subprocess.run(command, check=False, capture_output=True, text=True)
        if finished.returncode not in (0, INCOMPLETE):
            raise SystemExit(f"{' '.join(command)}: exit status {finished.returncode}\n{finished.stderr}")
        shares: dict[str, list[float]] = {}
        # a trial that another load disturbed is invalid, and sampled all the same
        for file in sorted(out.glob("trials/*/trial.json")):
            trial = json.loads(file.read_text())
            if trial["status"] not in ("ok", "invalid"):
                raise SystemExit(f"{file}: {trial['status']}: {trial['reason']}")
            costs = {name: record["cpu_s"] for name, record in trial["monitors"].items()}
            seconds = trial["monitors"]["host"]["samples"]
            for name, cpu_s in {**costs, "all": sum(costs.values())}.items():
                shares.setdefault(name, []).append(100 * cpu_s / seconds)
    return {name: spread(values) for name, values in shares.items()}


def main() -> None:
    """Measure, print and keep."""
    result: dict[str, Any] = {"aim_percent": AIM}
    for processes, threads in TARGETS:
        result[f"{processes} processes, {threads} threads each, %"] = of_target(processes, threads)
    result["PostgreSQL, 1 and 16 clients, %"] = of_run()
    keep("host_monitors", "python -m bench.host_monitors", result)
    for name, values in result.items():
        print(
            name,
            {key: round(value["median"], 3) for key, value in values.items()}
            if isinstance(values, dict)
            else values,
        )


if __name__ == "__main__":
    main()
