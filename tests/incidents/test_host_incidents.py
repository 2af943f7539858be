"""Incidents of memory, the kernel log and disks: each recognised, and not 20 % below its thresholds."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from loadcell.incidents.base import Diagnosis, Healthy, Judgement, Unseen, examine
from loadcell.incidents.evidence.base import Evidence
from loadcell.incidents.evidence.disks import Disks, DiskUse, FileSystem, FileSystems
from loadcell.incidents.evidence.kernel_log import KernelLog
from loadcell.incidents.evidence.memory import Memory
from loadcell.incidents.evidence.processors import Processors, ProcessorUse
from loadcell.incidents.examination import examination
from loadcell.incidents.live.base import Host, Look
from loadcell.incidents.live.disks import DiskGatherer
from loadcell.incidents.live.kernel_log import KernelLogGatherer
from loadcell.incidents.live.memory import MemoryGatherer
from loadcell.incidents.live.processors import ProcessorGatherer
from loadcell.linux import kernel_log
from loadcell.linux.kernel_log import KernelLine
from loadcell.linux.time_limits import UnavailableError
from loadcell.model.message import Message
from loadcell.report.texts import Texts

MIB, GIB = 1 << 20, 1 << 30
NOW_NS = 1_700_000_000 * 10**9


def of(evidence: Evidence, incident: str) -> list[Judgement]:
    return [judgement for judgement in examine(evidence) if judgement.incident == incident]


def level(evidence: Evidence, incident: str) -> str:
    """Level of the only diagnosis, or `healthy`."""
    judgements = [item for item in of(evidence, incident) if not isinstance(item, Unseen)]
    assert judgements
    if isinstance(judgements[0], Healthy):
        return "healthy"
    (diagnosis,) = judgements
    assert isinstance(diagnosis, Diagnosis)
    return diagnosis.level


def memory(into_mib: float, out_mib: float, full: float | None) -> Memory:
    return Memory("host", 8 * GIB, GIB, GIB, GIB // 2, into_mib * MIB, out_mib * MIB, full, full, 0.1, 0.2)


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        (memory(2, 2, 0.12), "warning"),
        (memory(2, 2, 0.5), "critical"),
        (memory(0, 0, 0.12), "warning"),  # of pages of files
        (memory(2, 2, 0.08), "healthy"),
        (memory(50, 0, 0.0), "healthy"),
        (memory(12, 12, None), "warning"),
        (memory(8, 8, None), "healthy"),
    ],
)
def test_swap_storms(evidence: Memory, expected: str) -> None:
    assert level(evidence, "swap-storm") == expected


def log(*texts: str, age_s: float = 60, **values: Any) -> KernelLog:
    lines = (KernelLine(NOW_NS - round((age_s - number) * 1e9), text) for number, text in enumerate(texts))
    return KernelLog("host", NOW_NS, tuple(lines), "/dev/kmsg", **values)


KILLED = "Out of memory: Killed process 77 (java) total-vm:2942936kB, anon-rss:152520kB, UID:0"


def test_killed_processes_beyond_those_with_names_are_counted() -> None:
    (diagnosis,) = of(log(*(KILLED.replace("77", str(pid)) for pid in range(100, 116))), "oom-kill")
    assert diagnosis.summary.text.endswith("java (110); 10 others")


def test_killed_processes_are_named() -> None:
    (diagnosis,) = of(log("x", KILLED, KILLED.replace("77", "78"), KILLED), "oom-kill")
    assert isinstance(diagnosis, Diagnosis)
    assert (diagnosis.level, diagnosis.summary.arguments["count"]) == ("critical", 2)
    assert diagnosis.summary.arguments["names"] == ["java (78)", "java (77)"]
    assert "Killed process 77" in diagnosis.quotes[0].text


def test_kills_of_containers_and_old_ones_differ() -> None:
    (diagnosis,) = of(log(KILLED.replace("Out of", "Memory cgroup out of"), age_s=7200), "oom-kill")
    assert isinstance(diagnosis, Diagnosis)
    assert diagnosis.level == "warning"
    assert "limit of a container" in diagnosis.summary.text
    old = log("[ 7.1] Out of memory: Kill process 9 (a) score 9", "Killed process 9 (a) total-vm:1kB")
    assert level(old, "oom-kill") == "critical"


def test_a_counter_without_messages_is_a_note_or_a_warning() -> None:
    assert level(log("x", oom_kills=3), "oom-kill") == "note"
    hidden = KernelLog("host", NOW_NS, oom_kills=3, unreadable=kernel_log.UNREADABLE(error="denied"))
    assert level(hidden, "oom-kill") == "warning"
    unseen = KernelLog("host", NOW_NS, oom_kills=0, unreadable=kernel_log.UNREADABLE(error="denied"))
    assert [type(item) for item in examine(unseen)] == [Unseen, Unseen]
    assert level(log("x", oom_kills=0), "oom-kill") == "healthy"


@pytest.mark.parametrize(
    ("text", "device"),
    [
        ("blk_update_request: I/O error, dev sda, sector 2048 op 0x0:(READ)", "sda"),
        ("I/O error, dev nvme0n1, sector 2048 op 0x1:(WRITE) flags 0x800", "nvme0n1"),
        ("Buffer I/O error on dev dm-0, logical block 0, lost async page write", "dm-0"),
        ("critical medium error, dev sdb, sector 9", "sdb"),
        ("EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2", "sda1"),
        ('XFS (dm-3): metadata I/O error in "xfs_trans_read_buf"', "dm-3"),
        ("BTRFS error (device sdc state EA): bdev /dev/sdc errs: wr 1", "sdc"),
        ("Aborting journal on device sda1-8.", "sda1"),
        ("Aborting journal on device dm-0-8.", "dm-0"),
        ("Aborting journal on device dm-3.", "dm-3"),
    ],
)
def test_errors_of_disks_are_critical(text: str, device: str) -> None:
    (diagnosis,) = of(log(text), "disk-errors")
    assert isinstance(diagnosis, Diagnosis)
    assert diagnosis.level == "critical"
    assert device in diagnosis.devices


LOOP = (
    "I/O error, dev loop0, sector 2048 op 0x1:(WRITE)",
    "Buffer I/O error on dev loop0, logical block 256, lost async page write",
    "I/O error, dev loop0, sector 4096 op 0x1:(WRITE)",
    "Aborting journal on device loop0-8.",
    "EXT4-fs error (device loop0): ext4_journal_check_start:84: Detected aborted journal",
    "EXT4-fs (loop0): Remounting filesystem read-only",
)


def test_the_consequences_of_an_error_are_not_counted() -> None:
    (diagnosis,) = of(log(*LOOP), "disk-errors")
    assert isinstance(diagnosis, Diagnosis)
    assert diagnosis.remedy == "loop"
    assert (diagnosis.summary.arguments["count"], diagnosis.summary.arguments["device"]) == (2, "loop0")
    assert len(diagnosis.quotes) == 5, "all lines are evidence"
    (alone,) = of(log(LOOP[3], LOOP[4]), "disk-errors")
    assert isinstance(alone, Diagnosis)
    assert alone.summary.arguments["count"] == 1


@pytest.mark.parametrize(("source", "level_of_mount"), [("/dev/loop0", "note"), ("/dev/loop1", "critical")])
def test_a_file_system_that_disk_errors_made_read_only_is_counted_once(
    source: str, level_of_mount: str
) -> None:
    systems = FileSystems("host", (FileSystem(("/mnt",), "ext4", source, True, True),))
    examined = examination("host", [log(*LOOP), systems])
    levels = {item.incident: item.level for _, item in examined.diagnoses}
    assert levels == {"disk-errors": "critical", "read-only-remount": level_of_mount}


@pytest.mark.parametrize(
    "text",
    [
        "ata3: hard resetting link",
        "ata3.00: exception Emask 0x0 SAct 0x0 SErr 0x0 action 0x6 frozen",
        "nvme nvme0: I/O 5 QID 2 timeout, aborting".replace("nvme nvme0", "nvme0"),
        "sd 2:0:0:0: [sda] tag#21 FAILED: attempting target reset",
        "sd 2:0:0:0: attempting task abort! scmd(00000000c0ffee)",
    ],
)
def test_resets_of_disks_are_a_warning(text: str) -> None:
    assert level(log(text), "disk-errors") == "warning"


@pytest.mark.parametrize(
    "text",
    [
        "I/O error, dev fd0, sector 0",
        "Buffer I/O error on dev sr0, logical block 0",
        "EXT4-fs (vda1): mounted filesystem with ordered data mode. Opts: errors=remount-ro",
        "sd 2:0:0:0: Power-on or device reset occurred",
        "sd 2:0:0:0: [sda] tag#0 Power-on or device reset occurred",
        "ata3: SATA link up 6.0 Gbps (SStatus 133 SControl 300)",
    ],
)
def test_ordinary_messages_are_no_errors(text: str) -> None:
    assert level(log(text), "disk-errors") == "healthy"


def system(free: float, inodes: float = 0.5, size: int = 100 * GIB, **values: Any) -> FileSystems:
    sized = FileSystem(
        ("/data",), "ext4", "/dev/sda", size_bytes=size, free_bytes=round(size * free), inodes=1000,
        free_inodes=round(1000 * inodes), **values,
    )  # fmt: skip
    return FileSystems("host", (sized,))


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        (system(0.04), "warning"),
        (system(0.005), "critical"),
        (system(0.06), "healthy"),
        (system(0.04, size=1000 * GIB), "healthy"),  # 40 GiB
        (system(0.5, 0.04), "warning"),
        (system(0.5, 0.005), "critical"),
        (system(0.0, is_read_only=True), "healthy"),
    ],
)
def test_full_file_systems(evidence: FileSystems, expected: str) -> None:
    assert level(evidence, "full-file-system") == expected


def test_file_systems_that_became_read_only() -> None:
    assert level(system(0.5, is_read_only=True, should_write=True), "read-only-remount") == "critical"
    assert level(system(0.5, is_read_only=True), "read-only-remount") == "healthy"


def disks(busy: float, wait_ms: float, requests: int = 100, in_progress: int = 4) -> Disks:
    return Disks("host", 0.8, (DiskUse("sda", busy, requests, wait_ms, in_progress),))


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        (disks(0.99, 120), "warning"),
        (disks(0.99, 1200), "critical"),
        (disks(0.99, 80), "healthy"),
        (disks(0.76, 500), "healthy"),
        (disks(1.0, 0, requests=0), "warning"),
    ],
)
def test_saturated_disks(evidence: Disks, expected: str) -> None:
    assert level(evidence, "saturated-disk") == expected


def test_the_ring_buffer_of_the_kernel_is_read(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/kmsg").write_text(
        f"6,1,1000,-;first\n SUBSYSTEM=block\n3,2,2000,-;{KILLED}\n14,3,2500,-;of a program\ndamaged\n"
    )
    (evidence,) = KernelLogGatherer().gather(Host(tmp_path))
    assert [line.text for line in evidence.lines] == ["first", KILLED]
    assert evidence.lines[1].utc_ns - evidence.lines[0].utc_ns == 1_000_000


def test_a_ring_buffer_without_an_end_is_read_in_part(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/kmsg").symlink_to("/dev/zero")
    assert kernel_log.read(tmp_path).lines == ()


def test_after_an_earlier_look_only_later_messages_are_evidence(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    now_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    rows = {"of yesterday": now_us - 60_000_000, "late": now_us - 12_000_000, "new": now_us - 1_000_000}
    text = "".join(f"3,{number},{at},-;{name}\n" for number, (name, at) in enumerate(rows.items()))
    (tmp_path / "dev/kmsg").write_text(text)
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/vmstat").write_text("oom_kill 7\n")
    (every,) = KernelLogGatherer().gather(Host(tmp_path))
    assert ([line.text for line in every.lines], every.oom_kills) == (list(rows), 7)
    earlier = Look(time.monotonic() - 10, oom_kills=6)
    (later,) = KernelLogGatherer().gather(Host(tmp_path, earlier=earlier))
    assert [line.text for line in later.lines] == ["late", "new"], "with an overlap of 5 s"
    assert later.oom_kills == 1
    (judgement,) = of(later, "oom-kill")
    assert isinstance(judgement, Diagnosis)
    assert "killed 1 process within 15" in judgement.summary.text
    (calm,) = of(replace(later, oom_kills=0), "oom-kill")
    assert isinstance(calm, Healthy)
    assert "since its start" not in calm.value.text


def test_files_of_syslog_are_read_without_the_ring_buffer(tmp_path: Path) -> None:
    (tmp_path / "var/log").mkdir(parents=True)
    stamp = time.strftime("%b %e %H:%M:%S", time.localtime())
    (tmp_path / "var/log/kern.log").write_text(
        f"{stamp} host kernel: [  1.5] {KILLED}\n{stamp} host cron: x\n"
    )
    messages = kernel_log.read(tmp_path)
    assert [line.text for line in messages.lines] == [KILLED]
    assert abs(messages.lines[0].utc_ns - time.time_ns()) < 5e9


def test_no_kernel_log_has_its_reason(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="not readable"):
        kernel_log.read(tmp_path)


def processors(
    busy: float, waited: float | None, runnable: int = 2, steal: float = 0.0, cores: int = 4
) -> Processors:
    use = (ProcessorUse("stress-ng-cpu", 4, busy),)
    return Processors("host", 0.6, cores, busy, steal, runnable, waited, use)


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        (processors(0.95, 0.6), "warning"),
        (processors(1.0, 1.0, 400), "warning"),  # wanted or not: never critical
        (processors(0.95, None, 9), "warning"),
        (processors(0.95, 0.1, 9), "warning"),
        (processors(0.5, 0.9, 9, steal=0.45), "warning"),
        (processors(0.95, 0.4, 8), "healthy"),  # well used
        (processors(0.85, 0.9, 40), "healthy"),  # a burst
        (processors(0.95, None, 8), "healthy"),
        (processors(0.02, 0.0, 0), "healthy"),
    ],
)
def test_busy_processors(evidence: Processors, expected: str) -> None:
    assert level(evidence, "busy-processors") == expected


def test_busy_processors_have_their_processes_and_remedy() -> None:
    (diagnosis,) = of(processors(0.97, 0.8, 12), "busy-processors")
    assert isinstance(diagnosis, Diagnosis)
    assert diagnosis.confidence == "high"
    assert "The busiest: stress-ng-cpu 97% (4 processes)" in diagnosis.summary.text
    (shared,) = of(processors(0.6, 0.8, 12, steal=0.35), "busy-processors")
    assert isinstance(shared, Diagnosis)
    assert "gave 35% of the time" in shared.summary.text
    assert "hosts" not in Message(diagnosis.remedy_code).text
    assert "move it to another host" in Message(shared.remedy_code).text


@pytest.mark.parametrize(
    "evidence", [processors(0.97, 0.8), processors(0.97, None, 9), processors(0.6, 0.8, steal=0.35)]
)
def test_busy_processors_without_a_busy_process_are_stated_so(evidence: Processors) -> None:
    (diagnosis,) = of(replace(evidence, busiest=()), "busy-processors")
    assert isinstance(diagnosis, Diagnosis)
    assert diagnosis.summary.text.endswith(": no process used 1.0% or more")
    assert Texts("zh").message(diagnosis.summary).endswith("：没有占用达到 1.0% 的进程")


def test_busy_processes_are_named() -> None:
    name = f"busy-{os.getpid()}"
    code = f"open('/proc/self/comm', 'w').write({name!r})\nwhile True: pass"
    count = 2 * (os.cpu_count() or 1)
    # the kernel shares processors by session
    processes = [
        subprocess.Popen([sys.executable, "-S", "-c", code], start_new_session=True) for _ in range(count)
    ]
    try:
        time.sleep(1)
        (seen,) = ProcessorGatherer().gather(Host(interval_s=0.8))
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert seen.cores == os.cpu_count()
    assert seen.busy_share + seen.steal_share > 0.5
    [use] = [use for use in seen.busiest if use.name == name]
    assert use.processes <= count
    assert 0 < use.share <= 1


def test_gatherers_read_this_machine() -> None:
    host = Host(interval_s=0.2)
    (seen,) = MemoryGatherer().gather(host)
    assert seen.total_bytes > seen.available_bytes > 0
    systems, used = DiskGatherer().gather(host)
    assert isinstance(systems, FileSystems)
    assert isinstance(used, Disks)
    root = next(item for item in systems.systems if "/" in item.points)
    about = os.statvfs("/")
    assert root.size_bytes == about.f_blocks * about.f_frsize


def test_the_state_of_file_systems_is_compared_with_fstab(tmp_path: Path) -> None:
    for path in ("proc/self", "etc"):
        (tmp_path / path).mkdir(parents=True)
    points = [tmp_path / name for name in ("a", "b", "c", "d")]
    rows = []
    for number, point in enumerate(points):
        point.mkdir()
        flags = "rw" if point.name in "ad" else "ro"
        rows.append(
            f"{number + 5} 1 9:{number} / {point} {flags} - ext4 /dev/s{number} ro,errors=remount-ro\n"
        )
    (tmp_path / "proc/self/mountinfo").write_text("".join(rows))
    (tmp_path / "etc/fstab").write_text(
        f"/dev/s2 {points[2]} ext4 defaults 0 2\n/dev/s3 {points[3]} ext4 ro\n"
    )
    systems, _ = DiskGatherer().gather(Host(tmp_path, interval_s=0.1))
    assert isinstance(systems, FileSystems)
    written = {item.point: item.should_write for item in systems.systems}
    assert [written[str(point)] for point in points] == [True, False, True, False]
