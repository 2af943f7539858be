"""Time and size of the report of 200 trials, as a whole process, and time of that of 1,000.

The aim is below 3 s and 3 MB, and below 5 s for 1,000 trials. `cold` is without the cached libraries of the
page, as on a first report.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.paired import keep, spread

ROUNDS = 7
TESTS = Path(__file__).resolve().parent.parent / "tests"


def main() -> None:
    """Time each kind of report in turn and print medians and sizes."""
    sys.path.insert(0, str(TESTS))
    import fake_runs

    loadcell = str(Path(sys.executable).with_name("loadcell"))
    with TemporaryDirectory(prefix="loadcell-bench-") as home:
        run = fake_runs.write_run(Path(home) / "run", fake_runs.two_hundred())
        thousand = fake_runs.write_run(Path(home) / "thousand", fake_runs.a_thousand())
        warm = {**os.environ, "XDG_CACHE_HOME": f"{home}/cache"}
        kinds = {
            "html": ["report", str(run), "--format", "html"],
            "html, cold": ["report", str(run), "--format", "html"],
            "html and md": ["report", str(run)],
            "terminal": ["show", str(run)],
            "json": ["report", str(run), "--json"],
            "1,000 trials": ["report", str(thousand), "--format", "html"],
        }
        times: dict[str, list[float]] = {name: [] for name in kinds}
        cpu: dict[str, list[float]] = {name: [] for name in kinds}
        subprocess.run([loadcell, *kinds["html"]], check=True, env=warm, stdout=subprocess.DEVNULL)
        for number in range(ROUNDS):
            for name, arguments in kinds.items():
                cold = {**os.environ, "XDG_CACHE_HOME": f"{home}/cold-{number}"}
                begun, used = time.perf_counter(), _cpu_s()
                subprocess.run(
                    [loadcell, *arguments],
                    check=True,
                    env=cold if "cold" in name else warm,
                    stdout=subprocess.DEVNULL,
                )
                times[name].append(time.perf_counter() - begun)
                cpu[name].append(_cpu_s() - used)
        size = (run / "report.html").stat().st_size
    wall_s = {name: spread(values) for name, values in times.items()}
    cpu_s = {name: spread(values) for name, values in cpu.items()}
    result = {"trials": 200, "wall_s": wall_s, "cpu_s": cpu_s, "html_bytes": size}
    keep("report_speed", "python -m bench.report_speed", result)
    for name, spread_s in wall_s.items():
        wall = f"{spread_s['median']:.2f} s ({spread_s['min']:.2f} to {spread_s['max']:.2f})"
        print(f"{name:12} {wall}, {cpu_s[name]['median']:.2f} s of CPU")
    print(f"report.html  {size / 1e6:.2f} MB")


def _cpu_s() -> float:
    """CPU time of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
