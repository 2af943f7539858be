"""Names of threads and native memory of a JVM, which it gives by commands only: once after the load."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from loadcell.linux import procfs
from loadcell.linux.java_attach import AttachError, run
from loadcell.linux.java_processes import namespace_pid
from loadcell.linux.process_counters import thread_ids
from loadcell.model.message import Message
from loadcell.model.panels import SampleTable
from loadcell.monitors.base import Row

#: Both further tables of the monitor.
THREADS: Final = "threads"
NATIVE_MEMORY: Final = "native-memory"
THREADS_TABLE: Final = SampleTable(
    "jvm-threads", ("pid", "tid", "name", "java_name"), frozenset({"name", "java_name"})
)
NATIVE_MEMORY_TABLE: Final = SampleTable(
    "jvm-native-memory", ("pid", "area", "reserved_bytes", "committed_bytes"), frozenset({"area"})
)
#: Threads with a row, and characters of a name.
_MOST_THREADS, _MOST_CHARACTERS = 2_000, 120
#: The monitors of a trial have 4 s to end.
_LIMIT_S: Final = 1.5
_THREAD: Final = re.compile(r'^"(.*)" .*?\bnid=(0x[0-9a-f]+|\d+)', re.MULTILINE)
_AREA: Final = re.compile(
    r"^(?:Total|- +([A-Z][\w ]*?))[: ]+\(?reserved=(\d+)KB, committed=(\d+)KB", re.MULTILINE
)
_KIB: Final = 1024


class Diagnostics:
    """Rows of both tables. `trouble` is the reason why the JVM did not answer."""

    def __init__(self, pid: int, redact: Callable[[str], str] = str, root: Path = procfs.ROOT) -> None:
        self._pid, self._redact, self._root = pid, redact, root
        self.trouble: Message | None = None

    def threads(self) -> list[Row]:
        """Threads by id: their name in the kernel, which has at most 15 characters, and in the JVM."""
        names = {
            int(number, 0): name
            for name, number in _THREAD.findall(self._ask("Thread.print"))[:_MOST_THREADS]
        }
        return [
            {
                "pid": self._pid,
                "tid": tid,
                "name": procfs.read_small(f"{self._root}/proc/{self._pid}/task/{tid}/comm").rstrip("\n"),
                "java_name": self._redact(names[number])[:_MOST_CHARACTERS],
            }
            for tid, number in self._threads()
            if number in names
        ]

    def native_memory(self) -> list[Row]:
        """Areas, the total first; none if the JVM does not track them (-XX:NativeMemoryTracking)."""
        return [
            {
                "pid": self._pid,
                "area": area or "Total",
                "reserved_bytes": int(reserved) * _KIB,
                "committed_bytes": int(committed) * _KIB,
            }
            for area, reserved, committed in _AREA.findall(self._ask("VM.native_memory"))
        ]

    def _threads(self) -> Iterator[tuple[int, int]]:
        """Ids of the threads, and those in the JVM's own pid namespace."""
        is_inside = namespace_pid(self._pid, self._root) != self._pid
        for tid in thread_ids(self._root, self._pid):
            yield tid, namespace_pid(tid, self._root) if is_inside else tid

    def _ask(self, command: str) -> str:
        if self.trouble:
            return ""
        try:
            return run(self._pid, command, _LIMIT_S, self._root)
        except AttachError as error:
            self.trouble = error.message
            return ""
