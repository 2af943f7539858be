"""JVMs among the processes of a target, as far as a profiler can attach to them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from loadcell.linux import java_processes, procfs
from loadcell.linux.java_processes import Lack
from loadcell.model.message import MessageCode
from loadcell.profilers.perf import ProfilerError

JVM_PROFILE_NO_JVM = MessageCode("jvm-profile.no-jvm")
JVM_PROFILE_FOREIGN = MessageCode("jvm-profile.foreign", pid=str)


def jvms_of(roots: Sequence[int], root: Path = procfs.ROOT) -> list[int]:
    """Ids of the JVMs among these processes and their descendants, at least one. Raises ProfilerError."""
    processes = java_processes.find(procfs.tree(root, list(roots)), root)
    if not processes:
        raise ProfilerError(JVM_PROFILE_NO_JVM())
    for process in processes:
        if process.lack is Lack.FOREIGN:
            raise ProfilerError(JVM_PROFILE_FOREIGN(pid=process.pid))
    return [process.pid for process in processes]


def sees(pid: int, path: Path) -> bool:
    """True if a process has this file at the same path: no container or private directory hides it."""
    try:
        path = path.resolve(strict=True)
        theirs, ours = Path(f"/proc/{pid}/root{path}").stat(), path.stat()
        return (theirs.st_dev, theirs.st_ino) == (ours.st_dev, ours.st_ino)
    except OSError:
        return False
