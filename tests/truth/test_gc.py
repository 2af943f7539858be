"""Garbage collection against other accounts of it: the JVM's own counters, jstat, and known pauses."""

from __future__ import annotations

import os
import signal
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
from truth.loads import undisturbed

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
    file = PerfDataFile(process.path, NAMES, ["sun.gc.cause"])
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
