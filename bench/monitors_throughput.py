"""Throughput that a load loses by all monitors together, in pairs without and with them (A B, B A, ...).

The load is closed, without pauses, on a PostgreSQL server that takes all processors, so that CPU time of
monitors is missing there.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from bench.lost_throughput import in_pairs, pair_options, trial_throughput
from bench.monitors import SERVER
from bench.paired import keep

sys.path.insert(0, "tests")
from servers import PostgresServer

SERIES = 200
MONITORS = (
    "[host, target, postgres, {{prometheus: {{url: 'http://127.0.0.1:{port}/metrics'}}}}, "
    "{{command: {{run: [sh, -c, 'while echo queue 3; do sleep 1; done'], start: once}}}}]"
)


def throughput(dsn: str, monitors: str, seconds: float, home: Path, number: int) -> float:
    """Requests per second of one trial, which has to be ok."""
    words = ["sql", dsn, "-w", "sysbench:oltp_point_select", "-c", "8", "--warmup", "500ms"]
    words += ["--duration", f"{seconds:g}s"]
    settings = ("workload.sysbench.tables=1", "workload.sysbench.table_size=10000", f"monitors={monitors}")
    for setting in settings:
        words += ["--set", setting]
    return trial_throughput(words, home, number)


def main() -> None:
    """Measure, print and keep."""
    options = pair_options(__doc__)
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
        throughput(dsn, monitors[True], options.seconds, home, 0)  # loads the data
        lost = in_pairs(
            options, lambda watched, run: throughput(dsn, monitors[watched], options.seconds, home, run)
        )
    names = ["host", "target", "postgres", f"prometheus, {SERIES} series", "command"]
    keep("monitors_throughput", "python -m bench.monitors_throughput", {"monitors": names, **lost})


if __name__ == "__main__":
    main()
