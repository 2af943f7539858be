"""pidstat, iostat, sar and top beside loadcell's monitors, on work that lies within the windows of both.

The work begins after the first reading of each tool and ends before its last, so that counts are the same
however the windows differ.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from loadcell.monitors.base import MonitorContext, Row
from loadcell.monitors.host import Host, HostOptions
from loadcell.monitors.target import Target, TargetOptions
from truth.assertions import agrees
from truth.loads import undisturbed
from truth.tools import CPU_S, LEAD_S, WINDOW_S, busy, output, tool


def test_processes_agree_with_pidstat_and_threads_with_top() -> None:
    undisturbed(_processes_agree)


def _processes_agree() -> None:
    with busy() as worker:
        monitor = Target(TargetOptions(), MonitorContext(roots=lambda: [worker.pid]))
        monitor.sample(0)
        began_s = time.monotonic()
        pidstat = tool("pidstat", "-u", "-h", "-p", str(worker.pid), str(WINDOW_S), "1")
        top = tool("top", "-H", "-b", "-w", "200", "-d", str(WINDOW_S), "-n", "2", "-p", str(worker.pid))
        time.sleep(LEAD_S)
        worker.work()
        rows: list[list[str]] = [line.split() for line in output(pidstat).splitlines() if line]
        threads = output(top).splitlines()
        elapsed_s = time.monotonic() - began_s
        processes = monitor.sample(elapsed_s)
        sampled = monitor.further_rows()["threads"]
    head = next(row for row in rows if "%CPU" in row)[1:]  # behind `#`
    printed = float(rows[-1][head.index("%CPU")])
    (process,) = (row for row in processes if row["pid"] == worker.pid)
    ours_s = process["cpu_percent"] * elapsed_s / 100
    agrees("CPU time of a process: pidstat", ours_s, printed * WINDOW_S / 100, full=0.02, loose=0.1)
    (thread,) = (row for row in sampled if row["name"] == "truth-worker")
    line = [text.split() for text in threads if "truth-worker" in text][-1]
    ours_s = thread["cpu_percent"] * elapsed_s / 100
    agrees("CPU time of a thread: top -H", ours_s, float(line[8]) * WINDOW_S / 100, full=0.02, loose=0.1)
    agrees("CPU time of a thread: its own clock", ours_s, CPU_S, full=0.02, loose=0.05)


def test_disks_agree_with_iostat(tmp_path: Path) -> None:
    undisturbed(lambda: _disks_agree(tmp_path / "written"))


def _disks_agree(file: Path) -> None:
    monitor = Host(HostOptions(), MonitorContext(roots=list))
    monitor.sample(0)
    began_s = time.monotonic()
    iostat = tool("iostat", "-dxky", "-o", "JSON", str(WINDOW_S), "1")
    time.sleep(LEAD_S)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT)
    for _ in range(16):
        os.write(descriptor, os.urandom(1 << 20))
        os.fsync(descriptor)
    os.close(descriptor)
    (host,) = json.loads(output(iostat))["sysstat"]["hosts"]
    elapsed_s = time.monotonic() - began_s
    monitor.sample(elapsed_s)
    ours: dict[str, Row] = {row["disk"]: row for row in monitor.further_rows()["disks"]}
    monitor.close()
    theirs = {disk["disk_device"]: disk for disk in host["statistics"][0]["disk"]}
    name = max(ours.keys() & theirs.keys(), key=lambda disk: theirs[disk]["wkB/s"])
    if theirs[name]["wkB/s"] * WINDOW_S < (8 << 10):
        pytest.skip("the temporary directory is not on a disk of this machine")
    disk, printed = ours[name], theirs[name]
    # iostat rounds the mean queue and the await of a fast disk to 0.
    for title, value, shown in (
        ("bytes written", disk["write_bytes_per_s"] / 1024, printed["wkB/s"]),
        ("writes", disk["writes_per_s"], printed["w/s"]),
    ):
        agrees(f"Disk, {title}: iostat", value * elapsed_s, shown * WINDOW_S, full=0.02, loose=0.15)


def test_cores_agree_with_sar() -> None:
    undisturbed(_cores_agree)


def _cores_agree() -> None:
    monitor = Host(HostOptions(), MonitorContext(roots=list))
    monitor.sample(0)
    began_s = time.monotonic()
    with busy() as worker:
        sar = tool("sar", "-P", "ALL", str(WINDOW_S), "1")
        worker.work()
        lines = [line.split() for line in output(sar).splitlines() if line.startswith("Average:")]
        monitor.sample(time.monotonic() - began_s)
    head, shown = lines[0], {f"cpu{row[1]}": row for row in lines[1:] if row[1] != "all"}
    rows = monitor.further_rows()["cores"]
    monitor.close()
    for row in rows:
        if row["core"] in shown:
            idle = float(shown[row["core"]][head.index("%idle")]) + float(
                shown[row["core"]][head.index("%iowait")]
            )
            busy_share = 100 - idle - float(shown[row["core"]][head.index("%steal")])
            agrees(
                "A core not busy: sar", 200 - row["cpu_busy_percent"], 200 - busy_share, full=0.02, loose=0.1
            )
