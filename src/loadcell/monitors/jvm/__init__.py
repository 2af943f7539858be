"""A JVM of the target, once a second: heap, collections, safepoints, threads, classes, native memory.

They are read from the file that the JVM maps. It costs the JVM nothing, and needs neither jstat nor a JDK.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from pydantic import Field

from loadcell.linux import procfs
from loadcell.linux.hsperfdata import PerfDataFile, UnknownFormatError
from loadcell.linux.java_processes import JavaProcess, Lack, find
from loadcell.model.extensions import JVM as JVM_TARGETS
from loadcell.model.jvm_samples import METRICS, TABLE
from loadcell.model.message import Count, Message, MessageCode
from loadcell.monitors.base import Monitor, MonitorContext, Row
from loadcell.monitors.jvm import diagnostics
from loadcell.monitors.jvm.counters import JVM, Rows, are_complete, open_counters
from loadcell.plan.parts import Options

NO_JVM = MessageCode("jvm-monitor.no-jvm")
LACKS = {
    Lack.OFF: MessageCode("jvm-monitor.off", pid=int),
    Lack.FOREIGN: MessageCode("jvm-monitor.foreign", pid=int),
    Lack.STALE: MessageCode("jvm-monitor.stale", pid=int),
    Lack.REMOVED: MessageCode("jvm-monitor.removed", pid=int),
}
UNKNOWN_VERSION = MessageCode("jvm-monitor.version", path=str, version=str)
UNKNOWN_FILE = MessageCode("jvm-monitor.file", path=str)
OTHERS = MessageCode("jvm-monitor.others", pid=int, count=Count)
NO_ANSWER = MessageCode("jvm-monitor.no-answer", pid=int, why=Message)

#: A target without a JVM is searched again after this time: it reads a file of each of its processes.
_SEARCH_S: Final = 5.0
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_STATM_BYTES: Final = 256


class JvmOptions(Options, use_attribute_docstrings=True):
    """Options of the monitor."""

    gc_log: str | None = Field(default=None, pattern="^/")
    """Path of the GC log, where the target does not provide it; its rotated files are read, too."""
    commands: bool = True
    """Ask the JVM once after the load for the names of its threads and its native memory, as `jcmd` does."""


class _Attached:
    """Open files of one JVM. Those of /proc belong to the process: after its end, whoever gets its id, they
    read as empty.
    """

    def __init__(self, process: JavaProcess, root: Path) -> None:
        self.pid = process.pid
        self._statm = os.open(root / f"proc/{process.pid}/statm", os.O_RDONLY | os.O_CLOEXEC)
        try:
            self.file: PerfDataFile = open_counters(process.path, process.owners)
        except OSError:
            os.close(self._statm)
            raise
        self.rows = Rows(self.file, process.pid)
        self.before: tuple[Any, ...] | None = None

    @property
    def rss_bytes(self) -> int:
        """Resident memory; 0 if the process has ended."""
        try:
            fields = os.pread(self._statm, _STATM_BYTES, 0).split(maxsplit=2)
        except OSError:
            return 0
        return int(fields[1]) * _PAGE_BYTES if len(fields) > 1 else 0

    def close(self) -> None:
        os.close(self._statm)
        self.file.close()


class JvmMonitor(Monitor[JvmOptions]):
    """A row a second of the largest JVM among the processes of the target; of one that replaced it, too."""

    name = TABLE
    summary = "a JVM of the target: heap, collections, safepoints, threads, classes, native memory"
    Options = JvmOptions
    table = JVM
    tables = MappingProxyType(
        {
            diagnostics.THREADS: diagnostics.THREADS_TABLE,
            diagnostics.NATIVE_MEMORY: diagnostics.NATIVE_MEMORY_TABLE,
        }
    )
    by_default = False
    default_for = frozenset({JVM_TARGETS})

    def __init__(self, options: JvmOptions, context: MonitorContext, *, root: Path = procfs.ROOT) -> None:
        super().__init__(options, context)
        self._root = root
        self._jvm: _Attached | None = None
        self._since_search_s = float("inf")
        self._rows = 0
        self._sums: dict[str, float] = {}
        self._lack: Message = NO_JVM()
        self._remarks: dict[str, tuple[Message, int]] = {}
        self._further: dict[str, list[Row]] = {}

    def sample(self, elapsed_s: float) -> list[Row]:
        if self._jvm is None:
            self._since_search_s += elapsed_s
            if self._since_search_s >= _SEARCH_S:
                self._search()
            return []
        rss_bytes = self._jvm.rss_bytes
        now = self._read(self._jvm) if rss_bytes else None
        if now is None:
            self._detach()
            return []
        before, self._jvm.before = self._jvm.before, now
        if before is None or elapsed_s <= 0:
            return []
        self._rows += 1
        values = self._jvm.rows.row(before, now, rss_bytes, elapsed_s)
        if self._is_measured(elapsed_s):
            for key, column in METRICS.items():
                if (value := values[column]) is not None:
                    self._sums[key] = self._sums.get(key, 0.0) + value
        return [values]

    def finish(self, elapsed_s: float) -> list[Row]:
        rows = self.sample(elapsed_s) if self._jvm is not None else []
        if self._jvm is not None and self.options.commands:
            asked = diagnostics.Diagnostics(self._jvm.pid, self.context.redact, self._root)
            self._further = {
                diagnostics.THREADS: asked.threads(),
                diagnostics.NATIVE_MEMORY: asked.native_memory(),
            }
            if asked.trouble:
                self._remark(NO_ANSWER(pid=self._jvm.pid, why=asked.trouble))
        return rows

    def further_rows(self) -> Mapping[str, list[Row]]:
        further, self._further = self._further, {}
        return further

    def metrics(self) -> Mapping[str, float]:
        """Sums over the measurement; of counters that the collector has."""
        return self._sums

    def remarks(self) -> list[tuple[Message, int]]:
        return [*self._remarks.values(), *([] if self._rows else [(self._lack, 1)])]

    def close(self) -> None:
        if self._jvm is not None:
            self._jvm.close()
            self._jvm = None

    def _is_measured(self, elapsed_s: float) -> bool:
        """True for a sample most of whose time is in the measurement."""
        since_ns = self.context.measuring_since_ns()
        if since_ns is None:
            return self.context.measuring()
        now_ns = time.monotonic_ns()
        end_ns = self.context.measured_until_ns() or now_ns
        return min(now_ns, end_ns) - max(now_ns - elapsed_s * 1e9, since_ns) > 5e8 * elapsed_s

    def _remark(self, message: Message) -> None:
        first, count = self._remarks.get(message.code, (message, 0))
        self._remarks[message.code] = (first, count + 1)

    def _read(self, jvm: _Attached) -> tuple[Any, ...] | None:
        """Counters; None where the JVM has none now."""
        try:
            return jvm.file.read()
        except (OSError, UnknownFormatError):
            return None

    def _detach(self) -> None:
        """Search for the JVM that replaces one which has ended."""
        self.close()
        self._since_search_s = _SEARCH_S

    def _search(self) -> None:
        """Open the largest JVM, and take the base of its counters; else note why there is none."""
        self._since_search_s = 0.0
        processes = find(procfs.tree(self._root, self.context.roots()), self._root)
        attached = [jvm for jvm in (self._attach(process) for process in processes) if jvm is not None]
        attached.sort(key=lambda jvm: jvm.rss_bytes, reverse=True)
        for jvm in attached[1:]:
            jvm.close()
        if attached:
            self._jvm = attached[0]
        if len(attached) > 1:
            self._remark(OTHERS(pid=self._jvm.pid if self._jvm else 0, count=len(attached) - 1))
        if not processes:
            self._lack = NO_JVM()

    def _attach(self, process: JavaProcess) -> _Attached | None:
        """The JVM with its base; None if it has no counters (yet)."""
        if process.lack is not None:
            self._lack = LACKS[process.lack](pid=process.pid)
            return None
        try:
            jvm = _Attached(process, self._root)
        except OSError:
            return None
        try:
            jvm.before = jvm.file.read()
            if jvm.before is not None and not are_complete(jvm.before):
                raise UnknownFormatError
        except UnknownFormatError as error:
            jvm.before = None
            file = {"path": process.path}
            self._lack = (
                UNKNOWN_VERSION(**file, version=error.version) if error.version else UNKNOWN_FILE(**file)
            )
        except OSError:
            pass
        if jvm.before is None:
            with contextlib.suppress(OSError):
                jvm.close()
            return None
        return jvm


PART = JvmMonitor
