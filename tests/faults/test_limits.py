"""Faults that limit processes and disks, on real processes and file systems."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from loadcell.faults.base import FaultError
from loadcell.faults.cpu_hogs import CpuHogs, CpuHogsOptions
from loadcell.faults.cpu_quota import CpuQuota, CpuQuotaOptions
from loadcell.faults.disk_full import DiskFull, DiskFullOptions
from loadcell.faults.memory_limit import MemoryLimit, MemoryLimitOptions
from loadcell.faults.memory_pressure import MemoryPressure, MemoryPressureOptions
from loadcell.faults.slow_disk import SlowDisk, SlowDiskOptions
from loadcell.linux import limited_groups, procfs
from loadcell.plan.units import Bandwidth, Size
from loadcell.systems.subjects import Subject
from nobody import nobody

#: Writes past the page cache until it is killed.
_WRITER = """
import mmap, os, sys
file = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY | os.O_DIRECT)
block = mmap.mmap(-1, 1 << 18)
while True:
    os.pwrite(file, block, 0)
"""
#: Allocates the numbers of bytes that it reads.
_ALLOCATOR = """
import sys
print("up", flush=True)
parts = []
for line in sys.stdin:
    parts.append(bytearray(b"x") * int(line))
    print("has", flush=True)
"""


@contextmanager
def running(code: str, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A Python process."""
    process = subprocess.Popen(
        (sys.executable, "-c", code, *words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def cpu_s(pid: int) -> float:
    """CPU time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def written_bytes(pid: int) -> int:
    """Bytes that a process has had written to disks so far."""
    rows = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
    return int(rows["write_bytes"])


def subject(pid: int, data: Path | None = None) -> Subject:
    return Subject("server", lambda: (pid,), data=data)


def test_a_cpu_quota_holds_and_is_gone_afterwards() -> None:
    with running("while True: pass") as process:
        fault = CpuQuota(CpuQuotaOptions(subject="server", cores=0.2), subject(process.pid))
        arguments = fault.prepare()
        fault.apply()
        time.sleep(0.2)
        before, began = cpu_s(process.pid), time.monotonic()
        time.sleep(1.0)
        share = (cpu_s(process.pid) - before) / (time.monotonic() - began)
        CpuQuota.undo(arguments)
        assert CpuQuota.is_undone(arguments)
        assert not Path(arguments["group"]).exists()
    assert 0.1 <= share <= 0.25


def test_without_root_check_names_what_a_limit_needs() -> None:
    options = CpuQuotaOptions.model_validate({"subject": "server", "cores": 0.5})
    with nobody():
        [misfit] = CpuQuota.misfits(options, {})
    assert misfit.message.code == "fault.no-controller"
    assert "root" in misfit.message.advice


def test_undoing_twice_or_after_the_process_ended_is_no_error() -> None:
    with running("while True: pass") as process:
        fault = CpuQuota(CpuQuotaOptions(subject="server", cores=0.5), subject(process.pid))
        arguments = fault.prepare()
        fault.apply()
    for _ in range(2):
        CpuQuota.undo(arguments)
        assert CpuQuota.is_undone(arguments)


def test_a_group_of_others_is_never_removed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=re.escape(str(tmp_path))):
        limited_groups.remove(tmp_path, tmp_path)


def test_a_process_that_needs_more_than_its_memory_limit_is_killed() -> None:
    with running(_ALLOCATOR) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        fault = MemoryLimit(MemoryLimitOptions(subject="server", size=Size(32 << 20)), subject(process.pid))
        arguments = fault.prepare()
        fault.apply()
        process.stdin.write(f"{4 << 20}\n")
        process.stdin.flush()
        assert process.stdout.readline() == "has\n"
        process.stdin.write(f"{512 << 20}\n")
        process.stdin.flush()
        assert process.wait(timeout=20) == -9
        MemoryLimit.undo(arguments)
        assert MemoryLimit.is_undone(arguments)


def test_a_process_under_memory_pressure_lives_and_gets_its_memory_after_the_undo() -> None:
    with running(_ALLOCATOR) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        options = MemoryPressureOptions(subject="server", size=Size(32 << 20))
        fault = MemoryPressure(options, subject(process.pid))
        arguments = fault.prepare()
        fault.apply()
        process.stdin.write(f"{256 << 20}\n")
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], 1.0)
        assert not ready, "it waits for its memory"
        assert process.poll() is None
        for _ in range(2):
            MemoryPressure.undo(arguments)
        assert MemoryPressure.is_undone(arguments)
        assert process.stdout.readline() == "has\n"


def test_a_slow_disk_is_as_slow_as_it_should_be(tmp_path: Path) -> None:
    with running(_WRITER, str(tmp_path / "file")) as process:
        while written_bytes(process.pid) < 4 << 20:
            time.sleep(0.01)
        options = SlowDiskOptions(subject="server", bandwidth=Bandwidth(2e6))
        fault = SlowDisk(options, subject(process.pid, tmp_path))
        arguments = fault.prepare()
        fault.apply()
        time.sleep(0.3)
        before, began = written_bytes(process.pid), time.monotonic()
        time.sleep(1.5)
        rate = (written_bytes(process.pid) - before) / (time.monotonic() - began)
        SlowDisk.undo(arguments)
    assert 0 < rate <= 2.6e6


def test_data_in_memory_have_no_disk() -> None:
    with running("import time; time.sleep(60)") as process:
        options = SlowDiskOptions(subject="server", bandwidth=Bandwidth(2e6))
        with pytest.raises(FaultError, match="on no disk of this machine"):
            SlowDisk(options, subject(process.pid, Path("/proc"))).prepare()


def test_hogs_compute_and_end() -> None:
    with running("import time; time.sleep(60)") as process:
        fault = CpuHogs(CpuHogsOptions(subject="server", count=2), subject(process.pid))
        fault.apply()
        pids = [hog.pid for hog in fault._hogs]
        time.sleep(0.3)
        assert all(cpu_s(pid) > 0 for pid in pids)
        fault.restore()
    assert not [pid for pid in pids if procfs.started(pid) is not None]


def test_a_full_disk_has_its_reserve_and_is_free_again(tmp_path: Path) -> None:
    subprocess.run(("mount", "-t", "tmpfs", "-o", "size=16m", "loadcell", tmp_path), check=True)
    try:
        fault = DiskFull(DiskFullOptions(subject="server", reserve=Size(1 << 20)), subject(1, tmp_path))
        fault.apply()
        about = os.statvfs(tmp_path)
        assert abs(about.f_bavail * about.f_frsize - (1 << 20)) <= 1 << 17
        with pytest.raises(OSError, match="No space left"):
            (tmp_path / "file").write_bytes(bytes(2 << 20))
        (tmp_path / "file").unlink()
        fault.restore()
        assert os.statvfs(tmp_path).f_bavail == about.f_blocks
    finally:
        subprocess.run(("umount", tmp_path), check=True)
