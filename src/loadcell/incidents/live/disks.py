"""Local disks of this host: their use, and the space of their file systems, asked by disposable processes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from loadcell.incidents.evidence.disks import Disks, DiskUse, FileSystem, FileSystems
from loadcell.incidents.live.base import SOURCE, Gatherer, Host
from loadcell.linux import mount_answers, mount_table, procfs
from loadcell.linux.host_counters import DiskCounters, disks_to_count, read_host
from loadcell.linux.mount_table import Mount
from loadcell.linux.procfs import ProcFiles

_ANSWER_S = 1.5
#: File systems that nobody can write to.
_ALWAYS_READ_ONLY = frozenset({"squashfs", "iso9660", "erofs", "cramfs", "romfs", "udf"})


class DiskGatherer(Gatherer):
    name = "disks"
    gathers = (FileSystems, Disks)
    limit_s = 3.5

    def gather(self, host: Host) -> Iterable[FileSystems | Disks]:
        files = ProcFiles(host.root)
        before, begin = read_host(files).disks, time.monotonic()
        yield FileSystems(SOURCE, tuple(_file_systems(host)))
        time.sleep(max(0.0, host.interval_s - (time.monotonic() - begin)))
        now, elapsed_s = read_host(files).disks, time.monotonic() - begin
        files.close()
        names = disks_to_count([name for name in now if name in before])
        yield Disks(
            SOURCE,
            elapsed_s,
            tuple(_use(name, now[name].since(before[name]), elapsed_s) for name in names),
        )


def _use(name: str, counters: DiskCounters, elapsed_s: float) -> DiskUse:
    requests = counters.reads + counters.writes
    wait_ms = (counters.read_ms + counters.write_ms) / requests if requests else 0.0
    busy_share = min(1.0, counters.busy_ms / (elapsed_s * 1e3))
    return DiskUse(name, busy_share, requests, wait_ms, counters.in_progress)


def _file_systems(host: Host) -> Iterator[FileSystem]:
    mounts = [mount for mount in mount_table.read(host.root) if mount.is_local_disk]
    answers = mount_answers.ask(mounts, _ANSWER_S)
    options = _wanted_options(host)
    by_device: dict[str, list[Mount]] = {}
    for mount in mounts:
        by_device.setdefault(mount.device, []).append(mount)
    for same in by_device.values():
        mount = same[0]
        answer = answers.by_point.get(mount.point)
        wanted = next((options[item.point] for item in same if item.point in options), None)
        yield FileSystem(
            tuple(item.point for item in same),
            mount.type,
            mount.source,
            mount.is_read_only,
            _should_write(mount, wanted),
            None if answer is None or answer.error else answer.size_bytes,
            *((0, 0, 0) if answer is None else (answer.free_bytes, answer.inodes, answer.free_inodes)),
            number=mount.device,
        )


def _should_write(mount: Mount, wanted: frozenset[str] | None) -> bool:
    if mount.type in _ALWAYS_READ_ONLY:
        return False
    if wanted is not None:
        return "ro" not in wanted
    # the kernel makes the file system read-only, a person also the mount
    return "rw" in mount.mount_options


def _wanted_options(host: Host) -> dict[str, frozenset[str]]:
    """Options of the table of file systems by mount point."""
    rows = (row.split() for row in procfs.text(host.root / "etc/fstab").splitlines())
    return {
        row[1].rstrip("/") or "/": frozenset(row[3].split(","))
        for row in rows
        if len(row) > 3 and not row[0].startswith("#")
    }


PART = DiskGatherer
