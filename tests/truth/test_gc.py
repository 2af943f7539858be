"""Garbage collection against other accounts of it: the JVM's own counters, jstat, and known pauses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

import pytest

from jvms import COLLECTORS, jstat, running
from loadcell.analysis.gc_pauses import stopped_ns
from loadcell.ingest.gc_log import read_files
from loadcell.linux.hsperfdata import PerfDataFile
from loadcell.linux.java_processes import inspect
from loadcell.monitors.base import MonitorContext
from loadcell.monitors.jvm import JvmMonitor, JvmOptions
from truth.loads import FULL_STRENGTH, bound, undisturbed
from truth.pausing_server import PAUSE_S, SLOW_S

#: Counters of collections and their time: young, full, pauses of concurrent cycles.
NAMES = [f"sun.gc.collector.{number}.{value}" for number in range(3) for value in ("invocations", "time")]
#: Collectors whose counters count pauses: those of Shenandoah have its concurrent phases, too.
COUNTING = {name: case for name, case in COLLECTORS.items() if name != "Shenandoah"} | {
    "G1 of 11": (11, "-XX:+UseG1GC"),
    "G1 of 21": (21, "-XX:+UseG1GC"),
    "G1 of 25": (25, "-XX:+UseG1GC"),
    "ZGC of 25": (25, "-XX:+UseZGC"),
}
#: Each pause begins and ends in the log a little before and after its counter.
AROUND_MS = 0.1


@pytest.mark.parametrize("collector", COUNTING)
def test_a_log_that_rotates_has_the_collections_of_the_counters(tmp_path: Path, collector: str) -> None:
    numbers = count()
    undisturbed(lambda: _has_the_collections(tmp_path / str(next(numbers)), collector))


def _has_the_collections(logs: Path, collector: str) -> None:
    logs.mkdir()
    version, option = COUNTING[collector]
    words = f"-Xlog:gc*,safepoint:file={logs}/gc.log:utctime,uptime,timenanos,level,tags"
    sizes = "-Xmx160m", "-Drate=300", "-Dretained=80"
    with running(option, *sizes, f"{words}:filecount=50,filesize=8k", version=version) as jvm:
        time.sleep(2.5)
        counted = counters_between_collections(jvm.pid)
        log = read_files(logs, "gc.log")
    assert len(list(logs.iterdir())) > 1, "it rotated"
    assert log.unread == 0
    pauses = [pause for pause in log.pauses if pause.duration_ns]
    assert sum(number for number, _ in counted) == len(pauses)
    assert sum(ms for _, ms in counted) == pytest.approx(
        stopped_ns(pauses) / 1e6, rel=0.01, abs=AROUND_MS * len(pauses)
    )
    if collector.startswith(("ZGC", "CMS")):
        return  # kinds of these counters differ by version
    of_kinds = (("young", "mixed"), ("full",), ("cycle",))
    for (number, ms), kinds in zip(counted, of_kinds, strict=True):
        of_kind = [pause for pause in pauses if pause.kind in kinds]
        assert number == len(of_kind), kinds
        assert ms == pytest.approx(stopped_ns(of_kind) / 1e6, rel=0.01, abs=AROUND_MS * len(of_kind)), kinds


def counters_between_collections(pid: int) -> list[tuple[int, float]]:
    """Counts and times in ms of a JVM, which is stopped while no collection runs."""
    process = inspect(pid)
    assert process is not None
    file = PerfDataFile(process.path, process.owners, NAMES, ["sun.gc.cause"])
    while True:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(0.05)
        reading = file.read()
        assert reading is not None
        if file.text(reading[-1]) == "No GC":
            break
        os.kill(pid, signal.SIGCONT)
        time.sleep(0.01)
    file.close()
    return [
        (count or 0, (ticks or 0) / 1e6) for count, ticks in zip(reading[:6:2], reading[1:6:2], strict=True)
    ]


def test_the_monitor_counts_over_time_as_jstat_does() -> None:
    with running("-Xmx96m", "-Drate=200", "-Dretained=40") as jvm:
        monitor = JvmMonitor(JvmOptions(commands=False), MonitorContext(roots=lambda: [jvm.pid]))
        os.kill(jvm.pid, signal.SIGSTOP)
        before = jstat("-gcutil", jvm.pid)
        monitor.sample(0)
        os.kill(jvm.pid, signal.SIGCONT)
        for _ in range(8):
            time.sleep(0.25)
            monitor.sample(0.25)
        os.kill(jvm.pid, signal.SIGSTOP)
        monitor.sample(0.1)
        now = jstat("-gcutil", jvm.pid)
        sums = monitor.metrics()
        monitor.close()
    for key, number, seconds in (
        ("young", "YGC", "YGCT"),
        ("full", "FGC", "FGCT"),
        ("concurrent", "CGC", "CGCT"),
    ):
        assert sums[f"jvm.{key}_gcs"] == int(now[number]) - int(before[number])
        printed_ms = 1e3 * (float(now[seconds]) - float(before[seconds]))
        assert sums[f"jvm.{key}_gc_time"] == pytest.approx(printed_ms, rel=0.01, abs=1.1)
    assert sums["jvm.young_gcs"] > 5


#: Requests of `/slow` are too few to be the slowest 1%: the others of these waited for a pause.
PLAN = """
target: {{command: {{command: "{python} {server} {{port}} {log}", url: "http://127.0.0.1:{{port}}"}}}}
workload: {{http: {{requests: {{fast: {{path: /fast, share: 199}}, slow: {{path: /slow, share: 1}}}}}}}}
load: {{rate: 1500/s, arrivals: poisson, clients: 200, warmup: 1s, duration: {duration}}}
repeats: 1
monitors: [{{jvm: {{gc_log: {log}, commands: false}}}}]
"""


def test_the_slowest_requests_overlap_known_pauses_as_arithmetic_says(tmp_path: Path) -> None:
    numbers = count()
    undisturbed(lambda: _overlap_as_arithmetic_says(tmp_path / str(next(numbers))))


def _overlap_as_arithmetic_says(home: Path) -> None:
    home.mkdir()
    server = Path(__file__).with_name("pausing_server.py")
    duration = "40s" if FULL_STRENGTH else "15s"
    plan = PLAN.format(python=sys.executable, server=server, log=home / "gc.log", duration=duration)
    (home / "plan.yaml").write_text(plan)
    command = [sys.executable, "-m", "loadcell", "run", "plan.yaml", "--out", "out"]
    ended = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    [path] = (home / "out" / "trials").glob("*/trial.json")
    trial = json.loads(path.read_text())
    slowest = 0.01 * trial["totals"]["response"]["count"]
    slow = trial["operations"]["slow"]["succeeded"]
    assert slow < slowest
    figures = trial["totals"]["figures"]
    by_chance = PAUSE_S + SLOW_S  # of each second, the beginnings of slow requests that overlap a pause
    expected = (slow * by_chance + slowest - slow) / slowest
    assert figures["gc.pause.share"] == pytest.approx(PAUSE_S, rel=0.05)
    assert figures["gc.slow.p99"] == pytest.approx(expected, abs=bound(0.03, 0.06))
