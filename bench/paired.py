"""Measuring in turn: A B C A B C ..., and what can be said of the ratios afterwards."""

from __future__ import annotations

import json
import math
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from loadcell.stats.repeats import interval

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from specifications import complete

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
EXAMPLES = ROOT / "engine" / "target" / "release" / "examples"


@dataclass(frozen=True)
class Cost:
    """Cost of one run of a client: CPU seconds of its process, and the number of its queries."""

    cpu_s: float
    queries: int
    wall_s: float

    @property
    def per_query_us(self) -> float:
        """CPU microseconds per query."""
        return self.cpu_s / self.queries * 1e6

    @property
    def per_second(self) -> float:
        """Queries per second."""
        return self.queries / self.wall_s


#: a cost, with further values that a client reports
CostType = TypeVar("CostType", bound=Cost)


def worker_order(spec: Mapping[str, Any], mode: str = "run") -> str:
    """Order of a worker process for `spec`, whose missing fields have their defaults."""
    return json.dumps({"mode": mode, "parent": os.getpid(), "spec": complete(spec)})


def run_process(command: Sequence[str], *, send: str = "") -> tuple[float, str]:
    """User + system CPU seconds of a command (as the kernel accounts them), and its output."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(send)
    process.stdin.close()
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{command[0]} failed with exit status {process.returncode}:\n{output[-2000:]}")
    return usage.ru_utime + usage.ru_stime, output


def run_worker(spec: Mapping[str, Any], mode: str = "run") -> tuple[float, dict[str, Any]]:
    """CPU seconds of a worker process, and its result for a specification; exits unless it completed."""
    command = [sys.executable, "-m", "loadcell.execution.worker"]
    cpu_s, output = run_process(command, send=worker_order(spec, mode))
    event = json.loads(output.splitlines()[-1])
    if event["type"] != "result" or event["result"].get("outcome", "completed") != "completed":
        raise SystemExit(str(event)[:500])
    result: dict[str, Any] = event["result"]
    return cpu_s, result


def in_turn(
    rounds: int, contenders: Mapping[str, Callable[[], CostType]], unit: str = "query"
) -> dict[str, list[CostType]]:
    """Every contender once a round, in an order that rotates (of two: A B, B A), so that drift of the machine
    hits all alike.
    """
    names = list(contenders)
    costs: dict[str, list[CostType]] = {name: [] for name in names}
    for number in range(rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            cost = contenders[name]()
            costs[name].append(cost)
            note(
                f"  round {number + 1}/{rounds} {name:12} {cost.per_query_us:6.2f} us CPU/{unit} "
                f"{cost.per_second:9.4g}/s"
            )
    return costs


def values_in_turn(
    rounds: int, contenders: Mapping[str, Callable[[], float]], unit: str
) -> dict[str, list[float]]:
    """The same of contenders that each give one figure."""
    names = list(contenders)
    values: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            values[name].append(contenders[name]())
            note(f"  round {number + 1}/{rounds} {name:12} {values[name][-1]:12.6g} {unit}")
    return values


def spread(values: Sequence[float]) -> dict[str, float]:
    """Minimum, median and maximum."""
    return {"min": min(values), "median": statistics.median(values), "max": max(values)}


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> dict[str, float]:
    """Ratio ours/theirs, pair by pair of one round."""
    return spread([a / b for a, b in zip(ours, theirs, strict=True)])


def ratio_to_aim(aim: float | None, ours: Sequence[float], theirs: Sequence[float]) -> dict[str, Any]:
    """The same, with the interval of the median (None of fewer than six pairs), and whether the median is
    within `aim` of 1, if there is one.
    """
    pairs = [a / b for a, b in zip(ours, theirs, strict=True)]
    of_median = interval(pairs)
    ratio: dict[str, Any] = {**spread(pairs), "interval": of_median and [of_median.low, of_median.high]}
    return ratio if aim is None else {**ratio, "aim": aim, "met": abs(ratio["median"] - 1) <= aim}


def ratio_bounds(pairs: Sequence[float], confidence: float = 0.95) -> tuple[float, float, float]:
    """Lower bound, estimate and upper bound of the typical ratio; each bound is one-sided.

    The estimate of Hodges and Lehmann (1963) on the logarithms, with the exact bounds of Wilcoxon's
    signed-rank test (Hollander and Wolfe 1999, 3.2). Of fewer than five pairs there is no bound at 95%: zero
    and infinity.
    """
    logs = [math.log(ratio) for ratio in pairs]
    averages = sorted((a + b) / 2 for index, a in enumerate(logs) for b in logs[index:])
    tail = _signed_rank_tail(len(logs), 1 - confidence)
    estimate = math.exp(statistics.median(averages))
    if tail is None:
        return 0.0, estimate, math.inf
    return math.exp(averages[tail]), estimate, math.exp(averages[-1 - tail])


def _signed_rank_tail(count: int, chance: float) -> int | None:
    """The largest sum t with P(T <= t) <= chance, T being the rank sum of the positive of `count`
    differences; None: not even 0.
    """
    ways = [1]
    for rank in range(1, count + 1):
        longer = [*ways, *[0] * rank]
        for total, number in enumerate(ways):
            longer[total + rank] += number
        ways = longer
    within, tail = 0, None
    for total, number in enumerate(ways):
        within += number
        if within > chance * 2**count:
            break
        tail = total
    return tail


@contextmanager
def on_processors(*numbers: int) -> Iterator[None]:
    """Keep processes that are started meanwhile on these processors, so that contenders have the same one in
    turn.
    """
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, numbers)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def note(text: str) -> None:
    """One line of progress."""
    print(text, file=sys.stderr, flush=True)


def first_line(*command: str) -> str:
    """First line that a program prints, which names its version."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[0]


def keep(name: str, command: str, result: dict[str, Any]) -> None:
    """Write a result as bench/results/<name>.json, with the machine it was measured on."""
    RESULTS.mkdir(exist_ok=True)
    model = next(
        (x for x in Path("/proc/cpuinfo").read_text().splitlines() if x.startswith("model name")), ":"
    )
    machine = {
        "cpu": model.split(":", 1)[1].strip(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "machine": platform.machine(),
    }
    document = {
        "command": command,
        "measured_utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine,
        **result,
    }
    (RESULTS / f"{name}.json").write_text(json.dumps(document, indent=2) + "\n")
