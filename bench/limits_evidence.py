"""Named limits beside perf, pidstat and iostat of the same minutes.

`python -m bench.limits_evidence --out bench/results/limits` runs short forms of five ready-made plans, each
with `pidstat`, `iostat` and `perf record`, and writes their outputs and the sentences of the report. The
outputs are those of the measurement of the last trial of each treatment: samples of one second that lie
wholly within it, and perf's samples by their clock. Needs root, sysstat and perf; about 8 minutes on a quiet
machine.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from bench.evidence_windows import (
    ENVIRONMENT,
    IOSTAT,
    PIDSTAT,
    Window,
    iostat_samples,
    pidstat_averages,
)

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
#: Lines of an output that are kept for each window.
_MOST_LINES = 40
#: Exit statuses of runs that measured: an invalid trial, whose client was the limit, has one, too.
_MEASURED = (0, 1, 3)


def measure(plan: str, arguments: Sequence[str], out: Path) -> None:
    """One plan with its witnesses."""
    out.mkdir(parents=True, exist_ok=True)
    loadcell = [sys.executable, "-m", "loadcell"]
    with tempfile.TemporaryDirectory(prefix="loadcell-evidence-", dir="/var/tmp") as home:
        witnesses = {
            "pidstat": PIDSTAT,
            "iostat": IOSTAT,
            "perf": (
                "perf", "record", "-q", "-a", "-e", "cpu-clock", "-F", "49", "-k", "CLOCK_MONOTONIC",
                "-o", f"{home}/perf.data",
            ),
        }  # fmt: skip
        started = {}
        for name, command in witnesses.items():
            with Path(home, name).open("wb") as file:
                started[name] = subprocess.Popen(
                    command, stdout=file, stderr=subprocess.DEVNULL, env={**os.environ, **ENVIRONMENT}
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
        windows = _windows(Path(home, "run"))
        _write(out / "perf.txt", _by_window(windows, partial(_perf_report, Path(home, "perf.data"))))
        for name, cut in (("pidstat", pidstat_averages), ("iostat", iostat_samples)):
            lines = Path(home, name).read_text().splitlines()
            _write(out / f"{name}.txt", _by_window(windows, partial(cut, lines)))
        for language in ("en", "zh"):
            subprocess.run(
                [*loadcell, "report", f"{home}/run", "--format", "md", "--lang", language],
                capture_output=True, check=True,
            )  # fmt: skip
            page = Path(home, "run", "report.md").read_text()
            words = {
                "en": ("The bottleneck at", "The bottleneck of"),
                "zh": ("瓶颈是", "瓶颈都是", "瓶颈未知", "瓶颈均未知"),
            }[language]
            rows = [
                line.partition(" [")[0] for line in page.splitlines() if any(word in line for word in words)
            ]
            _write(out / f"sentences.{language}.txt", list(dict.fromkeys(rows)))
        document = subprocess.run(
            [*loadcell, "report", f"{home}/run", "--json"], capture_output=True, text=True, check=True
        )
        limits = json.loads(document.stdout)["bottlenecks"]
        (out / "limits.json").write_text(json.dumps(limits, indent=1, ensure_ascii=False) + "\n")


def _windows(run: Path) -> list[Window]:
    """Windows of the last trial of each treatment."""
    windows = {}
    for file in sorted(run.glob("trials/*/trial.json")):
        record = json.loads(file.read_text())
        if (window := Window.of(record)) is not None:
            windows[record["treatment"]] = window
    return list(windows.values())


def _by_window(windows: Sequence[Window], cut: Callable[[Window], Iterable[str]]) -> list[str]:
    """The part of an output for each window, under the name of its trial."""
    lines = []
    for window in windows:
        lines += [f"== {window.trial}: {window.duration_s:.1f} s", *list(cut(window))[:_MOST_LINES], ""]
    return lines


def _perf_report(data: Path, window: Window) -> list[str]:
    report = subprocess.run(
        [
            "perf", "report", "-i", str(data), "--stdio", "-q", "--sort", "comm,dso",
            "--time", window.perf_time,
        ],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [line.rstrip() for line in report.stdout.splitlines() if line.strip()]


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
