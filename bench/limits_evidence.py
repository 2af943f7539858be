"""Named limits beside perf, pidstat and iostat of the same minutes.

`python -m bench.limits_evidence --out bench/results/limits` runs short forms of five ready-made plans, each
with `pidstat`, `iostat` and `perf record` from its beginning to its end (preparation included: averages of
pidstat lie lower than the measurements), and writes their outputs and the sentences of the report. Needs
root, sysstat and perf; about 8 minutes on a quiet machine.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

#: Short forms: the arguments of `loadcell run` behind the plan.
PLANS = {
    "postgres-concurrency-readwrite": (
        "--set", "factors={load.clients: [5, 40]}", "--set", "load.duration=8s", "--set", "repeats=2",
        "--set", "load.warmup=2s", "--set", "workload.sysbench.tables=4",
    ),
    "mysql-concurrency-readwrite": (
        "--set", "factors={load.clients: [5, 40]}", "--set", "load.duration=8s", "--set", "repeats=2",
        "--set", "load.warmup=2s", "--set", "workload.sysbench.tables=4",
    ),
    "kv-mix": ("--set", "repeats=2"),
    "http-service": ("--set", "factors={load.clients: [1, 16, 128]}", "--set", "repeats=2"),
    "duckdb-composite": ("--set", "repeats=2", "--set", "load.duration=5s", "--set", "load.warmup=1s"),
}  # fmt: skip
#: Lines of perf's report and of pidstat's averages that are kept.
_MOST_LINES = 30
_INTERVAL_S = 5
#: Exit statuses of runs that measured: an invalid trial, whose client was the limit, has one, too.
_MEASURED = (0, 1, 3)


def measure(plan: str, arguments: Sequence[str], out: Path) -> None:
    """One plan with its witnesses."""
    out.mkdir(parents=True, exist_ok=True)
    loadcell = [sys.executable, "-m", "loadcell"]
    with tempfile.TemporaryDirectory(prefix="loadcell-evidence-", dir="/var/tmp") as home:
        witnesses = {
            "pidstat": ["pidstat", "-u", "-d", "-w", str(_INTERVAL_S)],
            "iostat": ["iostat", "-x", "-y", str(_INTERVAL_S)],
            "perf": ["perf", "record", "-q", "-a", "-e", "cpu-clock", "-F", "49", "-o", f"{home}/perf.data"],
        }
        started = {}
        for name, command in witnesses.items():
            with Path(home, name).open("wb") as file:
                started[name] = subprocess.Popen(
                    command, stdout=file, stderr=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"}
                )
        try:
            done = subprocess.run(
                [*loadcell, "run", plan, "--out", f"{home}/run", *arguments],
                check=False, capture_output=True, text=True,
            )  # fmt: skip
            if done.returncode not in _MEASURED:
                raise SystemExit(done.stderr)
        finally:
            for process in started.values():
                process.send_signal(2)
            for process in started.values():
                try:
                    process.wait(timeout=60)
                except subprocess.TimeoutExpired:
                    process.kill()
        report = subprocess.run(
            ["perf", "report", "-i", f"{home}/perf.data", "--stdio", "-q", "--sort", "comm,dso"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        rows = [line.rstrip() for line in report.stdout.splitlines() if line.strip()]
        _write(out / "perf.txt", rows[:_MOST_LINES])
        averages = [
            line.rstrip()
            for line in Path(home, "pidstat").read_text().splitlines()
            if line.startswith("Average") and _is_notable(line)
        ]
        _write(out / "pidstat.txt", averages[: 3 * _MOST_LINES])
        _write(out / "iostat.txt", Path(home, "iostat").read_text().splitlines()[:200])
        for language in ("en", "zh"):
            subprocess.run(
                [*loadcell, "report", f"{home}/run", "--format", "md", "--lang", language],
                capture_output=True, check=True,
            )  # fmt: skip
            page = Path(home, "run", "report.md").read_text()
            words = {"en": ("The limit at", "The limit of"), "zh": ("瓶颈是", "瓶颈未知")}[language]
            rows = [
                line.partition(" [")[0] for line in page.splitlines() if any(word in line for word in words)
            ]
            _write(out / f"sentences.{language}.txt", list(dict.fromkeys(rows)))
        document = subprocess.run(
            [*loadcell, "report", f"{home}/run", "--json"], capture_output=True, text=True, check=True
        )
        limits = json.loads(document.stdout)["limits"]
        (out / "limits.json").write_text(json.dumps(limits, indent=1, ensure_ascii=False) + "\n")


def _is_notable(line: str) -> bool:
    """True for headings, and for processes with any value above 1."""
    values = []
    for word in line.split()[3:-1]:
        with contextlib.suppress(ValueError):  # names of columns, and "-" for a processor
            values.append(float(word))
    return "PID" in line or any(value >= 1 for value in values)


def _write(path: Path, lines: Sequence[str]) -> None:
    path.write_text("\n".join(lines) + "\n")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", choices=PLANS, default=None)
    options = parser.parse_args()
    for plan, arguments in PLANS.items():
        if options.only in (None, plan):
            measure(plan, arguments, options.out / plan)


if __name__ == "__main__":
    main()
