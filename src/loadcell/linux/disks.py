"""Block devices, and the file systems on them.

A mount that does not answer is named as such, and holds nothing up.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from loadcell.linux.files import chosen, line, text, whole
from loadcell.linux.time_limits import ask

#: Devices that hold no data of their own.
_NO_DISK = ("loop", "ram", "zram", "sr", "fd")
#: Mounts of these are not storage.
_NO_STORAGE = {
    "autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs",
    "fusectl", "hugetlbfs", "mqueue", "nsfs", "overlay", "proc", "pstore", "ramfs", "rpc_pipefs", "securityfs",
    "squashfs", "sysfs", "tmpfs", "tracefs",
}  # fmt: skip
#: Whatever it is, it is what most files are on: in a container an overlay, on a machine without disks memory.
_ROOT = "/"
#: How long file systems may take to say their size.
_ANSWER_S = 1.0


def disks(root: Path) -> list[dict[str, Any]]:
    """Each block device: model, size, whether it rotates, its scheduler and write cache."""
    devices = []
    for device in sorted((root / "sys/block").glob("*")):
        if device.name.startswith(_NO_DISK):
            continue
        rotational = line(device / "queue/rotational")
        devices.append(
            {
                "name": device.name,
                "model": line(device / "device/model"),
                "size_bytes": (whole(device / "size") or 0) * 512,
                "rotational": None if rotational is None else rotational == "1",
                "scheduler": chosen(line(device / "queue/scheduler")),
                "write_cache": line(device / "queue/write_cache"),
            }
        )
    return devices


def mounts(root: Path) -> list[dict[str, Any]]:
    """Each mounted file system that stores: source, type, options (proc(5), mountinfo); each source once, at
    its first mount.
    """
    by_mount: dict[str, dict[str, Any]] = {}
    for row in text(root / "proc/self/mountinfo").splitlines():
        before, _, after = row.partition(" - ")
        head, tail = before.split(), after.split()
        if len(head) < 6 or len(tail) < 2:
            continue
        mount, source = _plain(head[4]), _plain(tail[1])
        if tail[0] in _NO_STORAGE and mount != _ROOT:
            continue
        options = sorted({*head[5].split(","), *(tail[2].split(",") if len(tail) > 2 else ())})
        by_mount.setdefault(
            f"{tail[0]} {source}",
            {"mount": mount, "source": source, "type": tail[0], "options": ",".join(options)},
        )
    return list(by_mount.values())


def filesystems(root: Path) -> list[dict[str, Any]]:
    """The same with size and free space, or `answers: false` where a file system does not say so in time.

    Where so many of them hang that others could not be asked, these have neither.
    """
    mounted = mounts(root)
    asked = {entry["mount"]: (lambda mount=entry["mount"]: _space(mount)) for entry in mounted}
    answers = ask(asked, _ANSWER_S)
    for entry in mounted:
        space = answers.found.get(entry["mount"])
        if space is not None:
            entry["size_bytes"], entry["free_bytes"] = space
        elif entry["mount"] not in answers.unasked:
            entry["answers"] = False
    return mounted


def _space(path: str) -> tuple[int, int]:
    about = os.statvfs(path)
    return about.f_frsize * about.f_blocks, about.f_frsize * about.f_bavail


def _plain(path: str) -> str:
    r"""A path of mountinfo, where blanks are written as `\040`."""
    return re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), path)
