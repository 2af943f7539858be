"""Probes of disk and network on a disk and a link of known speed, next to fio and iperf3.

The disk is a file system of the tests (FUSE) whose reads and flushes take milliseconds, one at a time, by its
own account. The link is the loopback of a separate network namespace, whose rate the kernel limits (tc's
token bucket).
"""

from __future__ import annotations

import contextlib
import itertools
import json
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from few_ports import few_ports
from linux.fuse import mounted, unmount
from loadcell.systems.shared.account import free_port
from truth.assertions import agrees
from truth.loads import FULL_STRENGTH, bound, load, operation, undisturbed

#: On the way to the file system and back a read takes some 0.2 ms more, which are not in its account.
READ_MS, FLUSH_MS = 10.0, 20.0
SECONDS = 4 if FULL_STRENGTH else 1
SIZE = 1 << 20
BLOCK = 4096
LINK_MBIT = 200
STALL_S = 0.25
#: Of the octets on the link those of the stream: a frame of 1514 carries 1448 (headers take 14, 20 and 20,
#: time stamps 12), and every other one is acknowledged by a frame of 66 on the same link, or fewer are.
PAYLOAD = 2 * 1448 / (2 * 1514 + 66)
MOST_PAYLOAD = 1448 / 1514


class SlowDisk:
    """A mounted disk; after unmounting, `account` has the durations of reads and flushes, in seconds."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.account: dict[str, list[float]] = {}


@contextlib.contextmanager
def slow_disk(directory: Path) -> Iterator[SlowDisk]:
    disk = SlowDisk(directory)
    with mounted("fuse_slow", directory, str(READ_MS), str(FLUSH_MS)) as server:
        yield disk
        assert unmount(directory), "somebody has a file open there"
        disk.account = json.loads(server.communicate(timeout=60)[0])


def probe(
    target: dict[str, Any],
    options: dict[str, Any],
    clients: int = 1,
    warmup_s: int = 0,
    on_event: Callable[[dict[str, Any]], None] = lambda event: None,
) -> dict[str, Any]:
    """Result of a probe."""
    result, _ = load(
        {
            "version": 1,
            "seed": 1,
            "target": {"protocol": "host", **target},
            "workload": {"probe": options},
            "load": {"clients": clients, "warmup_ns": warmup_s * 10**9, "duration_ns": SECONDS * 10**9},
        },
        on_event=on_event,
    )
    return result


def disk_probe(directory: Path, clients: int = 1, **more: Any) -> dict[str, Any]:
    options = {"access": "randread", "size_bytes": SIZE, "block_bytes": BLOCK, "direct": True, "fdatasync": 0}
    return probe(
        {"directory": str(directory)},
        {"disk": options | {"depth": 1, "engine": "psync"} | more},
        clients=clients,
    )


def fio(directory: Path) -> float:
    """Reads a second."""
    command = [
        "fio",
        "--name=job",
        f"--filename={directory}/fio",
        f"--size={SIZE}",
        f"--bs={BLOCK}",
        "--rw=randread",
        "--direct=1",
    ]
    command += [
        "--ioengine=psync",
        "--overwrite=1",
        "--time_based",
        f"--runtime={SECONDS}",
        "--output-format=json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    [job] = json.loads(done.stdout)["jobs"]
    return float(job["read"]["iops"])


def in_ms(result: dict[str, Any], name: str) -> float:
    """The mean service time of an operation."""
    return float(operation(result, name)["service"]["mean_ns"]) / 1e6


@pytest.fixture
def disks(tmp_path: Path) -> Callable[[], contextlib.AbstractContextManager[SlowDisk]]:
    """A new disk each time it is called."""
    numbers = itertools.count()
    return lambda: slow_disk(tmp_path / f"disk-{next(numbers)}")


Disks = Callable[[], contextlib.AbstractContextManager[SlowDisk]]


def test_a_read_takes_as_long_as_the_disk_says(disks: Disks) -> None:
    def check() -> None:
        with disks() as disk:
            result = disk_probe(disk.directory)
        _, *reads = disk.account["reads"]  # The first only asked whether anything goes past the page cache.
        assert result["lifetime"]["transactions"] == len(reads)
        assert len(disk.account["flushes"]) == 1, "before the measurement"
        mean = 1e3 * statistics.fmean(reads)
        assert in_ms(result, "read") >= mean
        agrees(
            f"disk, reads of {READ_MS:g} ms by its own account, ms",
            in_ms(result, "read"),
            mean,
            full=0.03,
            loose=1.0,
        )

    undisturbed(check)


@pytest.mark.parametrize(("engine", "clients", "depth"), [("psync", 4, 1), ("io_uring", 1, 4)])
def test_four_reads_at_once_of_a_disk_that_does_one_at_a_time(
    disks: Disks, engine: str, clients: int, depth: int
) -> None:
    def check() -> None:
        with disks() as disk:
            result = disk_probe(disk.directory, clients, depth=depth, engine=engine)
        done, reads = operation(result, "read")["succeeded"], disk.account["reads"]
        most = 1 / statistics.fmean(reads)
        assert result["lifetime"]["transactions"] == len(reads) - clients
        assert done <= most * SECONDS + clients, "no more than the disk did, on any machine"
        agrees(
            f"disk, four reads of {READ_MS:g} ms at once by {engine}, reads/s",
            done / SECONDS,
            most,
            full=0.05,
            loose=0.6,
        )
        waited = 4 * 1e3 * statistics.fmean(reads)
        agrees(
            f"disk, four reads of {READ_MS:g} ms at once by {engine}, ms",
            in_ms(result, "read"),
            waited,
            full=0.05,
            loose=1.0,
        )

    undisturbed(check)


def test_a_flush_is_timed_apart_from_its_write(disks: Disks) -> None:
    def check() -> None:
        with disks() as disk:
            result = disk_probe(disk.directory, access="randwrite", fdatasync=1)
        flushes = disk.account["flushes"]
        assert operation(result, "fdatasync")["succeeded"] <= len(flushes)
        mean = 1e3 * statistics.fmean(flushes)
        assert in_ms(result, "fdatasync") >= 0.99 * FLUSH_MS
        agrees(
            f"disk, flushes of {FLUSH_MS:g} ms by its own account, ms",
            in_ms(result, "fdatasync"),
            mean,
            full=0.03,
            loose=1.0,
        )
        assert in_ms(result, "write") < bound(1.0, FLUSH_MS), "a write waits for nothing"

    undisturbed(check)


def test_a_disk_is_as_fast_for_fio(disks: Disks) -> None:
    def check() -> None:
        with disks() as disk:
            theirs = fio(disk.directory)
        with disks() as disk:
            ours = operation(disk_probe(disk.directory), "read")["succeeded"] / SECONDS
        assert ours <= 1e3 / READ_MS + 1 / SECONDS, "no more than the disk does, on any machine"
        title = f"disk, reads of {READ_MS:g} ms, reads/s: loadcell, compared with fio"
        agrees(title, ours, theirs, full=0.03, loose=1.0)

    undisturbed(check)


@contextlib.contextmanager
def slow_link() -> Iterator[None]:
    """Enter a network namespace whose loopback lets LINK_MBIT through, in frames as Ethernet has them."""
    with few_ports():
        subprocess.run(["ip", "link", "set", "lo", "mtu", "1500"], check=True)
        shape = ["rate", f"{LINK_MBIT}mbit", "burst", "16k", "latency", "20ms"]
        subprocess.run(["tc", "qdisc", "add", "dev", "lo", "root", "tbf", *shape], check=True)
        yield


def iperf3() -> float:
    """Megabits a second that arrive over the link."""
    port = free_port()
    server = subprocess.Popen(["iperf3", "-s", "-1", "-p", str(port)], stdout=subprocess.DEVNULL)
    try:
        command = ["iperf3", "-c", "127.0.0.1", "-p", str(port), "-t", str(SECONDS), "-O", "1", "-J"]
        for _ in range(100):
            end = json.loads(subprocess.run(command, capture_output=True, check=False, timeout=120).stdout)[
                "end"
            ]
            if "sum_received" in end:
                return float(end["sum_received"]["bits_per_second"]) / 1e6
            time.sleep(0.05)  # It does not listen yet.
        raise AssertionError("iperf3's server does not listen")
    finally:
        server.kill()
        server.wait()


def test_a_stream_is_as_fast_as_its_link() -> None:
    def check() -> None:
        with slow_link():
            result = probe({}, {"network": {"test": "stream", "block_bytes": 128 * 1024}}, warmup_s=1)
            theirs = iperf3()
        ours = operation(result, "transaction")["succeeded"] * 128 * 1024 * 8 / 1e6 / SECONDS
        assert ours <= 1.02 * LINK_MBIT * MOST_PAYLOAD
        title = f"network, one stream over a link of {LINK_MBIT} Mbit/s, Mbit/s"
        agrees(title, ours, LINK_MBIT * PAYLOAD, full=0.05, loose=0.9)
        agrees(f"{title}: compared with iperf3", ours, theirs, full=0.05, loose=4.0)

    undisturbed(check)


def test_a_peer_that_stands_still_is_in_the_times() -> None:
    """The peer's process is stopped for a while: one exchange takes as long, and the others do not."""

    def check() -> None:
        command = [sys.executable, "-m", "loadcell", "host", "--serve", "127.0.0.1:0", "--json"]
        with subprocess.Popen(command, text=True, stdout=subprocess.PIPE) as peer:
            assert peer.stdout is not None
            address = json.loads(peer.stdout.readline())["address"]
            stalls_s: list[float] = []
            stall = threading.Thread(target=lambda: stalls_s.append(stop_for(peer, STALL_S)))

            def on_event(event: dict[str, Any]) -> None:
                if event["type"] == "phase" and event["phase"] == "measure":
                    stall.start()

            try:
                result = probe({"peer": address}, {"network": {"test": "rr"}}, on_event=on_event)
            finally:
                if stall.ident is not None:
                    stall.join()
                peer.terminate()
        times = operation(result, "transaction")["service"]
        [stalled_s] = stalls_s
        assert stalled_s >= STALL_S
        assert times["max_ns"] / 1e9 >= STALL_S
        agrees(
            "network, a peer that stands still for 0.25 s, s",
            times["max_ns"] / 1e9,
            stalled_s,
            full=0.02,
            loose=9.0,
        )

    undisturbed(check)


def stop_for(process: subprocess.Popen[str], seconds: float) -> float:
    """Stop a process for a while. Return for how long it was stopped, in seconds."""
    process.send_signal(signal.SIGSTOP)
    begun = time.monotonic()
    time.sleep(seconds)
    process.send_signal(signal.SIGCONT)
    return time.monotonic() - begun
