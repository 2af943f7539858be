"""Costs of one state of loadcell over those of another: `python -m bench.before_after OLD NEW`.

OLD and NEW are checkouts with a `.venv` (`make setup`). Only commands, plans and files of run directories are
used, which both have alike. Three parts, each of which may be named alone (`--part`):

- `instructions`: of the load threads for one more request, counted by callgrind: the difference between a
  load of many and one of few requests, so that starting and ending do not count.
- `cpu`: CPU time of the load threads per request (`client` in trial.json).
- `commands`: CPU time of whole processes: `--help`, `check`, the report of 1,000 trials.

`cpu` and `commands` run in pairs (OLD NEW, NEW OLD, ...) until the upper 95% bound of the ratio lies at most
PRECISION above its estimate. When to stop depends on the precision alone, never on the ratio, so that the
bound keeps its confidence.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.client_cost_http import nginx
from bench.paired import keep, note, on_processors, ratio_bounds

sys.path.insert(0, "tests")
from redis_server import RedisServer
from servers import PostgresServer

LOADS = ("http", "redis", "postgres")
PARTS = ("instructions", "cpu", "commands")
FEWEST_PAIRS = 8
PRECISION = 0.02
#: Limits of the ratio's upper 95% bound; of instructions of the ratio itself.
LIMITS = {"instructions": 1.02, "cpu": 1.05, "commands": 1.1}
#: Few and many requests of the loads whose instructions are counted.
REQUESTS = (5_000, 30_000)
#: Exit status of a run with trials that are not ok.
INCOMPLETE = 3
#: The check that fails where the client is slower than the target, as it is under callgrind.
CLIENT_LIMIT = "client-limit"
#: Makes `python -m ...worker` of every loadcell that is started with it run under callgrind.
CALLGRIND = """
import os, subprocess
class Popen(subprocess.Popen):
    def __init__(self, args, *more, **options):
        is_module = not isinstance(args, str) and len(args) > 2 and args[1] == "-m"
        if is_module and str(args[2]).endswith(".worker"):
            args = [*os.environ["LOADCELL_BENCH_CALLGRIND"].split(), *args]
        super().__init__(args, *more, **options)
subprocess.Popen = Popen
"""


@dataclass(frozen=True)
class Ratio:
    """A cost of NEW over that of OLD: the medians in `unit`, the estimate, and its one-sided 95% bounds."""

    name: str
    unit: str
    old: float
    new: float
    ratio: float
    lower: float
    upper: float
    pairs: int
    limit: float

    @property
    def holds(self) -> bool:
        return self.upper <= self.limit

    def __str__(self) -> str:
        values = f"{self.old:.5g} -> {self.new:.5g} {self.unit}"
        bounds = f"{self.ratio:.4f} (95% bounds {self.lower:.4f}, {self.upper:.4f}; {self.pairs} pairs)"
        return f"{self.name:24} {values:36} {bounds}  limit {self.limit}: {'holds' if self.holds else 'NO'}"


@dataclass(frozen=True)
class Load:
    """One load by a command: `arguments` come before those of its length."""

    name: str
    arguments: tuple[str, ...]


def loadcell(
    checkout: Path,
    arguments: Sequence[str],
    home: Path,
    env: dict[str, str] | None = None,
    statuses: Sequence[int] = (0,),
) -> float:
    """Run the checkout's command in a directory; return its CPU seconds, children that it waited for
    included. Its exit status has to be one of `statuses`.
    """
    command = [str(checkout / ".venv/bin/python"), "-m", "loadcell", *arguments]
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "0",
        "XDG_CACHE_HOME": str(home / checkout.name),
        **(env or {}),
    }
    # As users have it: without bytecode on disk, most of the CPU time of a short command compiles sources.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with (home / "output.log").open("w+") as output:
        process = subprocess.Popen(
            command, cwd=home, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in statuses:
            output.seek(0)
            raise SystemExit(
                f"{' '.join(command)}: exit status {process.returncode}\n{output.read()[-3000:]}"
            )
    return usage.ru_utime + usage.ru_stime


def trial(
    checkout: Path,
    load: Load,
    *length: str,
    home: Path,
    env: dict[str, str] | None = None,
    limited_by_client: bool = False,
) -> dict[str, Any]:
    """Run one load of one thread; return its trial.json.

    The trial has to be ok, or with `limited_by_client` invalid for no other reason than a busy client.
    """
    out = home / "run"
    shutil.rmtree(out, ignore_errors=True)
    options = [
        "--threads",
        "1",
        "--seed",
        "1",
        "--no-report",
        "--quiet",
        "--out",
        str(out),
        "--set",
        "monitors=[]",
    ]
    statuses = (0, INCOMPLETE) if limited_by_client else (0,)
    loadcell(checkout, [*load.arguments, *length, *options], home, env, statuses)
    [path] = out.glob("trials/*/trial.json")
    record: dict[str, Any] = json.loads(path.read_text())
    broken = [check["name"] for check in record["checks"] if check["verdict"] == "broken"]
    accepted = limited_by_client and broken == [CLIENT_LIMIT]
    assert record["status"] == "ok" or accepted, record["reason"]
    return record


def cpu_per_request_us(checkout: Path, load: Load, seconds: float, home: Path) -> float:
    """CPU microseconds of the load threads per request, within the measurement."""
    record = trial(checkout, load, "--warmup", "300ms", "--duration", f"{seconds:g}s", home=home)
    requests = sum(int(thread["requests"]) for thread in record["client"]["threads"])
    return float(record["client"]["cpu_s"]) / requests * 1e6


def instructions_per_request(checkout: Path, load: Load, repeats: int, home: Path) -> float:
    """Instructions of the load threads for one more request: the medians of repeated counts."""
    counts = ([instructions(checkout, load, requests, home) for _ in range(repeats)] for requests in REQUESTS)
    few, many = (statistics.median(values) for values in counts)
    return (many - few) / (REQUESTS[1] - REQUESTS[0])


def instructions(checkout: Path, load: Load, requests: int, home: Path) -> int:
    """Instructions of the load threads of a worker that makes this number of requests.

    Not those of its first thread, which starts Python and wakes up by the clock: how often depends on the
    machine.
    """
    patch, counted = home / "patch", home / "callgrind"
    patch.mkdir(exist_ok=True)
    (patch / "sitecustomize.py").write_text(CALLGRIND)
    shutil.rmtree(counted, ignore_errors=True)
    counted.mkdir()
    valgrind = f"valgrind --tool=callgrind --separate-threads=yes --callgrind-out-file={counted}/%p -q"
    env = {"PYTHONPATH": str(patch), "LOADCELL_BENCH_CALLGRIND": valgrind}
    length = ("--warmup", "0s", "--requests", str(requests), "--timeout", "5min")
    interval = ("--set", "load.interval=10s")
    trial(checkout, load, *length, *interval, home=home, env=env, limited_by_client=True)
    # One file a thread, <process>-<thread>; data are loaded by an earlier process.
    last = max(counted.iterdir(), key=lambda path: path.stat().st_mtime_ns).name.partition("-")[0]
    threads = [path.read_text() for path in counted.glob(f"{last}-*") if not path.name.endswith("-01")]
    totals = [re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE) for text in threads]
    assert totals, f"process {last} had one thread"
    return sum(int(total[1]) for total in totals if total)


@contextmanager
def loads(names: Sequence[str]) -> Iterator[list[Load]]:
    """Servers on the first processor, and the loads on them.

    Started by root, servers go before other processes: instructions depend on how many responses a wake-up of
    the reactor finds, and these are as many as can be when the server is never late.
    """
    first = sorted(os.sched_getaffinity(0))[0]
    with contextlib.ExitStack() as running:
        result = []
        with on_processors(first), before_others():
            if "http" in names:
                port = running.enter_context(nginx(first))
                result.append(Load("http", ("http", f"http://127.0.0.1:{port}/", "-c", "32")))
            if "redis" in names:
                redis = running.enter_context(RedisServer(password=""))
                result.append(Load("redis", ("redis", f"{redis.host}:{redis.port}", "-c", "32")))
            if "postgres" in names:
                postgres = running.enter_context(PostgresServer())
                postgres.sql("CREATE DATABASE bench")
                dsn = f"postgresql://{postgres.user}@{postgres.host}:{postgres.port}/bench"
                data = ("--set", "workload.sysbench.tables=1", "--set", "workload.sysbench.table_size=10000")
                script = ("-w", "sysbench:oltp_point_select", "-c", "16")
                result.append(Load("postgres", ("sql", dsn, *script, *data)))
        yield result


@contextmanager
def before_others() -> Iterator[None]:
    """Start processes with a higher priority, where that is permitted."""
    priority = os.getpriority(os.PRIO_PROCESS, 0)
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, -15)
    try:
        yield
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, priority)


def pairs(
    name: str, unit: str, limit: float, most: int, cost: Callable[[Path], float], both: tuple[Path, Path]
) -> Ratio:
    """Measure in pairs until the ratio is precise."""
    costs: dict[Path | str, list[float]] = {"old": [], "new": []}
    for number in range(1, most + 1):
        order = ("old", "new") if number % 2 else ("new", "old")
        for side in order:
            costs[side].append(cost(both[side == "new"]))
        lower, ratio, upper = ratio_bounds(
            [new / old for old, new in zip(costs["old"], costs["new"], strict=True)]
        )
        note(
            f"  {name} pair {number}: {costs['old'][-1]:.5g} {costs['new'][-1]:.5g} {unit}, ratio "
            f"{ratio:.4f}, at most {upper:.4f}"
        )
        if number >= FEWEST_PAIRS and upper - ratio <= PRECISION:
            break
    medians = [statistics.median(values) for values in (costs["old"], costs["new"])]
    return Ratio(name, unit, medians[0], medians[1], ratio, lower, upper, len(costs["old"]), limit)


def thousand_trials(checkout: Path, home: Path) -> Path:
    """A run directory of 1,000 trials, written by the checkout's tests."""
    run = home / "thousand"
    script = (
        "import sys, pathlib; sys.path.insert(0, 'tests'); import fake_runs; "
        f"fake_runs.write_run(pathlib.Path({str(run)!r}), fake_runs.a_thousand())"
    )
    subprocess.run([str(checkout / ".venv/bin/python"), "-c", script], cwd=checkout, check=True)
    return run


def commands(old: Path, home: Path) -> dict[str, tuple[str, ...]]:
    """The commands without a load whose cost counts."""
    run = thousand_trials(old, home)
    report = ("report", str(run), "--format", "html", "--out", str(home / "report.html"))
    return {"--help": ("--help",), "check": ("check", "quickstart"), "report of 1,000 trials": report}


def load_ratios(
    arguments: argparse.Namespace, parts: Sequence[str], both: tuple[Path, Path], home: Path
) -> Iterator[Ratio]:
    """Yield the ratios of the loads' instructions and CPU time."""
    last = sorted(os.sched_getaffinity(0))[-1]
    with loads(arguments.load or LOADS) as servers, on_processors(last):
        for load in servers:
            if "instructions" in parts:
                old, new = (
                    instructions_per_request(checkout, load, arguments.counts, home) for checkout in both
                )
                limit = LIMITS["instructions"]
                yield Ratio(f"instructions, {load.name}", "a request", old, new, *(new / old,) * 3, 1, limit)
            if "cpu" in parts:
                cost = partial(cpu_per_request_us, load=load, seconds=arguments.seconds, home=home)
                yield pairs(f"cpu, {load.name}", "us", LIMITS["cpu"], arguments.pairs, cost, both)


def command_ratios(most: int, both: tuple[Path, Path], home: Path) -> Iterator[Ratio]:
    """Yield the ratios of the commands without a load. What they cache is there before the first pair."""
    for title, words in commands(both[0], home).items():
        cost = partial(loadcell, arguments=words, home=home)
        for checkout in both:
            cost(checkout)
        yield pairs(title, "s of CPU", LIMITS["commands"], most, cost, both)


def main() -> None:
    """Measure the parts, print a line for each ratio; exit status 1 if one does not hold."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old", type=Path, metavar="OLD")
    parser.add_argument("new", type=Path, metavar="NEW")
    parser.add_argument("--part", action="append", choices=PARTS)
    parser.add_argument("--load", action="append", choices=LOADS)
    parser.add_argument("--pairs", type=int, default=60, help="at most this number (default: 60)")
    parser.add_argument("--counts", type=int, default=3, help="of instructions, per load (default: 3)")
    parser.add_argument("--seconds", type=float, default=2.0, help="duration of a load (default: 2)")
    parser.add_argument("--keep", action="store_true", help="write bench/results/before_after.json")
    arguments = parser.parse_args()
    both = (arguments.old.resolve(), arguments.new.resolve())
    parts = arguments.part or PARTS
    ratios: list[Ratio] = []
    with tempfile.TemporaryDirectory(prefix="loadcell-bench-") as name:
        home = Path(name)
        if "instructions" in parts or "cpu" in parts:
            for ratio in load_ratios(arguments, parts, both, home):
                ratios.append(ratio)
                note(str(ratio))
        if "commands" in parts:
            for ratio in command_ratios(arguments.pairs, both, home):
                ratios.append(ratio)
                note(str(ratio))
    print(*ratios, sep="\n")
    if arguments.keep:
        keep(
            "before_after",
            "python -m bench.before_after OLD NEW",
            {"ratios": [asdict(ratio) for ratio in ratios]},
        )
    sys.exit(any(not ratio.holds for ratio in ratios))


if __name__ == "__main__":
    main()
