"""The JVMs that a watched condition concerns: those of the process tree, until each ends.

Their files may lie on a mount that does not answer: other processes look for them, so that a watch never
hangs with it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

from loadcell.incidents.live import named_process
from loadcell.linux import procfs
from loadcell.linux.disposable_calls import DisposableCalls
from loadcell.linux.java_traces import JavaTraces, traces_of

#: Time between two looks at the names of logs, which a rotation changes.
_LOOK_S: Final = 5.0


class WatchedJvms:
    """JVMs of the tree of a process; without one none."""

    def __init__(self, pid: int | None, root: Path = procfs.ROOT) -> None:
        stat = None if pid is None else procfs.process_stat(root, pid)
        #: a process that has the id later is another one
        self._process = None if stat is None else (stat.pid, stat.start)
        self._root = root
        self._jvms: dict[int, JavaTraces] = {}
        #: JVMs whose files are not known
        self._hidden: dict[int, int] = {}
        #: processes that are no JVM, by id, start and program
        self._others: set[tuple[int, int, Path | None]] = set()
        self._calls = DisposableCalls()
        self._next_look = 0.0

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
        return sorted({*self._jvms, *self._hidden})

    @property
    def hidden(self) -> list[int]:
        """JVMs whose files are not known, as a mount does not answer."""
        return sorted(self._hidden)

    def ended(self) -> list[JavaTraces]:
        """JVMs that have ended since the last call; the caller closes them. New ones are noted."""
        ended = [jvm for jvm in self._jvms.values() if jvm.has_ended(self._root)]
        for jvm in ended:
            del self._jvms[jvm.pid]
        others = set()
        new: dict[int, int] = {}
        roots = [self._process[0]] if self._process is not None and self.is_running else []
        for pid in procfs.tree(self._root, roots):
            stat = procfs.process_stat(self._root, pid)
            # reading the mappings of a process that hangs on a dead mount would hang, too
            if pid in self._jvms or stat is None or stat.has_ended or stat.state == "D":
                continue
            key = pid, stat.start, procfs.link(pid, "exe", self._root)
            if key in self._others or not named_process.is_jvm(pid, self._root):
                others.add(key)
            else:
                new[pid] = stat.start
        self._others = others
        self._look(list(self._jvms.values()), new)
        return ended

    def _look(self, jvms: Sequence[JavaTraces], new: dict[int, int]) -> None:
        """Find the present log of each JVM, and the files of new ones, by another process."""
        if not jvms and not new:
            self._hidden = {}
            return
        now = time.monotonic()
        if not new and now < self._next_look:
            return
        self._next_look = now + _LOOK_S
        answer = self._calls.call(lambda: _located(jvms, list(new), self._root))
        if answer is None:
            self._hidden = new
            return
        numbers = iter(answer.descriptors)
        for traces in answer.value:
            here = traces.with_descriptors([next(numbers) for _ in traces.descriptors])
            earlier = self._jvms.get(traces.pid)
            if earlier is not None:
                earlier.close()
            self._jvms[traces.pid] = here
        self._hidden = {}


def _located(
    jvms: Sequence[JavaTraces], new: Sequence[int], root: Path
) -> tuple[list[JavaTraces], list[int]]:
    """The JVMs whose log has changed, and new ones, with their descriptors."""
    changed: list[JavaTraces] = []
    for jvm in jvms:
        name = jvm.log_name
        jvm.locate_log(root)
        if jvm.log_name != name:
            changed.append(jvm)
    changed += [traces for pid in new if (traces := traces_of(pid, root)) is not None]
    return changed, [descriptor for jvm in changed for descriptor in jvm.descriptors]
