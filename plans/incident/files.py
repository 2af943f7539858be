"""Incidents of open files, file systems in images, and disks.

File systems are mounted in a mount namespace that ends with this script. Standard library only; all but
`open-files` and `saturated-disk` need root and loop devices.
"""

from __future__ import annotations

import mmap
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

from hung_mount import server
from rehearsal import Examination, Rehearsal, Steps, private_mounts

_BLOCK: Final = 1 << 20
#: Of a file that is read.
_BLOCKS: Final = 64


def open_files(chance: random.Random, _: Path) -> Steps:
    limit = chance.randint(40, 400)
    count = round(limit * chance.uniform(0.85, 0.97)) - 3
    code = f"import os, sys; [os.dup(0) for _ in range({count})]; print(1, flush=True); sys.stdin.read()"
    for most in (limit, limit * 2):
        with subprocess.Popen(
            [sys.executable, "-S", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            preexec_fn=partial(resource.setrlimit, resource.RLIMIT_NOFILE, (most, most)),
        ) as process:  # fmt: skip
            assert process.stdout is not None
            process.stdout.readline()
            yield Examination(("--live",), f"{count} of {limit}", str(process.pid))
            process.communicate(b"")


def hung_mount(chance: random.Random, directory: Path) -> Steps:
    """Mounts whose server is stopped; the remedy mounts them again."""
    count = chance.randint(1, 4)
    points = [str(directory / f"mount-{number}") for number in range(count)]
    private_mounts()
    for point in points:
        Path(point).mkdir()
    for is_stopped in (True, False):
        pid = server(points, 0.0)
        try:
            if is_stopped:
                os.kill(pid, signal.SIGSTOP)
            yield Examination(("--live",), f"{count} mounts", points[-1])
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            for point in points:
                _run("umount", "-l", point)


@contextmanager
def file_system(directory: Path, name: str, size_mib: int) -> Iterator[Path]:
    """A mounted new file system in an image."""
    image, point = directory / f"{name}.image", directory / name
    with image.open("wb") as file:
        file.truncate(size_mib << 20)
    _run("mkfs.ext4", "-q", "-m", "0", str(image))
    point.mkdir()
    _run("mount", "-o", "loop,errors=remount-ro", str(image), str(point))
    try:
        yield point
    finally:
        _run("umount", "-l", str(point))


def _run(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def full_file_system(chance: random.Random, directory: Path) -> Steps:
    size = chance.randint(16, 64)
    private_mounts()
    with file_system(directory, "data", size) as point:
        filler, free = point / "filler", os.statvfs(point)
        filler.write_bytes(bytes(round(free.f_bavail * free.f_frsize * 0.985)))
        yield Examination(("--live",), f"{size} MiB", str(point))
        filler.unlink()
        yield Examination(("--live",), f"{size} MiB", str(point))


def read_only_remount(chance: random.Random, directory: Path) -> Steps:
    size = chance.randint(16, 64)
    private_mounts()
    with file_system(directory, "data", size) as point:
        device = Path(_run("findmnt", "-n", "-o", "SOURCE", str(point))).name
        Path("/sys/fs/ext4", device, "trigger_fs_error").write_text("rehearsal")
        yield Examination(("--live",), f"{size} MiB", str(point))
        _run("umount", str(point))
        image = directory / "data.image"
        # 1: errors that are corrected
        subprocess.run(["fsck.ext4", "-f", "-y", str(image)], check=False, capture_output=True)
        _run("mount", "-o", "loop,errors=remount-ro", str(image), str(point))
        yield Examination(("--live",), f"{size} MiB", str(point))


def disk_errors(chance: random.Random, directory: Path) -> Steps:
    """A loop device whose backing file system is full: the kernel reports its writes as errors."""
    size = chance.randint(4, 16)
    private_mounts()
    memory = directory / "memory"
    memory.mkdir()
    _run("mount", "-t", "tmpfs", "-o", f"size={size // 2}m", "none", str(memory))
    image = memory / "image"
    with image.open("wb") as file:
        file.truncate(size << 20)
    device = Path(_run("losetup", "--show", "--find", str(image)))
    try:
        begin_s = time.time()
        with suppress(OSError), device.open("r+b", buffering=0) as disk:
            for _number in range(size):
                disk.write(bytes(_BLOCK))
            os.fsync(disk.fileno())
        time.sleep(0.2)
        yield Examination(("--live",), f"{size} MiB", f'"{device.name}"', begin_s)
        _run("mount", "-o", f"remount,size={2 * size}m", str(memory))
        time.sleep(1.1)
        begin_s = time.time()
        with device.open("r+b", buffering=0) as disk:
            for _number in range(size):
                disk.write(bytes(_BLOCK))
            os.fsync(disk.fileno())
        time.sleep(0.2)
        yield Examination(("--live",), f"{size} MiB", f'"{device.name}"', begin_s)
    finally:
        _run("losetup", "--detach", str(device))
        _run("umount", "-l", str(memory))


def saturated_disk(chance: random.Random, directory: Path) -> Steps:
    """Many readers at once, past the cache, of the disk that has the working directory."""
    readers = chance.randint(256, 384)
    file = directory / "data"
    with file.open("wb") as target:
        for _number in range(_BLOCKS):
            target.write(os.urandom(_BLOCK))
        os.fsync(target.fileno())
    is_over = threading.Event()

    def read() -> None:
        descriptor = os.open(file, os.O_RDONLY | os.O_DIRECT)
        with mmap.mmap(-1, _BLOCK) as buffer:
            while not is_over.is_set():
                os.preadv(descriptor, [buffer], chance.randrange(_BLOCKS) * _BLOCK)
        os.close(descriptor)

    threads = [threading.Thread(target=read) for _number in range(readers)]
    for thread in threads:
        thread.start()
    try:
        time.sleep(0.5)
        yield Examination(("--live",), f"{readers} readers")
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
    yield Examination(("--live",), f"{readers} readers")


REHEARSALS: Final = {
    "hung-mount": Rehearsal("FUSE mounts whose server is stopped", "mounted again", hung_mount),
    "open-files": Rehearsal("a process that opens files up to its limit", "twice the limit", open_files),
    "full-file-system": Rehearsal("a file system in an image, filled", "files deleted", full_file_system),
    "read-only-remount": Rehearsal(
        "an error of a file system in an image", "repaired and mounted again", read_only_remount
    ),
    "disk-errors": Rehearsal(
        "a loop device whose writes find no room", "room for its file", disk_errors
    ),
    "saturated-disk": Rehearsal(
        "hundreds of readers of a disk, past the cache", "without them", saturated_disk
    ),
}  # fmt: skip
