"""Errors of disks in the kernel log: each failed I/O once, by disk, with its time."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadcell.incidents.base import Diagnosis
from loadcell.incidents.evidence.disks import FileSystem, FileSystems
from loadcell.incidents.evidence.kernel_log import KernelLog
from loadcell.incidents.examination import examination
from loadcell.incidents.live.base import Host
from loadcell.incidents.live.kernel_log import KernelLogGatherer
from loadcell.linux.block_devices import BlockDevice, BlockDevices, read
from loadcell.linux.kernel_log import KernelLine

from .test_host_incidents import NOW_NS, of

FAILED = "blk_update_request: I/O error, dev sdb, sector {sector} op 0x1:(WRITE)"
DEVICES = (
    BlockDevice("sda", "8:0", ("sda",), addresses=("ata3", "2:0:0:0")),
    BlockDevice("sda1", "8:1", ("sda",)),
    BlockDevice("sdb", "8:16", ("sdb",), addresses=("ata4", "3:0:0:0")),
    BlockDevice("sdb1", "8:17", ("sdb",)),
    BlockDevice("sdc", "8:32", ("sdc",)),
    BlockDevice("dm-0", "253:0", ("sdb",), is_layer=True),
    BlockDevice("md0", "9:0", ("sdb", "sdc"), is_layer=True),
    BlockDevice("loop0", "7:0", ("loop0",), "/srv/image"),
    BlockDevice("dm-1", "253:1", ("loop0",), is_layer=True),
    BlockDevice("nvme0n1", "259:0", ("nvme0n1",), addresses=("nvme0",)),
    BlockDevice("nvme0c0n1", "", ("nvme0c0n1",), addresses=("nvme0",)),
)
RESET = "sd 3:0:0:0: {}tag#21 FAILED: attempting target reset"


def at(*rows: tuple[float, str]) -> KernelLog:
    """Messages with their ages in seconds."""
    lines = (KernelLine(NOW_NS - round(age_s * 1e9), text) for age_s, text in rows)
    return KernelLog("host", NOW_NS, tuple(lines), "/dev/kmsg", devices=DEVICES)


def counts(log: KernelLog) -> dict[str, int]:
    """Errors or resets by disk."""
    return {
        str(item.summary.arguments["device"]): int(str(item.summary.arguments["count"]))
        for item in of(log, "disk-errors")
        if isinstance(item, Diagnosis)
    }


ONE_FAILURE = (
    (60.002, "sd 3:0:0:0: [sdb] tag#9 FAILED Result: hostbyte=DID_OK driverbyte=DRIVER_SENSE"),
    (60.002, "sd 3:0:0:0: [sdb] tag#9 Sense Key : Medium Error [current]"),
    (60.001, "sd 3:0:0:0: [sdb] tag#9 Add. Sense: Unrecovered read error"),
    (60.000, "blk_update_request: critical medium error, dev sdb, sector 2048 op 0x0:(READ)"),
    (59.999, "Buffer I/O error on dev dm-0, logical block 256, async page read"),
    (59.990, "EXT4-fs error (device dm-0): ext4_find_entry:1455: inode #2: comm ls: reading directory"),
    (57.000, "Aborting journal on device dm-0-8."),
)


def test_a_failed_request_with_all_its_messages_is_one_error() -> None:
    (diagnosis,) = of(at(*ONE_FAILURE), "disk-errors")
    assert isinstance(diagnosis, Diagnosis)
    assert diagnosis.summary.arguments == {"count": 1, "device": "sdb", "since_s": 57.0, "names": ["dm-0"]}
    assert (diagnosis.begin_ns, diagnosis.end_ns) == (NOW_NS - 60_002_000_000, NOW_NS - 57_000_000_000)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([(9, FAILED.format(sector=8)), (8, FAILED.format(sector=16))], {"sdb": 2}),
        ([(9, FAILED.format(sector=8)), (8.9, FAILED.format(sector=8))], {"sdb": 1}),  # tried again at once
        ([(90, FAILED.format(sector=8)), (9, FAILED.format(sector=8))], {"sdb": 2}),
        ([(9, FAILED.format(sector=8)), (9, "I/O error, dev dm-0, sector 8")], {"sdb": 1}),
        ([(9, "I/O error, dev dm-0, sector 8"), (8, "I/O error, dev dm-0, sector 16")], {"sdb": 2}),
        ([(9, "EXT4-fs error (device sdb1): x"), (8, "Buffer I/O error on dev dm-0, logical block 1")],
         {"sdb": 1}),
        ([(900, FAILED.format(sector=8)), (9, "EXT4-fs error (device sdb1): x")], {"sdb": 2}),
        ([(9, "I/O error, dev 8:32, sector 1")], {"sdc": 1}),
        ([(9, "device-mapper: multipath: 253:0: Failing path 8:32.")], {"sdc": 1}),
        ([(9, "md/raid1:md0: Disk failure on sdb1, disabling device.")], {"sdb": 1}),
        ([(9, "Buffer I/O error on dev md0, logical block 1")], {"md0": 1}),  # of one of two disks
        ([(9, "Buffer I/O error on dev md0, logical block 1"), (8.5, FAILED.format(sector=8))], {"sdb": 1}),
        ([(9, "sd 3:0:0:0: rejecting I/O to offline device")], {"sdb": 1}),
        ([(9, "I/O error, dev sdx2, sector 1"), (8, "EXT4-fs error (device sdx1): x")], {"sdx": 1}),
        ([(9, "I/O error, dev nvme0n1p3, sector 1")], {"nvme0n1": 1}),
        ([(9, "I/O error, dev sdc, sector 1"), (8, FAILED.format(sector=1))], {"sdb": 1, "sdc": 1}),
        ([(9, "ata4.00: exception Emask 0x0 SAct 0x0 SErr 0x0 action 0x6 frozen"),
          (9, "ata4.00: failed command: READ FPDMA QUEUED"), (9, "ata4: hard resetting link")], {"sdb": 1}),
        ([(9, "ata3: hard resetting link"), (8, FAILED.format(sector=1))], {"sda": 1, "sdb": 1}),
        ([(9, "ata4: hard resetting link"), (8, FAILED.format(sector=1))], {"sdb": 1}),
        ([(9, RESET.format("[sdb] ")), (8, FAILED.format(sector=1))], {"sdb": 1}),
        ([(9, RESET.format("")), (8, FAILED.format(sector=1))], {"sdb": 1}),
        ([(900, RESET.format("[sdb] ")), (90, "ata4: hard resetting link"), (8, RESET.format(""))],
         {"sdb": 3}),
        ([(900, "I/O error, dev dm-0, sector 1"), (809, FAILED.format(sector=8)),
          (808, "EXT4-fs error (device dm-0): x")], {"sdb": 2}),
        ([(9, "nvme nvme0: I/O 12 QID 3 timeout, aborting"), (8, "I/O error, dev nvme0c0n1, sector 1"),
          (7, "EXT4-fs error (device nvme0n1): x")], {"nvme0n1": 1}),
    ],
)  # fmt: skip
def test_errors_count_once_for_their_disk(rows: list[tuple[float, str]], expected: dict[str, int]) -> None:
    assert counts(at(*rows)) == expected


def test_messages_belong_to_the_first_of_a_minute() -> None:
    rows = [(10_000 - 30 * number, f"EXT4-fs error (device sdb1): inode {number}") for number in range(300)]
    assert counts(at(*rows)) == {"sdb": 100}
    resets = [(10_000 - 30 * number, "ata4: hard resetting link") for number in range(300)]
    assert counts(at(*resets)) == {"sdb": 100}
    attempts = [(100 - 0.5 * number, FAILED.format(sector=8)) for number in range(30)]
    assert counts(at(*attempts)) == {"sdb": 10}


@pytest.mark.parametrize(
    ("age_s", "text", "level"),
    [
        (3500, FAILED.format(sector=8), "critical"),
        (3700, FAILED.format(sector=8), "warning"),
        (3500, "ata4: hard resetting link", "warning"),
        (3700, "ata4: hard resetting link", "note"),
    ],
)
def test_errors_of_more_than_an_hour_ago_are_history(age_s: float, text: str, level: str) -> None:
    (diagnosis,) = of(at((age_s, text)), "disk-errors")
    assert isinstance(diagnosis, Diagnosis)
    assert diagnosis.level == level


def test_disks_have_their_own_times_the_latest_first() -> None:
    log = at(
        (7200, "I/O error, dev sdc, sector 1"), (50, FAILED.format(sector=1)), (40, FAILED.format(sector=9))
    )
    seen = [item for item in of(log, "disk-errors") if isinstance(item, Diagnosis)]
    assert [(item.summary.arguments["device"], item.level) for item in seen] == [
        ("sdb", "critical"),
        ("sdc", "warning"),
    ]
    assert (seen[0].begin_ns, seen[0].end_ns) == (NOW_NS - 50 * 10**9, NOW_NS - 40 * 10**9)


def test_many_disks_are_named_together() -> None:
    log = at(*((number, f"I/O error, dev sd{chr(99 + number)}, sector 1") for number in range(9)))
    *named, further = of(log, "disk-errors")
    assert len(named) == 6
    assert isinstance(further, Diagnosis)
    assert further.summary.arguments == {"count": 3, "devices": ["sdi", "sdj", "sdk"]}


def test_further_disks_have_the_worst_level_of_their_own() -> None:
    errors = [
        (80_000 - number, f"I/O error, dev sd{name}, sector 1") for number, name in enumerate("mnopqrs")
    ]
    resets = [(9 - number, f"ata{number + 20}: hard resetting link") for number in range(7)]
    further = of(at(*errors, *resets), "disk-errors")[-1]
    assert isinstance(further, Diagnosis)
    assert further.summary.arguments == {"count": 2, "devices": ["sdm", "ata20"]}
    assert (further.level, further.confidence) == ("warning", "high")


def test_a_loop_device_has_its_file() -> None:
    (diagnosis,) = of(at((9, "I/O error, dev loop0, sector 2048 op 0x1:(WRITE)")), "disk-errors")
    assert isinstance(diagnosis, Diagnosis)
    assert diagnosis.remedy == "loop"
    assert "/srv/image" in diagnosis.summary.text


def test_errors_of_a_former_file_of_a_loop_device_are_history() -> None:
    failed = "I/O error, dev loop0, sector {} op 0x1:(WRITE)"
    log = at(
        (99, "loop0: detected capacity change from 0 to 16384"),
        (90, failed.format(1)),
        (80, failed.format(9)),
        (70, "EXT4-fs error (device loop0): x"),
        (60, FAILED.format(sector=1)),
        (50, "loop0: detected capacity change from 0 to 110592"),
        (40, failed.format(1)),
        (30, "loop0: detected capacity change from 110592 to 0"),
        (20, FAILED.format(sector=9)),
    )
    seen = [item for item in of(log, "disk-errors") if isinstance(item, Diagnosis)]
    counted = [(item.summary.arguments["device"], item.summary.arguments["count"]) for item in seen]
    assert [(item.level, *values) for item, values in zip(seen, counted, strict=True)] == [
        ("critical", "sdb", 2),
        ("critical", "loop0", 1),
        ("warning", "loop0", 2),
    ]
    assert "/srv/image" in seen[1].summary.text
    assert "/srv/image" not in seen[2].summary.text
    assert (seen[2].devices, seen[2].remedy) == ((), "loop")


def test_errors_of_layers_above_a_former_file_are_of_that_file() -> None:
    log = at(
        (90, "I/O error, dev dm-1, sector 8 op 0x1:(WRITE)"),
        (80, "EXT4-fs error (device dm-1): x"),
        (70, "I/O error, dev loop00, sector 1"),
        (50, "loop0: detected capacity change from 0 to 110592"),
    )
    seen = [item for item in of(log, "disk-errors") if isinstance(item, Diagnosis)]
    assert {(item.summary.arguments["device"], item.level, item.summary.code) for item in seen} == {
        ("loop00", "critical", "incident.disk-errors.seen"),
        ("loop0", "warning", "incident.disk-errors.former"),
    }


@pytest.mark.parametrize(("age_s", "level"), [(60, "note"), (7200, "critical")])
def test_a_file_system_on_a_disk_with_errors_is_counted_once_while_they_are_recent(
    age_s: float, level: str
) -> None:
    systems = FileSystems(
        "host", (FileSystem(("/data",), "ext4", "/dev/mapper/data", True, True, number="253:0"),)
    )
    examined = examination("host", [at((age_s, FAILED.format(sector=8))), systems])
    levels = {item.incident: item.level for _, item in examined.diagnoses}
    assert levels["read-only-remount"] == level


def sysfs(root: Path) -> Path:
    """A disk with a partition, a mapping over it, an array of two disks, and a loop device."""
    links = root / "sys/class/block"
    links.mkdir(parents=True)
    disks = {"sdb": "ata4/host3/target3:0:0/3:0:0:0/block", "sdc": "ata5/host4/target4:0:0/4:0:0:0/block"}
    paths = {name: f"pci0000:00/{path}/{name}" for name, path in disks.items()}
    paths |= {"sdb1": f"{paths['sdb']}/sdb1"}
    paths |= {name: f"virtual/block/{name}" for name in ("dm-0", "md0", "loop0")}
    numbers = {"sdb": "8:16", "sdb1": "8:17", "sdc": "8:32", "dm-0": "253:0", "md0": "9:0", "loop0": "7:0"}
    for name, path in paths.items():
        directory = root / "sys/devices" / path
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "dev").write_text(numbers[name] + "\n")
        (links / name).symlink_to(f"../../devices/{path}")
    (links / "sdb1/partition").write_text("1\n")
    for name, below in {"dm-0": ("sdb1",), "md0": ("dm-0", "sdc")}.items():
        (links / name / "slaves").mkdir()
        for slave in below:
            (links / name / "slaves" / slave).symlink_to(f"../../{slave}")
    (links / "loop0/loop").mkdir()
    (links / "loop0/loop/backing_file").write_text("/srv/image\n")
    return root


def test_devices_of_a_host_have_the_disks_below_them(tmp_path: Path) -> None:
    devices = BlockDevices(read(sysfs(tmp_path)))
    disks = {
        name: devices.disks_of(name) for name in ("sdb1", "dm-0", "md0", "8:17", "253:0", "ata4", "4:0:0:0")
    }
    assert disks == {
        "sdb1": ("sdb",), "dm-0": ("sdb",), "md0": ("sdb", "sdc"), "8:17": ("sdb",), "253:0": ("sdb",),
        "ata4": ("sdb",), "4:0:0:0": ("sdc",),
    }  # fmt: skip
    assert devices.file_of("loop0") == "/srv/image"
    assert [devices.is_layer(name) for name in ("sdb1", "dm-0", "9:0", "dm-7")] == [False, True, True, True]
    assert devices.above("sdb") == ["dm-0", "253:0", "md0", "9:0", "sdb", "8:16", "sdb1", "8:17"]


def test_paths_to_a_namespace_are_its_disk(tmp_path: Path) -> None:
    links = tmp_path / "sys/class/block"
    links.mkdir(parents=True)
    paths = {
        "nvme1n1": "virtual/nvme-subsystem/nvme-subsys1/nvme1n1",
        "nvme1c0n1": "pci0000:00/nvme/nvme0/nvme1c0n1",
        "nvme1c2n1": "pci0000:00/nvme/nvme2/nvme1c2n1",
        "nvme0n1": "virtual/nvme-subsystem/nvme-subsys0/nvme0n1",
        "nvme0c1n1": "pci0000:00/nvme/nvme1/nvme0c1n1",
    }
    for name, path in paths.items():
        (tmp_path / "sys/devices" / path).mkdir(parents=True)
        (links / name).symlink_to(f"../../devices/{path}")
    devices = BlockDevices(read(tmp_path))
    names = ("nvme1c0n1", "nvme1n1", "nvme0", "nvme2", "nvme1", "nvme7c3n2")
    disks = ["nvme1n1", "nvme1n1", "nvme1n1", "nvme1n1", "nvme0n1", "nvme7n2"]
    assert [devices.disks_of(name) for name in names] == [(disk,) for disk in disks]


def test_the_log_of_a_host_comes_with_its_devices(tmp_path: Path) -> None:
    (sysfs(tmp_path) / "dev").mkdir()
    (tmp_path / "dev/kmsg").write_text("3,1,1000,-;EXT4-fs error (device dm-0): x\n")
    (log,) = KernelLogGatherer().gather(Host(tmp_path))
    assert counts(KernelLog("host", log.now_ns, log.lines, log.file, devices=log.devices)) == {"sdb": 1}
