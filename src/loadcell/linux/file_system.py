"""The file system under a directory, from the kernel's own table of mounts."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

#: File systems whose files are nowhere but in memory, and devices of memory.
_OF_MEMORY = ("tmpfs", "ramfs", "devtmpfs")
_MEMORY_DEVICE = re.compile(r"/dev/z?ram\d+")


def file_system(path: Path, mountinfo: str | None = None, block: Path = Path("/sys/block")) -> dict[str, Any]:
    """File system of `path`: `type`, `device`, `mount`, `options`, `size_bytes`, `free_bytes`.

    Of a file system in a file, `image` is the same of that file, and `direct` whether the device goes past
    the page cache of what it lies on. Where files are nowhere but in memory, `memory` names what holds them
    there. `mountinfo` is the text of /proc/self/mountinfo (read when None); see proc_pid_mountinfo(5).
    """
    real = path.resolve()
    text = Path("/proc/self/mountinfo").read_text() if mountinfo is None else mountinfo
    best: dict[str, Any] | None = None
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
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
    facts: dict[str, Any] = {"path": str(path), **(best or {})}
    image = _image(facts.get("device", ""), block)
    if image is not None:
        on = file_system(image[0].parent, text, block)
        facts["image"] = {**on, "path": str(image[0]), "direct": image[1]}
    memory = _memory(facts, text, block)
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


def _memory(facts: dict[str, Any], mountinfo: str, block: Path) -> str | None:
    """What holds a file system's files in memory, itself or below; None for a device, or if it cannot be
    seen.
    """
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


def _plain(word: str) -> str:
    """Without the octal escapes the kernel writes for blanks."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), word)


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
