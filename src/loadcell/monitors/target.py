"""The target's processes, once a second, from /proc: CPU, memory, I/O, threads, context switches of each."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

from loadcell.linux.procfs import ProcessStat, process_stat, read_small, tree
from loadcell.model.message import MessageCode
from loadcell.model.metrics import declare
from loadcell.model.panels import SampleTable
from loadcell.monitors.base import Monitor, MonitorContext, Row, difference
from loadcell.plan.parts import Options

TARGET_CPU = MessageCode("metric-meaning.target-cpu", "info")

declare("target.cpu", "share", TARGET_CPU(), "lower", per_group=False)

_ROLE_LENGTH = 80
#: Maximum number of rows per process: with a hundred of them some 30 MB, however long the load lasts.
_MOST_SAMPLES = 1_800


class TargetOptions(Options):
    """The target monitor has nothing to set."""


@dataclass(frozen=True)
class _Totals:
    """Resources that one process has used since its start; None where the kernel denies access."""

    stat: ProcessStat
    read_bytes: int | None
    write_bytes: int | None
    voluntary: int
    involuntary: int


class Target(Monitor[TargetOptions]):
    """A row for each process of the target's trees, and one (`pid` 0, `name` total) for all of them."""

    name = "target"
    summary = "the target's processes: CPU, memory, I/O, threads, context switches"
    Options = TargetOptions
    table = SampleTable(
        "processes",
        (
            "pid", "name", "role", "cpu_user_percent", "cpu_system_percent", "cpu_percent", "rss_bytes",
            "threads", "read_bytes_per_s", "write_bytes_per_s", "voluntary_switches_per_s",
            "involuntary_switches_per_s",
            "major_faults_per_s", "processes",
        ), text=frozenset({"name", "role"}),
    )  # fmt: skip

    def __init__(self, options: TargetOptions, context: MonitorContext, *, root: Path = Path("/")) -> None:
        super().__init__(options, context)
        self._root = root
        self._before: dict[tuple[int, int], _Totals] | None = None
        self._roles: dict[tuple[int, int], str] = {}
        self._tick_hz = os.sysconf("SC_CLK_TCK")
        self._page_bytes = os.sysconf("SC_PAGE_SIZE")
        self._every = max(1, math.ceil(context.length_s / _MOST_SAMPLES))
        self._samples = 0

    def sample(self, elapsed_s: float) -> list[Row]:
        """Rows of every process that is there now; none at the first call.

        Of a long load, often the total only.
        """
        now = self._read()
        before, self._before = self._before, now
        if before is None or elapsed_s <= 0:
            return []
        gone = _left_behind(before, now)
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

    def _read(self) -> dict[tuple[int, int], _Totals]:
        """By process id and start time, so that an id used again is another process."""
        totals = {}
        for pid in tree(self._root, self.context.roots()):
            stat = process_stat(self._root, pid)
            if stat is None or stat.state in "ZX":
                continue
            io = _pairs(read_small(self._root / "proc" / str(pid) / "io"))
            voluntary, involuntary = self._switches(stat)
            totals[pid, stat.start] = _Totals(
                stat, io.get("read_bytes"), io.get("write_bytes"), voluntary, involuntary
            )
        return totals

    def _switches(self, stat: ProcessStat) -> tuple[int, int]:
        """Voluntary and involuntary context switches of all threads."""
        home = self._root / "proc" / str(stat.pid)
        statuses = [home / "status"]
        if stat.threads > 1:
            statuses = [task / "status" for task in (home / "task").glob("*")]
        sums = [0, 0]
        for status in statuses:
            pairs = _pairs(read_small(status))
            sums[0] += pairs.get("voluntary_ctxt_switches", 0)
            sums[1] += pairs.get("nonvoluntary_ctxt_switches", 0)
        return sums[0], sums[1]

    def _row(
        self, before: _Totals | None, now: _Totals, elapsed_s: float, gone: tuple[int, int] = (0, 0)
    ) -> Row:
        """One process. One that was not there before started since: all it used, it used now.

        `left` are bytes read and written that it has not moved itself, but got from children that have ended.
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
        before: dict[tuple[int, int], _Totals],
        now: dict[tuple[int, int], _Totals],
        elapsed_s: float,
    ) -> Row:
        """The sum, with the CPU time of processes that came and went between two samples.

        A parent inherits the CPU time of the children it waited for, so the tree's `own + children` total
        continues over a child's death; the sum over those alive is a lower bound where a parent does not
        wait.
        """

        def used(totals: dict[tuple[int, int], _Totals]) -> int:
            return sum(total.stat.user + total.stat.system + total.stat.children for total in totals.values())

        total: Row = {"pid": 0, "name": "total", "role": "", "processes": len(rows)}
        for column in self.table.columns[3:-1]:
            values = [row[column] for row in rows if row[column] is not None]
            total[column] = sum(values) if values else None
        inherited = (used(now) - used(before)) * 100 / (self._tick_hz * elapsed_s)
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
        return text[:_ROLE_LENGTH] or f"[{stat.name}]"


def _pairs(text: str) -> dict[str, int]:
    """`key: number` lines."""
    pairs = {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        value = value.strip()
        if value.isdecimal():
            pairs[key] = int(value)
    return pairs


def _left_behind(
    before: dict[tuple[int, int], _Totals], now: dict[tuple[int, int], _Totals]
) -> dict[int, tuple[int, int]]:
    """By process id of the parent: the bytes read and written by those of its children that have ended, up to
    the last look.

    Linux adds the I/O of a child that was waited for to its parent's own. Those bytes have been in earlier
    samples, as the child's.
    """
    left_behind: dict[int, tuple[int, int]] = {}
    for key, totals in before.items():
        if key not in now:
            read, written = left_behind.get(totals.stat.parent, (0, 0))
            left_behind[totals.stat.parent] = (
                read + (totals.read_bytes or 0),
                written + (totals.write_bytes or 0),
            )
    return left_behind


def _moved(before: int | None, now: int | None, gone: int, elapsed_s: float) -> float | None:
    """Bytes a second. A parent that did not wait for its child was left nothing: no less than 0."""
    return None if now is None else max(0, difference(before or 0, now) - gone) / elapsed_s


def _rate(before: int | None, now: int | None, elapsed_s: float) -> float | None:
    return None if now is None else difference(before or 0, now) / elapsed_s


PART = Target
