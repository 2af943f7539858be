"""Block devices, the file systems on them, and the one under a directory.

A mount that does not answer is named as such, and holds nothing up.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from loadcell.linux.procfs import chosen, line, read_number, text
from loadcell.linux.time_limits import ask
from loadcell.model.json import JsonObject

#: The unit of sizes in /sys/block, whatever the sectors of the device.
SECTOR_BYTES = 512
#: Devices that hold no data of their own.
_NO_DISK = ("loop", "ram", "zram", "sr", "fd")
#: Mounts of these are not storage.
_NO_STORAGE = {
    "autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs",
    "efivarfs", "fusectl", "hugetlbfs", "mqueue", "nsfs", "overlay", "proc", "pstore", "ramfs",
    "rpc_pipefs", "securityfs", "squashfs", "sysfs", "tmpfs", "tracefs",
}  # fmt: skip
#: Whatever it is, it is what most files are on: in a container an overlay, on a machine without disks memory.
_ROOT = "/"
#: How long file systems may take to say their size.
_ANSWER_S = 1.0


#: File systems whose files are nowhere but in memory, and devices of memory.
_OF_MEMORY = ("tmpfs", "ramfs", "devtmpfs")
_MEMORY_DEVICE = re.compile(r"/dev/z?ram\d+")


def disks(root: Path) -> list[JsonObject]:
    """Each block device: model, size, whether it rotates, its scheduler and write cache; sizes of its sectors
    and of the requests that it prefers, its NUMA node, and its partitions.

    What the device does not state is left out (Linux, Documentation/ABI/stable/sysfs-block).
    """
    devices = []
    for device in sorted((root / "sys/block").glob("*")):
        if device.name.startswith(_NO_DISK):
            continue
        rotational = line(device / "queue/rotational")
        devices.append(
            {
                "name": device.name,
                "model": line(device / "device/model"),
                "size_bytes": (read_number(device / "size") or 0) * SECTOR_BYTES,
                "rotational": None if rotational is None else rotational == "1",
                "scheduler": chosen(line(device / "queue/scheduler")),
                "write_cache": line(device / "queue/write_cache"),
                **_block_sizes(device / "queue"),
                **numa_node_of(device / "device", root),
                **_partitions(device),
            }
        )
    return devices


#: Sizes in bytes by their files; 0 stands for a device that states none.
_BLOCK_SIZES = {
    "logical_sector_bytes": "logical_block_size",
    "physical_sector_bytes": "physical_block_size",
    "minimum_io_bytes": "minimum_io_size",
    "optimal_io_bytes": "optimal_io_size",
}


def _block_sizes(queue: Path) -> JsonObject:
    sizes = {name: read_number(queue / file) for name, file in _BLOCK_SIZES.items()}
    return {name: size for name, size in sizes.items() if size}


def _partitions(device: Path) -> JsonObject:
    """Name and size of each partition, in the order of the disk."""
    folders = sorted(device.glob(f"{device.name}*/partition"), key=lambda file: read_number(file) or 0)
    partitions = [
        {"name": file.parent.name, "size_bytes": (read_number(file.parent / "size") or 0) * SECTOR_BYTES}
        for file in folders
    ]
    return {"partitions": partitions} if partitions else {}


def numa_node_of(device: Path, root: Path) -> JsonObject:
    """The NUMA node (`numa_node`) of a device of /sys, or of the nearest one that it hangs on.

    Empty where none states a node: of virtual devices, and on machines with one node, where it is -1.
    """
    sys = (root / "sys").resolve()
    path = device.resolve()
    for folder in (path, *path.parents) if path.is_relative_to(sys) else ():
        if folder == sys:
            break
        node = line(folder / "numa_node")
        if node is not None:
            return {"numa_node": int(node)} if node.isdecimal() else {}
    return {}


def mounts(root: Path) -> list[JsonObject]:
    """Each mounted file system that stores: source, type, options (proc(5), mountinfo); each source once, at
    its first mount.
    """
    by_mount: dict[str, JsonObject] = {}
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


def filesystems(root: Path) -> list[JsonObject]:
    """The same with size and free space, or `answers: false` where a file system does not say so in time.

    File systems that could not be asked, because too many others hang, have neither.
    """
    mounted = mounts(root)
    asked = {entry["mount"]: (lambda mount=entry["mount"]: _space(mount)) for entry in mounted}
    answers = ask(asked, _ANSWER_S)
    for entry in mounted:
        space = answers.values.get(entry["mount"])
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


def file_system(path: Path, mountinfo: str | None = None, block: Path = Path("/sys/block")) -> JsonObject:
    """File system of `path`: `type`, `device`, `mount`, `options`, `size_bytes`, `free_bytes`.

    Of a file system in a file, `image` is the same of that file, and `direct` whether the device goes
    past the page cache of the underlying device. Where files are nowhere but in memory, `memory` names
    what holds them there. `mountinfo` is the text of /proc/self/mountinfo (read when None); see
    proc_pid_mountinfo(5).
    """
    real = path.resolve()
    table = Path("/proc/self/mountinfo").read_text() if mountinfo is None else mountinfo
    best: JsonObject | None = None
    for row in table.splitlines():
        before, _, after = row.partition(" - ")
        before_fields, right = before.split(), after.split()
        if len(before_fields) < 6 or len(right) < 3:
            continue
        mount = Path(_plain(before_fields[4]))
        # The later of two mounts on one place is the one that is seen.
        if real.is_relative_to(mount) and (
            best is None or len(mount.parts) >= len(Path(best["mount"]).parts)
        ):
            best = {
                "type": right[0],
                "device": _plain(right[1]),
                "mount": str(mount),
                "options": ",".join(dict.fromkeys(f"{before_fields[5]},{right[2]}".split(","))),
            }
    facts: JsonObject = {"path": str(path), **(best or {})}
    image = _image(facts.get("device", ""), block)
    if image is not None:
        on = file_system(image[0].parent, table, block)
        facts["image"] = {**on, "path": str(image[0]), "direct": image[1]}
    memory = _memory(facts, table, block)
    if memory is not None:
        facts["memory"] = memory
    try:
        state = os.statvfs(real)
    except OSError:
        return facts
    return {
        **facts,
        "size_bytes": state.f_frsize * state.f_blocks,
        "free_bytes": state.f_frsize * state.f_bavail,
    }


def _memory(facts: JsonObject, mountinfo: str, block: Path) -> str | None:
    """Name of the holder of a file system's files in memory; None for a device, or if it cannot be seen."""
    if facts.get("type") in _OF_MEMORY:
        return str(facts["type"])
    if _MEMORY_DEVICE.fullmatch(facts.get("device", "")):
        return str(facts["device"])
    below = facts.get("image")
    if facts.get("type") == "overlay":
        # What is written to an overlay lies in its upper directory; that of a container is where the
        # container cannot see it.
        for option in facts["options"].split(","):
            name, _, upper = option.partition("=")
            if name == "upperdir" and Path(_plain(upper)).is_dir():
                below = file_system(Path(_plain(upper)), mountinfo, block)
    held: str | None = (below or {}).get("memory")
    return held


def _image(device: str, block: Path) -> tuple[Path, bool] | None:
    """The file behind a loop device, and whether it is used directly; None for any other device."""
    loop = block / Path(device).name / "loop"
    try:
        return Path((loop / "backing_file").read_text().rstrip("\n")), (
            loop / "dio"
        ).read_text().strip() == "1"
    except OSError:
        return None


def disk_of(path: Path, root: Path = Path("/")) -> str | None:
    """Name of the block device, no partition, with the file system of a path, as in /proc/diskstats; None of
    file systems without a device of their own (overlay, tmpfs, network) and of paths that cannot be read.
    """
    try:
        number = path.stat().st_dev
        device = (root / f"sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve(strict=True)
    except OSError:
        return None
    return device.parent.name if (device / "partition").exists() else device.name


def used_bytes(directory: Path) -> int:
    """Bytes the files below a directory take on their device; files that vanish meanwhile are left out."""
    total = 0
    for at, _, files in os.walk(directory):
        for name in files:
            try:
                total += os.lstat(os.path.join(at, name)).st_blocks * 512  # noqa: PTH118
            except OSError:
                continue
    return total
