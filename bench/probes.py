"""Probes of this machine beside the tools whose definitions they have: sysbench's cpu and memory tests, and
mbw.

In turn on one machine (A B, B A, ...), on one and the same processor where there is one thread; of each pair
of one round the ratio of the values, of the ratios the median with its interval. sysbench reads the clock
and counts for every block: with blocks of 1 KiB that is most of its time, which growing blocks show. Those
cases are measured `FEW` times only.

With `--cpu` a value is the work per second of CPU time, which other work on the machine does not take away
(it still takes the caches). sysbench's start is then part of its value, some percent where its block is
large; mbw, which takes as long to make its arrays as to copy them, is left out.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from bench.paired import (
    first_line,
    keep,
    note,
    on_processors,
    ratio_to_aim,
    run_process,
    run_worker,
    spread,
    values_in_turn,
)
from loadcell.ingest.readers import mbw, sysbench

#: Blocks of sysbench's memory test: the default, and sizes at which the tool's own work per block gets lost.
BLOCKS = {"1KiB": 2**10, "16KiB": 2**14, "256KiB": 2**18, "4MiB": 2**22, "64MiB": 2**26}
#: mbw's tests by their number, and how often each copies. mbw 1.2.2 has the names of the first two the wrong
#: way round: what it calls MEMCPY, its number 0, goes word by word, and DUMB calls memcpy (its machine code
#: shows it).
METHODS = {"memcpy": 1, "dumb": 0, "mcblock": 2}
COPIES = 10
#: How far the median ratio may be from 1.
AIM = 0.03
#: Smaller blocks say how long sysbench takes for a block, whatever is in it; and how often they are measured.
TOOL_IS_THE_LIMIT = 2**18
FEW = 3


@dataclass(frozen=True)
class Case:
    """One figure of loadcell's and of a tool's: `contenders`, loadcell first."""

    name: str
    unit: str
    contenders: dict[str, Callable[[], float]]
    threads: int = 1
    limited_by_tool: bool = False


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=int, default=1)
    parser.add_argument("--mib", type=int, default=256, help="size of mbw's arrays")
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    parser.add_argument("--cpu", action="store_true", help="values by CPU time, for a busy machine")
    asked = parser.parse_args()
    results: dict[str, Any] = {}
    for case in cases(asked.seconds, asked.mib, by_cpu=asked.cpu):
        if asked.only not in case.name or (asked.cpu and case.name.startswith("mbw")):
            continue
        note(case.name)
        results[case.name] = measured(case, FEW if case.limited_by_tool else asked.rounds)
    result = {
        "rounds": asked.rounds,
        "seconds": asked.seconds,
        "mbw_mib": asked.mib,
        "sysbench": first_line("sysbench", "--version"),
        "cases": results,
    }
    print(json.dumps(result, indent=2))
    if not asked.only and not asked.cpu:
        keep("probes", f"python -m bench.probes --rounds {asked.rounds} --seconds {asked.seconds}", result)


def measured(case: Case, rounds: int) -> dict[str, Any]:
    """Both in turn; one thread's on the last processor, which has the fewest interrupts of devices."""
    processors = os.sched_getaffinity(0)
    with on_processors(*([max(processors)] if case.threads == 1 else processors)):
        measurements = values_in_turn(rounds, case.contenders, case.unit)
    (_, ours), (tool, theirs) = measurements.items()
    return {
        "unit": case.unit,
        "limited_by_tool": case.limited_by_tool,
        **{who: spread(values) for who, values in measurements.items()},
        f"loadcell / {tool}": ratio_to_aim(AIM, ours, theirs),
    }


def cases(seconds: int, mib: int, *, by_cpu: bool) -> Iterator[Case]:
    """All that is compared."""
    for threads in sorted({1, os.cpu_count() or 1}):
        yield Case(
            f"cpu, {threads} thread{'s' if threads > 1 else ''}",
            "events/s",
            {
                "loadcell": partial(probe, {"cpu": {}}, "events_per_s", seconds, threads, by_cpu=by_cpu),
                "sysbench": partial(cpu, seconds, threads, by_cpu=by_cpu),
            },
            threads,
        )
    for operation in ("read", "write"):
        for text, block in BLOCKS.items():
            section = {"test": "sysbench", "operation": operation, "block": block}
            yield Case(
                f"memory {operation}, blocks of {text}",
                "MiB/s",
                {
                    "loadcell": partial(probe, {"memory": section}, "mib_per_s", seconds, by_cpu=by_cpu),
                    "sysbench": partial(memory, operation, block, seconds, by_cpu=by_cpu),
                },
                limited_by_tool=block < TOOL_IS_THE_LIMIT,
            )
    for test, number in METHODS.items():
        section = {"test": test, "size": mib * 2**20}
        yield Case(
            f"mbw {test.upper()}, {mib} MiB",
            "MiB/s",
            {
                "loadcell": partial(probe, {"memory": section}, "mib_per_s", 600, requests=COPIES),
                "mbw": partial(copies, number, mib),
            },
        )


def probe(
    section: dict[str, Any],
    figure: str,
    seconds: int,
    threads: int = 1,
    requests: int | None = None,
    *,
    by_cpu: bool = False,
) -> float:
    """Measure by a worker process; with `requests`, that number of passes.

    Like the tools, it counts from its start on.
    """
    load = {
        "clients": threads,
        "warmup_ns": 0,
        "duration_ns": seconds * 10**9,
        "requests": requests,
    }
    spec = {
        "version": 1,
        "seed": 1,
        "target": {"protocol": "host"},
        "workload": {"probe": section},
        "load": load,
    }
    _, result = run_worker(spec)
    speed = float(result["figures"][figure])
    if not by_cpu:
        return speed
    # Threads do nothing but passes: what their time on the clock is more than their CPU time, others had.
    passes = result["operations"][0]
    clock_ns = passes["succeeded"] * passes["service"]["mean_ns"]
    of_clock = clock_ns if figure == "mib_per_s" else threads * result["window"]["duration_ns"]
    return float(speed * of_clock / result["client"]["cpu_ns"])


def cpu(seconds: int, threads: int, *, by_cpu: bool) -> float:
    """Events a second of `sysbench cpu`."""
    return sysbench_figure(["cpu"], seconds, threads, by_cpu=by_cpu)


def memory(operation: str, block: int, seconds: int, *, by_cpu: bool) -> float:
    """MiB/s of `sysbench memory`, for as long as it is let."""
    words = [f"--memory-oper={operation}", f"--memory-block-size={block}", "--memory-total-size=100T"]
    return sysbench_figure(["memory", *words], seconds, 1, by_cpu=by_cpu)


def sysbench_figure(test: list[str], seconds: int, threads: int, *, by_cpu: bool) -> float:
    """Result of a sysbench test, as the tool prints it."""
    command = ["sysbench", *test, f"--time={seconds}", f"--threads={threads}", "run"]
    cpu_s, output = run_process(command)
    [report] = sysbench.read(output.splitlines(keepends=True)).measured
    figure = report.figures.get("mib_per_s", report.throughput_per_s)
    assert figure is not None, output
    assert report.duration_s is not None, output
    return figure * threads * report.duration_s / cpu_s if by_cpu else figure


def copies(number: int, mib: int) -> float:
    """MiB/s of mbw's mean copy."""
    _, output = run_process(["mbw", "-n", str(COPIES), f"-t{number}", str(mib)])
    [report] = mbw.read(output.splitlines(keepends=True)).measured
    return report.figures["average_mib_per_s"]


if __name__ == "__main__":
    main()
