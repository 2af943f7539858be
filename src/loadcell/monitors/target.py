"""The target's processes, once a second, from /proc: CPU, memory, I/O, threads, context switches of each."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from loadcell.linux.host_counters import difference
from loadcell.linux.process_counters import (
    MOST_CHARACTERS,
    ProcessCounters,
    inherited_io,
    memory_bytes,
    read_processes,
    used_ticks,
)
from loadcell.linux.procfs import ProcessStat, read_small
from loadcell.model.message import MessageCode
from loadcell.model.panels import SampleTable
from loadcell.model.trial_record import MonitorRecord
from loadcell.monitors import target_memory_nodes, target_threads
from loadcell.monitors.base import Monitor, MonitorContext, Row
from loadcell.plan.parts import Options

TARGET_HIDDEN = MessageCode("target-monitor.hidden")

#: Maximum number of rows per process: with a hundred of them some 30 MB, however long the load lasts.
_MOST_SAMPLES = 1_800
#: A sample that takes more CPU time is taken less often: samples then use this share of a core.
_CHEAP_S, COST_SHARE = 0.004, 0.003


def process_runs(pid: int) -> bool:
    """True if there is such a process, visible in /proc or not."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True


class TargetOptions(Options):
    """The target monitor has nothing to set."""


class Target(Monitor[TargetOptions]):
    """A row for each process of the target's trees, and one (`pid` 0, `name` total) for all of them."""

    name = "target"
    summary = "the target's processes and busiest threads: CPU, memory, I/O, context switches"
    Options = TargetOptions
    table = SampleTable(
        "processes",
        (
            "pid", "name", "role", "cpu_user_percent", "cpu_system_percent", "cpu_percent", "rss_bytes",
            "threads", "read_bytes_per_s", "write_bytes_per_s", "voluntary_switches_per_s",
            "involuntary_switches_per_s",
            "major_faults_per_s", "processes", "memory_bytes",
        ), text=frozenset({"name", "role"}),
    )  # fmt: skip
    tables = MappingProxyType(
        {
            target_threads.THREADS: target_threads.TABLE,
            target_memory_nodes.MEMORY_NODES: target_memory_nodes.TABLE,
        }
    )

    def __init__(
        self,
        options: TargetOptions,
        context: MonitorContext,
        *,
        root: Path = Path("/"),
        cpu_s: Callable[[], float] = time.thread_time,
        runs: Callable[[int], bool] = process_runs,
    ) -> None:
        super().__init__(options, context)
        self._runs = runs
        self._hidden = False
        self._cpu_s = cpu_s
        self._cost_s = 0.0
        self._elapsed_s = 0.0
        self._root = root
        self._before: dict[tuple[int, int], ProcessCounters] | None = None
        self._roles: dict[tuple[int, int], str] = {}
        self._tick_hz = os.sysconf("SC_CLK_TCK")
        self._page_bytes = os.sysconf("SC_PAGE_SIZE")
        self._every = max(1, math.ceil(context.length_s / _MOST_SAMPLES))
        self._samples = 0
        self._threads = target_threads.BusiestThreads(
            root, context.length_s, process_kind=context.process_kind
        )
        self._memory_nodes = target_memory_nodes.MemoryNodes(root, context.length_s)

    def sample(self, elapsed_s: float) -> list[Row]:
        """Rows of every process that is there now; none at the first call.

        Of a long load, often the total only. Rows of expensive samples cover several seconds.
        """
        self._elapsed_s += elapsed_s
        if self._cost_s > _CHEAP_S and self._elapsed_s < self._cost_s / COST_SHARE:
            return []
        began_s, elapsed_s, self._elapsed_s = self._cpu_s(), self._elapsed_s, 0.0
        rows = self._rows(elapsed_s)
        self._cost_s = self._cpu_s() - began_s
        # rare and expensive: no reason to sample the processes less often
        self._memory_nodes.take(self._before or {}, elapsed_s)
        return rows

    def _rows(self, elapsed_s: float) -> list[Row]:
        """Rows of the time since the last reading."""
        roots = self.context.roots()
        now = read_processes(self._root, roots)
        self._hidden = self._hidden or (not now and any(map(self._runs, roots)))
        self._threads.take(now, elapsed_s)
        before, self._before = self._before, now
        if before is None or elapsed_s <= 0:
            return []
        gone = inherited_io(before, now)
        rows = [
            self._row(before.get(key), totals, elapsed_s, gone.get(key[0], (0, 0)))
            for key, totals in now.items()
        ]
        roles = {key: role for key, role in self._roles.items() if key in now}
        self._roles = roles
        if not rows:
            return []
        total = self._total(rows, before, now, elapsed_s)
        self._samples += 1
        return [*rows, total] if self._samples % self._every == 0 else [total]

    def account(self) -> MonitorRecord:
        """A note where /proc hides processes that run."""
        return MonitorRecord(notes=(TARGET_HIDDEN().document(),) if self._hidden else None)

    def further_rows(self) -> Mapping[str, list[Row]]:
        return {
            target_threads.THREADS: self._threads.rows(),
            target_memory_nodes.MEMORY_NODES: self._memory_nodes.rows(),
        }

    def _row(
        self,
        before: ProcessCounters | None,
        now: ProcessCounters,
        elapsed_s: float,
        gone: tuple[int, int] = (0, 0),
    ) -> Row:
        """One process. One that was not there before started since: all it used, it used now.

        `gone` are bytes read and written that it has not moved itself, but got from children that have ended.
        """
        old, new = (before.stat if before else None), now.stat
        percent = 100 / (self._tick_hz * elapsed_s)
        user = difference(old.user if old else 0, new.user) * percent
        system = difference(old.system if old else 0, new.system) * percent
        return {
            "pid": new.pid,
            "name": new.name,
            "role": self._role(new),
            "cpu_user_percent": user,
            "cpu_system_percent": system,
            "cpu_percent": user + system,
            "rss_bytes": new.rss_pages * self._page_bytes,
            "threads": new.threads,
            "read_bytes_per_s": _moved(
                before.read_bytes if before else 0, now.read_bytes, gone[0], elapsed_s
            ),
            "write_bytes_per_s": _moved(
                before.write_bytes if before else 0, now.write_bytes, gone[1], elapsed_s
            ),
            "voluntary_switches_per_s": _rate(before.voluntary if before else 0, now.voluntary, elapsed_s),
            "involuntary_switches_per_s": _rate(
                before.involuntary if before else 0, now.involuntary, elapsed_s
            ),
            "major_faults_per_s": _rate(old.major_faults if old else 0, new.major_faults, elapsed_s),
        }

    def _total(
        self,
        rows: list[Row],
        before: dict[tuple[int, int], ProcessCounters],
        now: dict[tuple[int, int], ProcessCounters],
        elapsed_s: float,
    ) -> Row:
        """The sum, with the CPU time of processes that came and went between two samples.

        A parent inherits the CPU time of the children it waited for, so the tree's `own + children` total
        continues over a child's death; the sum over those alive is a lower bound where a parent does not
        wait.
        """

        total: Row = {"pid": 0, "name": "total", "role": "", "processes": len(rows)}
        total["memory_bytes"] = memory_bytes(now)
        for column in self.table.columns[3:-2]:
            values = [row[column] for row in rows]
            total[column] = None if None in values else sum(values)
        inherited = (used_ticks(now) - used_ticks(before)) * 100 / (self._tick_hz * elapsed_s)
        if before and inherited > total["cpu_percent"]:
            total["cpu_percent"] = inherited
        return total

    def _role(self, stat: ProcessStat) -> str:
        """Title of the process, or its command line."""
        key = (stat.pid, stat.start)
        if key in self._roles:
            return self._roles[key]
        text = read_small(self._root / "proc" / str(stat.pid) / "cmdline").replace("\0", " ").strip()
        if (kind := self.context.process_kind(text)) != text:
            text = self._roles[key] = kind
        return text[:MOST_CHARACTERS] or f"[{stat.name}]"


def _moved(before: int | None, now: int | None, gone: int, elapsed_s: float) -> float | None:
    """Bytes a second. A parent that did not wait for its child was left nothing: no less than 0."""
    if before is None or now is None:
        return None
    return max(0, difference(before, now) - gone) / elapsed_s


def _rate(before: int | None, now: int | None, elapsed_s: float) -> float | None:
    return None if before is None or now is None else difference(before, now) / elapsed_s


PART = Target
