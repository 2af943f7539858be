"""The JVMs that a watched condition concerns: those of the process tree, until each ends."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from loadcell.incidents.live import named_process
from loadcell.linux import procfs
from loadcell.linux.java_traces import JavaTraces, traces_of


class WatchedJvms:
    """JVMs of the tree of a process; without one none."""

    def __init__(self, pid: int | None, root: Path = procfs.ROOT) -> None:
        stat = None if pid is None else procfs.process_stat(root, pid)
        #: a process that has the id later is another one
        self._process = None if stat is None else (stat.pid, stat.start)
        self._root = root
        self._jvms: dict[int, JavaTraces] = {}
        #: processes that are no JVM, by id, start and program
        self._others: set[tuple[int, int, Path | None]] = set()

    def __enter__(self) -> Self:
        self.ended()
        return self

    def __exit__(self, *_: object) -> None:
        for jvm in self._jvms.values():
            jvm.close()

    @property
    def is_running(self) -> bool:
        """True while the process of the tree runs."""
        if self._process is None:
            return False
        stat = procfs.process_stat(self._root, self._process[0])
        return stat is not None and not stat.has_ended and stat.start == self._process[1]

    @property
    def pids(self) -> list[int]:
        """The JVMs that ran at the last look."""
        return sorted(self._jvms)

    def ended(self) -> list[JavaTraces]:
        """JVMs that have ended since the last call; the caller closes them. New ones are noted."""
        ended = [jvm for jvm in self._jvms.values() if jvm.has_ended(self._root)]
        for jvm in ended:
            del self._jvms[jvm.pid]
        for jvm in self._jvms.values():
            jvm.locate_log(self._root)
        others = set()
        roots = [self._process[0]] if self._process is not None and self.is_running else []
        for pid in procfs.tree(self._root, roots):
            stat = procfs.process_stat(self._root, pid)
            # reading the mappings of a process that hangs on a dead mount would hang, too
            if pid in self._jvms or stat is None or stat.has_ended or stat.state == "D":
                continue
            key = pid, stat.start, procfs.link(pid, "exe", self._root)
            if key in self._others or not named_process.is_jvm(pid, self._root):
                others.add(key)
            elif (traces := traces_of(pid, self._root)) is not None:
                self._jvms[pid] = traces
        self._others = others
        return ended
