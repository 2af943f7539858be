"""nmon and sar beside loadcell's monitors: CPU, disks and interfaces, in a separate network.

Frames lie within the windows of all, so that counts are the same however the windows differ. CPU time and
disks are compared over nmon's own window: loadcell reads when nmon has written the mark of a reading.
nmon prints 0.1% of the machine and 0.1 KB/s, sar 0.01 kB/s.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from few_ports import few_ports
from loadcell.linux.procfs import process_stat
from loadcell.monitors.base import MonitorContext
from loadcell.monitors.host import Host, HostOptions
from truth.assertions import agrees
from truth.loads import undisturbed
from truth.tools import LEAD_S, WINDOW_S, busy, output, tool

PATIENCE_S = 60.0
FRAMES, FRAME_BYTES = 4_000, 1_000
WRITES, WRITE_BYTES = 16, 1 << 20
#: An experimental type of Ethernet frames (IEEE 802): no kernel answers it.
FRAME_TYPE = b"\x88\xb5"


def until(condition: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.002)


def pair_of_interfaces() -> None:
    link = ("ip", "link")
    subprocess.run([*link, "add", "left0", "type", "veth", "peer", "name", "right0"], check=True)
    for name in ("left0", "right0"):
        Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6").write_text("1")
        subprocess.run([*link, "set", name, "up"], check=True)


def send_frames() -> None:
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
        sender.bind(("left0", 0))
        frame = (b"\xff" * 6 + b"\x02" + b"\0" * 5 + FRAME_TYPE).ljust(FRAME_BYTES, b"\0")
        for _ in range(FRAMES):
            sender.send(frame)


def write(file: Path) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT)
    for _ in range(WRITES):
        os.write(descriptor, os.urandom(WRITE_BYTES))
        os.fsync(descriptor)
    os.close(descriptor)


class Nmon:
    """A recording of two readings, `WINDOW_S` apart; it runs in the background by itself."""

    def __init__(self, file: Path) -> None:
        self._file = file
        command = ["nmon", "-F", str(file), "-s", str(WINDOW_S), "-c", "2", "-p"]
        self._pid = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    def reading(self, number: int) -> None:
        """Wait until it was written that the reading was taken."""
        until(lambda: self._file.exists() and f"ZZZZ,T{number:04}" in self._file.read_text(errors="replace"))

    def values(self, section: str) -> dict[str, float]:
        """Values of the second reading by the names in the head of the section, once it has ended."""
        until(lambda: (stat := process_stat(Path("/"), self._pid)) is None or stat.state == "Z")
        rows = [line.split(",") for line in self._file.read_text(errors="replace").splitlines()]
        [head] = [row[2:] for row in rows if row[0] == section and not row[1].startswith("T0")]
        [values] = [row[2:] for row in rows if row[:2] == [section, "T0002"]]
        return {name: float(value) for name, value in zip(head, values, strict=False) if value}


def test_machine_agrees_with_nmon_and_sar(tmp_path: Path) -> None:
    attempts = iter(range(1_000))

    def check() -> None:
        home = tmp_path / str(next(attempts))
        home.mkdir()
        with few_ports():
            pair_of_interfaces()
            _machine_agrees(home)

    undisturbed(check)


def _machine_agrees(home: Path) -> None:
    monitor, of_nmon = (Host(HostOptions(), MonitorContext(roots=list)) for _ in range(2))
    monitor.sample(0)
    began_s = time.monotonic()
    nmon = Nmon(home / "recorded.nmon")
    with busy() as worker:
        nmon.reading(1)
        of_nmon.sample(0)
        sar = tool("sar", "-n", "DEV", str(WINDOW_S - 1), "1")
        time.sleep(LEAD_S)
        send_frames()
        write(home / "written")
        worker.work()
        nmon.reading(2)
        [cpu] = of_nmon.sample(WINDOW_S)
        rows = [line.split() for line in output(sar).splitlines() if line.startswith("Average:")]
    elapsed_s = time.monotonic() - began_s
    monitor.sample(elapsed_s)
    links, same = monitor.further_rows()["links"], of_nmon.further_rows()
    for host in (monitor, of_nmon):
        host.close()
    sar_link = dict(zip(rows[0], next(row for row in rows if row[1] == "left0"), strict=True))
    [link] = (row for row in links if row["link"] == "left0")
    sent = link["tx_bytes_per_s"] * elapsed_s
    agrees("Bytes sent: sar", sent, float(sar_link["txkB/s"]) * 1024 * (WINDOW_S - 1), full=0.02, loose=0.1)
    agrees("Bytes sent: the frames", sent, FRAMES * FRAME_BYTES, full=0.001, loose=0.01)
    shown = nmon.values("NET")["left0-write-KB/s"] * 1024 * WINDOW_S
    agrees("Bytes sent: nmon", sent, shown, full=0.02, loose=0.1)
    shares = nmon.values("CPU_ALL")
    agrees(
        "CPU time of the machine: nmon",
        cpu["cpu_busy_percent"],
        shares["User%"] + shares["Sys%"],
        full=0.02,
        loose=0.15,
    )
    disks, shown_disks = {row["disk"]: row for row in same["disks"]}, nmon.values("DISKWRITE")
    name = max(disks.keys() & shown_disks.keys(), key=lambda disk: shown_disks[disk])
    if shown_disks[name] * WINDOW_S < 0.5 * WRITES * WRITE_BYTES / 1024:
        pytest.skip("the temporary directory is not on a disk of this machine")
    written = disks[name]["write_bytes_per_s"] / 1024
    agrees("Disk, bytes written: nmon", written, shown_disks[name], full=0.02, loose=0.15)
