"""Throughput that a load loses by all monitors together, in pairs without and with them (A B, B A, ...).

The load is closed, without pauses, on a PostgreSQL server that takes all processors, so that CPU time of
monitors is missing there. Pairs go on until the bound of the loss lies at most PRECISION above its estimate,
MOST_PAIRS are done, or the time is up; none of this depends on the loss itself.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from bench.before_after import loadcell
from bench.monitors import SERVER
from bench.paired import ROOT, keep, note, ratio_bounds

sys.path.insert(0, "tests")
from servers import PostgresServer

MOST_PAIRS, FEWEST_PAIRS, PRECISION = 60, 8, 0.005
#: Upper 95% bound of the lost share of throughput.
AIM = 0.02
SERIES = 200
MONITORS = (
    "[host, target, postgres, {{prometheus: {{url: 'http://127.0.0.1:{port}/metrics'}}}}, "
    "{{command: {{run: [sh, -c, 'while echo queue 3; do sleep 1; done'], start: once}}}}]"
)


def throughput(dsn: str, monitors: str, seconds: float, home: Path, number: int) -> float:
    """Requests per second of one trial, which has to be ok."""
    out = home / f"run-{number}"
    arguments = ["sql", dsn, "-w", "sysbench:oltp_point_select", "-c", "8", "--warmup", "500ms"]
    arguments += ["--duration", f"{seconds:g}s", "--seed", "1", "--no-report", "--quiet", "--out", str(out)]
    settings = ("workload.sysbench.tables=1", "workload.sysbench.table_size=10000", f"monitors={monitors}")
    for setting in settings:
        arguments += ["--set", setting]
    # a busy client is no fault here: server and client share the processors
    loadcell(ROOT, arguments, home, statuses=(0, 3))
    [path] = out.glob("trials/*/trial.json")
    trial = json.loads(path.read_text())
    broken = {check["name"] for check in trial["checks"] if check["verdict"] == "broken"}
    if trial["status"] != "ok" and not broken <= {"client-limit"}:
        raise SystemExit(f"{path}: {trial['status']}: {trial['reason']}")
    return float(trial["totals"]["throughput_per_s"])


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=MOST_PAIRS)
    parser.add_argument("--seconds", type=float, default=3.0, help="duration of a load (default: 3)")
    parser.add_argument("--minutes", type=float, default=11.5, help="at most (default: 11.5)")
    arguments = parser.parse_args()
    end_s = time.monotonic() + 60 * arguments.minutes
    rates: dict[bool, list[float]] = {False: [], True: []}
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="loadcell-bench-")))
        page = subprocess.Popen([sys.executable, "-c", SERVER, str(SERIES)], stdout=subprocess.PIPE)
        stack.callback(page.wait)
        stack.callback(page.kill)
        assert page.stdout is not None
        monitors = {False: "[]", True: MONITORS.format(port=int(page.stdout.readline()))}
        server = stack.enter_context(PostgresServer())
        server.sql("CREATE DATABASE bench")
        dsn = f"postgresql://{server.user}@{server.host}:{server.port}/bench"
        throughput(dsn, monitors[True], arguments.seconds, home, 0)  # loads the data
        for number in range(1, arguments.pairs + 1):
            for with_monitors in (False, True) if number % 2 else (True, False):
                run = 2 * number + with_monitors
                rates[with_monitors].append(
                    throughput(dsn, monitors[with_monitors], arguments.seconds, home, run)
                )
            ratios = [new / old for old, new in zip(rates[False], rates[True], strict=True)]
            lower, ratio, upper = ratio_bounds(ratios)
            note(f"pair {number}: {ratios[-1]:.4f}; lost {1 - ratio:.4f}, at most {1 - lower:.4f}")
            if (number >= FEWEST_PAIRS and ratio - lower <= PRECISION) or time.monotonic() > end_s:
                break
    result = {
        "monitors": ["host", "target", "postgres", f"prometheus, {SERIES} series", "command"],
        "pairs": len(ratios),
        "without_per_s": statistics.median(rates[False]),
        "with_per_s": statistics.median(rates[True]),
        "lost": 1 - ratio,
        "lost_lower": 1 - upper,
        "lost_upper": 1 - lower,
        "aim": AIM,
    }
    keep("monitors_throughput", "python -m bench.monitors_throughput", result)
    print(f"lost {result['lost']:.4f}, at most {result['lost_upper']:.4f}; aim {AIM}")


if __name__ == "__main__":
    main()
