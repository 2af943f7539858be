"""Throughput that a load on a JVM loses by the monitor `jvm` and the GC log together, in pairs.

One long load, closed and without pauses, goes to one JVM, while both are switched on and off: loads and JVMs
that follow each other differ by more than what is measured. The log is switched by the command `VM.log`, with
what the target `jvm` writes. Each request allocates, so that there are collections to write down.
Neighbouring slots are a pair (off on, on off, ...); intervals in which they are switched count for neither.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.berkeleydb_service import RunningService, berkeleydb
from bench.lost_throughput import MOST_PAIRS, lost_share, usable_trial
from bench.paired import ROOT, keep, note
from loadcell.linux import java_attach
from loadcell.monitors.base import MonitorContext, Sampler
from loadcell.monitors.jvm import JvmMonitor
from loadcell.monitors.jvm import JvmOptions as MonitorOptions
from loadcell.systems.jvm.arguments import log_argument
from loadcell.systems.jvm.options import JvmOptions

ANSWER_WITHIN_S = 10.0
#: Until the service is compiled, and for the start of the load.
WARM_UP_S = 30
PLAN = """
title: Berkeley DB
target: {{jvm: {{attach: {pid}, url: "{url}"}}}}
workload: {{http: {{requests: {{mget: {{path: "/random_mget?keyNum=20"}}}}}}}}
load: {{clients: 8, warmup: 1s, duration: {seconds:g}s, interval: 200ms}}
repeats: 1
monitors: []
"""


@dataclass(frozen=True)
class Slot:
    """A stretch of the load, from when all was switched on or off until it began to be switched again, and
    the pauses in its log.
    """

    watched: bool
    pauses: int
    begin_ns: int
    end_ns: int


def log_command(log: Path) -> str:
    """The argument of the JVM as the command of a running one: -Xlog:what:file=log:decorators:bounds."""
    argument = log_argument(JvmOptions(service="berkeleydb"), log)
    events, file, decorators, bounds = argument.removeprefix("-Xlog:").split(":")
    output = file.removeprefix("file=").strip('"')
    return f'VM.log output="{output}" what={events} decorators={decorators} output_options="{bounds}"'


@contextmanager
def watching(service: RunningService, log: Path) -> Iterator[None]:
    """The GC log and the monitor, as in a run, for as long as the context is entered."""
    java_attach.run(service.pid, log_command(log), ANSWER_WITHIN_S)
    monitor = JvmMonitor(MonitorOptions(commands=False), MonitorContext(roots=lambda: [service.pid]))
    sampler = Sampler("jvm", monitor, lambda _, __: None)
    sampler.start()
    yield
    sampler.stop()
    java_attach.run(service.pid, "VM.log disable", ANSWER_WITHIN_S)


def switched(service: RunningService, log: Path, pairs: int, slot_s: float) -> list[Slot]:
    """Slots of a load that is in progress."""
    slots = []
    for number in range(pairs):
        for watched in (False, True) if number % 2 else (True, False):
            with ExitStack() as stack:
                if watched:
                    stack.enter_context(watching(service, log))
                begin_ns = time.monotonic_ns()
                time.sleep(slot_s)
                end_ns = time.monotonic_ns()
            slots.append(Slot(watched, pauses_in(log) if watched else 0, begin_ns, end_ns))
    return slots


def pauses_in(log: Path) -> int:
    """Young collections in the log, which the JVM begins again each time that it is switched on."""
    return sum(" Pause Young" in line for line in log.read_text().splitlines())


def throughput(slot: Slot, intervals: Sequence[tuple[int, int, int]]) -> float:
    """Requests per second of the intervals within a slot."""
    within = [(s, n) for begin, s, n in intervals if begin >= slot.begin_ns and begin + s <= slot.end_ns]
    return sum(n for _, n in within) / sum(s for s, _ in within) * 1e9


def read_intervals(out: Path) -> list[tuple[int, int, int]]:
    """Begin and duration in ns, and completed requests, of the intervals of the only trial."""
    [path] = out.glob("trials/*/intervals.csv")
    with path.open(newline="") as file:
        return [
            (int(row["mono_ns"]), round(float(row["duration_s"]) * 1e9), int(row["succeeded"]))
            for row in csv.DictReader(file)
            if row["operation"] == "transaction" and row["kind"] == "transaction"
        ]


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=MOST_PAIRS)
    parser.add_argument("--seconds", type=float, default=2.0, help="length of a slot (default: 2)")
    options = parser.parse_args()
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="loadcell-bench-")))
        service = stack.enter_context(berkeleydb())
        plan, out, log = home / "plan.yaml", home / "run", home / "gc.log"
        seconds = WARM_UP_S + options.pairs * 2 * (options.seconds + 0.2) + 5
        plan.write_text(PLAN.format(pid=service.pid, url=service.url, seconds=seconds))
        words = [
            sys.executable,
            "-m",
            "loadcell",
            "run",
            str(plan),
            "--no-report",
            "--quiet",
            "--out",
            str(out),
        ]
        load = subprocess.Popen(words, cwd=ROOT)
        stack.callback(load.wait)
        stack.callback(load.terminate)
        time.sleep(WARM_UP_S)
        slots = switched(service, log, options.pairs, options.seconds)
        assert load.poll() is None, "the load ended early"
        load.wait()
        usable_trial(out)
        intervals = read_intervals(out)
    rates = {
        watched: [throughput(slot, intervals) for slot in slots if slot.watched == watched]
        for watched in (False, True)
    }
    for without, watched in zip(rates[False], rates[True], strict=True):
        note(f"{without:.0f}/s without, {watched:.0f}/s with: {watched / without:.4f}")
    command = f"python -m bench.jvm_throughput --pairs {options.pairs} --seconds {options.seconds:g}"
    pauses = sum(slot.pauses for slot in slots)
    keep("jvm_throughput", command, {**lost_share(rates), "logged_pauses": pauses})


if __name__ == "__main__":
    main()
