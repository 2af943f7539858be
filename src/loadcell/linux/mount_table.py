"""Mounts of this process's namespace with type, source and options, from mountinfo (proc(5)) alone: no file
system is touched.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from loadcell.linux import procfs

#: File systems of other machines, or of a program on another one.
_REMOTE: Final = frozenset({
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "ceph", "lustre", "glusterfs", "9p", "virtiofs", "afs", "coda",
    "ncpfs", "orangefs", "pvfs2", "beegfs", "gpfs", "ocfs2", "gfs2", "vboxsf", "prl_fs", "fuse",
})  # fmt: skip
#: Programs of FUSE mounts whose data are on this machine.
_LOCAL_PROGRAMS: Final = frozenset({
    "portal", "gvfsd-fuse", "lxcfs", "snapfuse", "squashfuse", "squashfuse_ll", "fuse-overlayfs",
    "archivemount", "jetbrains-toolbox", "doc", "encfs", "gocryptfs", "cryfs", "securefs", "bindfs",
    "mergerfs", "mhddfs", "unionfs", "unionfs-fuse", "ntfs", "ntfs-3g", "exfat", "fuse-zip", "ratarmount",
})  # fmt: skip
#: Types whose sources begin with a server.
_WITH_SERVER: Final = frozenset({
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "ceph", "lustre", "glusterfs", "fuse.glusterfs", "fuse.sshfs",
})  # fmt: skip
_NO_DEVICE: Final = frozenset({
    "proc", "sysfs", "devtmpfs", "devpts", "tmpfs", "ramfs", "cgroup", "cgroup2", "pstore", "bpf",
    "securityfs", "debugfs", "tracefs", "configfs", "fusectl", "mqueue", "hugetlbfs", "autofs", "nsfs",
    "binfmt_misc", "rpc_pipefs", "efivarfs", "nfsd", "selinuxfs", "overlay",
})  # fmt: skip
_OCTAL: Final = re.compile(r"\\([0-7]{3})")
#: `server:/export`, also with an IPv6 address in brackets; `//server/share`.
_SERVER: Final = re.compile(r"(?:[^@/:]+@)?(\[[^\]]+\]|[^/:\[\]@]+):|//([^/]+)/")


#: Options of a file system that refuses writes: since Linux 6.14 ext4 has a flag for that after an error.
_REFUSING: Final = frozenset({"ro", "emergency_ro", "shutdown"})


@dataclass(frozen=True)
class Mount:
    """A mount. `device` is the number of its file system, `options` of the mount and the file system."""

    point: str
    type: str
    source: str
    device: str
    mount_options: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    @property
    def is_remote(self) -> bool:
        """True where another machine, or a program, answers."""
        kind, _, program = self.type.partition(".")
        return kind in _REMOTE and program not in _LOCAL_PROGRAMS

    @property
    def is_local_disk(self) -> bool:
        """True of a file system that stores on this machine; of a container it is the root."""
        if self.type == "overlay" and self.point == "/":
            return True
        return not self.is_remote and self.type not in _NO_DEVICE and not self.type.startswith("fuse.")

    @property
    def is_read_only(self) -> bool:
        """True where the file system, not only this mount of it, refuses writes."""
        return not _REFUSING.isdisjoint(self.options)

    @property
    def server(self) -> str:
        """Name or address of the server; empty of types without one, whose sources may look similar."""
        match = _SERVER.match(self.source) if self.type in _WITH_SERVER else None
        return (match[1] or match[2] or "").strip("[]") if match else ""

    def option(self, name: str) -> str:
        """Value of an option `name=value`; empty without it."""
        prefix = f"{name}="
        return next((item[len(prefix) :] for item in self.options if item.startswith(prefix)), "")


def read(root: Path = procfs.ROOT) -> list[Mount]:
    """The visible mounts: of several on one point the last. In the order in which they were mounted."""
    by_point: dict[str, Mount] = {}
    for row in rows(root / "proc/self/mountinfo"):
        before, _, after = row.partition(" - ")
        head, tail = before.split(" "), after.split(" ")
        if len(head) < 6 or len(tail) < 2:
            continue
        point = plain(head[4])
        options = tuple(tail[2].split(",")) if len(tail) > 2 else ()
        by_point.pop(point, None)
        by_point[point] = Mount(point, tail[0], plain(tail[1]), head[2], tuple(head[5].split(",")), options)
    return list(by_point.values())


def mount_of(path: str, mounts: list[Mount]) -> Mount | None:
    """The mount that an absolute path is on, by its text: links are not followed."""
    candidates = [
        mount
        for mount in mounts
        if mount.point == "/" or path == mount.point or path.startswith(f"{mount.point}/")
    ]
    return max(candidates, key=lambda mount: len(mount.point), default=None)


def hides_processes(root: Path = procfs.ROOT) -> bool:
    """True if /proc hides the processes of others (`hidepid`) from this user."""
    proc = mount_of("/proc", read(root))
    hiding = proc.option("hidepid") if proc is not None else ""
    return hiding not in ("", "0", "off") and os.getuid() != 0


def rows(path: Path) -> list[str]:
    """Rows of a table of mounts, whose fields have one space between them; other white space is of a path."""
    try:
        return os.fsdecode(path.read_bytes()).split("\n")
    except OSError:
        return []


def plain(text: str) -> str:
    r"""A path of a table of mounts, where blanks are written as `\040`."""
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), text)
