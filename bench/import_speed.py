"""Speed of `loadcell import` on long outputs, next to programs that only count lines, and its peak memory.

The aim is 200 MB/s or better, of the whole command: reader, run directory and report. Texts are made here: a
pgbench log of transactions, sysbench's intervals, BenchmarkSQL's result.csv. Contenders in turn, the command
and its reader alone in each round; the ratio is of one round, so that a busy machine hits all alike. The page
cache holds the files if the memory does.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from bench.paired import keep, note, ratios, spread

if TYPE_CHECKING:
    import numpy.typing as npt

MIB = 2**20
ROUNDS = 3
#: Memory is compared between a short text and the long one.
SHORT_MIB = 64
_ROWS = 400_000


def main() -> None:
    """Make each text, time every contender on it, print medians, keep them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=1024, help="size of each text")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--home", type=Path, default=Path("/var/tmp"), help="where the texts are made")
    parser.add_argument(
        "--read", nargs=2, metavar=("TOOL", "FILE"), help="read one file, and say at what cost"
    )
    args = parser.parse_args()
    if args.read:
        print(json.dumps(asdict(_read(*args.read))))
        return
    results: dict[str, Any] = {}
    with TemporaryDirectory(prefix="loadcell-bench-", dir=args.home) as home:
        for tool, make in MAKERS.items():
            long, short = Path(home) / tool, Path(home) / f"{tool}.short"
            write_text(short, SHORT_MIB, make)
            write_text(long, args.mib, make)
            _command(tool, short, Path(home))
            results[tool] = _compare(tool, long, short, args.rounds, Path(home))
            long.unlink()
            short.unlink()
    keep("import_speed", f"python -m bench.import_speed --mib {args.mib} --rounds {args.rounds}", results)
    for tool, result in results.items():
        print(f"{tool} ({result['bytes'] / 1e6:.0f} MB)")
        for name, speed in result["mb_per_s"].items():
            apart = result["mb_per_cpu_s"][name]["median"]
            print(
                f"  {name:22} {speed['median']:7.0f} MB/s ({speed['min']:.0f} to {speed['max']:.0f}), "
                f"{apart:.0f} MB a second of CPU"
            )
        print(
            f"  time against a loop over lines in Python: {result['against_python_loop']['median']:.2f}, "
            "against wc -l: "
            f"{result['against_wc']['median']:.2f}"
        )
        print(
            f"  peak memory {result['peak_mib']:.0f} MiB, of the whole command "
            f"{result['peak_whole_mib']:.0f} MiB; of {SHORT_MIB} MiB of text "
            f"{result['peak_short_mib']:.0f} and {result['peak_whole_short_mib']:.0f} MiB; the largest "
            f"page {result['page_bytes'] / 1e6:.1f} MB"
        )


@dataclass(frozen=True)
class Cost:
    """Resources of a program and of those that it waited for."""

    s: float
    cpu_s: float
    peak_bytes: int


READER, COMMAND = "loadcell's reader", "loadcell import"


def _compare(tool: str, long: Path, short: Path, rounds: int, home: Path) -> dict[str, Any]:
    size = long.stat().st_size
    costs: dict[str, list[Cost]] = {}
    contenders: dict[str, Callable[[], Cost]] = {
        "cat": lambda: _cost(["cat", str(long)]),
        "wc -l": lambda: _cost(["wc", "-l", str(long)]),
        "a loop over lines": lambda: _cost([sys.executable, "-c", LOOP, str(long)]),
        COMMAND: lambda: _command(tool, long, home),
        READER: lambda: read_apart(tool, long),
    }
    for number in range(rounds):
        for name, contender in contenders.items():
            costs.setdefault(name, []).append(contender())
        speeds = ", ".join(f"{name} {size / costs[name][-1].s / 1e6:.0f} MB/s" for name in (COMMAND, READER))
        note(f"  {tool}, round {number + 1}/{rounds}: {speeds}")
    times = {name: [cost.s for cost in runs] for name, runs in costs.items()}
    peaks = {name: max(cost.peak_bytes for cost in costs[name]) / MIB for name in (COMMAND, READER)}
    return {
        "bytes": size,
        "mb_per_s": {name: spread([size / cost.s / 1e6 for cost in runs]) for name, runs in costs.items()},
        "mb_per_cpu_s": {
            name: spread([size / cost.cpu_s / 1e6 for cost in runs]) for name, runs in costs.items()
        },
        "cpu_s": {name: spread([cost.cpu_s for cost in runs]) for name, runs in costs.items()},
        "against_python_loop": ratios(times[READER], times["a loop over lines"]),
        "against_wc": ratios(times[READER], times["wc -l"]),
        "peak_mib": peaks[READER],
        "peak_short_mib": read_apart(tool, short).peak_bytes / MIB,
        "peak_whole_mib": peaks[COMMAND],
        "peak_whole_short_mib": _command(tool, short, home).peak_bytes / MIB,
        "page_bytes": max(page.stat().st_size for page in (home / "results").rglob("report.html")),
    }


def _command(tool: str, text: Path, home: Path) -> Cost:
    """The command as people call it."""
    program = str(Path(sys.executable).with_name("loadcell"))
    return _cost([program, "import", tool, str(text), "--results", str(home / "results")])


LOOP = "import sys\ncount = 0\nfor line in open(sys.argv[1]):\n    count += 1\nprint(count)"


def _cost(command: list[str]) -> Cost:
    # Installers leave Python's modules compiled; so are they here after the first command.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    _, status, used = os.wait4(process.pid, 0)
    took_s = time.perf_counter() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Cost(took_s, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


def read_apart(tool: str, path: Path) -> Cost:
    """Read in a separate process, for its memory."""
    command = [sys.executable, "-m", "bench.import_speed", "--read", tool, str(path)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return Cost(**json.loads(output))


def _read(tool: str, path: str) -> Cost:
    import numpy  # noqa: F401 - what is loaded once is no part of reading

    from loadcell.ingest.read import read_file

    begun, used_s = time.perf_counter(), time.process_time()
    source = read_file(Path(path), tool)
    took_s, used_s = time.perf_counter() - begun, time.process_time() - used_s
    assert source.reading.unread == 0, source.reading.examples
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Cost(took_s, used_s, peak)


def write_text(path: Path, mib: int, make: Callable[[], Iterator[bytes]]) -> None:
    """Write at least `mib` MiB, up to the next possible end of the text: makers mark it by an empty part."""
    with path.open("wb") as file:
        for part in make():
            file.write(part)
            if not part and file.tell() >= mib * MIB:
                break
    os.sync()


def pgbench_log() -> Iterator[bytes]:
    """64 clients, some 90,000 transactions a second, times around a millisecond with a long tail."""
    import numpy as np

    random = np.random.default_rng(1)
    at_us = 1_795_270_066 * 1_000_000
    done = 0
    while True:
        gaps = random.exponential(11.0, _ROWS)
        ends = at_us + np.cumsum(gaps).astype(np.int64)
        at_us = int(ends[-1])
        numbers = np.arange(done, done + _ROWS) // 64 + 1
        times_us = (700 * random.lognormal(0, 0.6, _ROWS)).astype(np.int64) + 90
        seconds, microseconds = np.divmod(ends, 1_000_000)
        columns = (random.integers(0, 64, _ROWS), numbers, times_us, seconds, microseconds)
        done += _ROWS
        yield _lines("%d %d %d 0 %d %d\n", columns)
        yield b""


def benchmarksql() -> Iterator[bytes]:
    """The five types at their weights, with the deferred part of each delivery."""
    import numpy as np

    random = np.random.default_rng(2)
    types = np.array(["NEW_ORDER", "PAYMENT", "ORDER_STATUS", "STOCK_LEVEL", "DELIVERY", "DELIVERY_BG"])
    at_ms = 0.0
    yield b"run,elapsed,latency,dblatency,ttype,rbk,dskipped,error\n"
    while True:
        ends = at_ms + np.cumsum(random.exponential(0.7, _ROWS))
        at_ms = float(ends[-1])
        kind = random.choice(6, _ROWS, p=np.array([45, 43, 4, 4, 4, 4]) / 104)
        took_ms = (8 * random.lognormal(0, 0.7, _ROWS)).astype(np.int64)
        rolled_back = ((kind == 0) & (random.random(_ROWS) < 0.01)).astype(np.int64)
        yield _lines(
            "7,%d,%d,%d,%s,%d,0,0\n", (ends.astype(np.int64), took_ms, took_ms, types[kind], rolled_back)
        )
        yield b""


def _lines(form: str, columns: Sequence[npt.NDArray[Any]]) -> bytes:
    """A line a row, its columns in this form."""
    return "".join(map(form.__mod__, zip(*(column.tolist() for column in columns), strict=True))).encode()


def sysbench() -> Iterator[bytes]:
    """Executions of 250,000 intervals one after the other, as a shell loop leaves them."""
    import numpy as np

    random = np.random.default_rng(3)
    tails = [
        f"thds: 64 tps: {tps:.2f} qps: {tps * 20:.2f} (r/w/o: {tps * 14:.2f}/{tps * 4:.2f}/{tps * 2:.2f}) "
        f"lat (ms,95%): {64_000 / tps:.2f} err/s: 0.00 reconn/s: 0.00\n"
        for tps in random.normal(5_000, 400, 1_000)
    ]
    while True:
        yield (
            b"sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\nRunning the test with following "
            b"options:\nNumber of threads: 64\n"
            b"Report intermediate results every 1 second(s)\nInitializing random number generator from "
            b"current time\n\n\n"
            b"Initializing worker threads...\n\nThreads started!\n\n"
        )
        for second in range(1, 250_000, 10_000):
            yield "".join(
                f"[ {number}s ] {tails[number % 1_000]}" for number in range(second, second + 10_000)
            ).encode()
        yield (
            b"SQL statistics:\n    queries performed:\n        read:                            17500000000\n"
            b"    transactions:                        1250000000 (5000.00 per sec.)\n"
            b"    queries:                             25000000000 (100000.00 per sec.)\n"
            b"    ignored errors:                      0      (0.00 per sec.)\n\n"
            b"General statistics:\n    total time:                          250000.0s\n\n"
            b"Latency (ms):\n         min:                                    1.30\n         avg:        "
            b"                           12.80\n"
            b"         max:                                   51.29\n         95th percentile:           "
            b"            17.32\n\n"
        )
        yield b""


MAKERS: dict[str, Callable[[], Iterator[bytes]]] = {
    "pgbench-log": pgbench_log,
    "benchmarksql": benchmarksql,
    "sysbench": sysbench,
}

if __name__ == "__main__":
    main()
