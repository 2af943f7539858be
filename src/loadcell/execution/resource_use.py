"""Resources that the machine, the target and the client use in the window of a trial: differences of running
counters between its first instant and its last, so that trials under a second have them, without monitors.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from loadcell.execution.host_use import disk_use, host_use, link_use
from loadcell.linux.host_counters import HostCounters, difference, read_host
from loadcell.linux.process_counters import (
    TICK_HZ,
    Key,
    ProcessCounters,
    ThreadCounters,
    inherited_io,
    memory_bytes,
    read_processes,
    read_threads,
    used_ticks,
)
from loadcell.linux.procfs import ProcFiles
from loadcell.model.resources import ProcessUse, Resources, ThreadUse

#: Threads that a record names.
MOST_THREADS = 5
#: Processes of which threads are read one by one: each costs some 10 microseconds.
_MOST_PROCESSES = 500
#: Time between looks in ns, and in multiples of the duration of a look: they use at most 0.2% of a core.
_LOOK_EVERY_NS, _LOOK_COST = 250_000_000, 500


@dataclass(frozen=True)
class _Tree:
    """Counters of one side at one instant."""

    at_ns: int
    processes: Mapping[Key, ProcessCounters]
    threads: Mapping[int, ThreadCounters]


@dataclass(frozen=True)
class _Instant:
    at_ns: int
    host: HostCounters
    target: _Tree
    client: _Tree


@dataclass
class Peaks:
    """Largest samples of monitors within the window; None without samples."""

    host_cpu: float | None = None
    target_cores: float | None = None
    target_memory_bytes: int | None = None

    def host(self, busy_percent: float | None) -> None:
        """Take a sample of the CPU use of the machine, 0 to 100."""
        if busy_percent is not None:
            self.host_cpu = max(self.host_cpu or 0.0, busy_percent / 100)

    def target(self, cpu_percent: float | None, size: int | None) -> None:
        """Take a sample of all processes of the target: 100 is one core; `size` is memory in bytes."""
        if cpu_percent is not None:
            self.target_cores = max(self.target_cores or 0.0, cpu_percent / 100)
        if size is not None:
            self.target_memory_bytes = max(self.target_memory_bytes or 0, size)


@dataclass
class ResourceWatch:
    """Counts from `begin` to `end`; `root` is `/`, or a recorded tree in tests.

    `target` and `client` give the ids of the root processes; `target` is None on another machine.
    """

    root: Path
    client: Callable[[], list[int]]
    target: Callable[[], list[int]] | None = None
    now_ns: Callable[[], int] = time.monotonic_ns
    peaks: Peaks = field(default_factory=Peaks)
    _begun: _Instant | None = None
    _ended: _Instant | None = None
    #: The last look at target and client within the window, and when the next one is due
    _looked: tuple[_Tree, _Tree] | None = None
    _due_ns: int = 0

    def begin(self) -> None:
        """The window begins now."""
        self._begun, self._ended, self._looked, self.peaks = self._read(), None, None, Peaks()
        self._schedule(self._begun.at_ns)

    def look(self) -> None:
        """Look at processes and threads if that is due.

        A load ends its sessions before its end is known here, and a server may end a process with each.
        """
        if self._begun is None or self._ended is not None or self.now_ns() < self._due_ns:
            return
        began_ns = self.now_ns()
        self._looked = self._tree(self._target_roots()), self._tree(self.client())
        self._schedule(began_ns)

    def _schedule(self, began_ns: int) -> None:
        now_ns = self.now_ns()
        self._due_ns = now_ns + max(_LOOK_EVERY_NS, (now_ns - began_ns) * _LOOK_COST)

    def end(self) -> None:
        """The window is over."""
        if self._begun is not None and self._ended is None:
            self._ended = self._read()

    def ended_before(self, at_ns: int) -> bool:
        """True if the window was over at this instant."""
        return self._ended is not None and self._ended.at_ns < at_ns

    def resources(self) -> Resources | None:
        """Use between both instants; None without a window."""
        before, now = self._begun, self._ended
        if before is None or now is None or now.at_ns <= before.at_ns:
            return None
        seconds = (now.at_ns - before.at_ns) / 1e9
        looked = self._looked or (now.target, now.client)
        target, peaks = _processes(before.target, now.target, looked[0]), self.peaks
        if target is not None:
            peak_bytes = peaks.target_memory_bytes
            target = replace(target, cores_max=peaks.target_cores, memory_peak_bytes=peak_bytes)
        return Resources(
            seconds,
            host_use(before.host, now.host, seconds, peaks.host_cpu),
            target,
            _processes(before.client, now.client, looked[1]),
            disk_use(before.host.disks, now.host.disks, seconds),
            link_use(before.host, now.host, seconds, self.root),
        )

    def _read(self) -> _Instant:
        files = ProcFiles(self.root)
        try:
            at_ns, host = self.now_ns(), read_host(files)
        finally:
            files.close()
        return _Instant(at_ns, host, self._tree(self._target_roots()), self._tree(self.client()))

    def _target_roots(self) -> list[int]:
        return self.target() if self.target is not None else []

    def _tree(self, roots: list[int]) -> _Tree:
        at_ns, processes = self.now_ns(), read_processes(self.root, roots)
        ids = [pid for pid, _ in processes][:_MOST_PROCESSES]
        return _Tree(at_ns, processes, read_threads(self.root, ids))


def _processes(before: _Tree, now: _Tree, looked: _Tree) -> ProcessUse | None:
    """Use by a tree of processes; None without any.

    I/O is inherited from processes that have ended. All else is that up to the last look, if threads have
    ended since: CPU time is inherited only once the parent has waited for the process.
    """
    if not now.processes or now.at_ns <= before.at_ns:
        return None
    if looked.at_ns <= before.at_ns or looked.threads.keys() <= now.threads.keys():
        looked = now
    seconds, looked_s = (now.at_ns - before.at_ns) / 1e9, (looked.at_ns - before.at_ns) / 1e9
    pairs = [(before.processes.get(key), item) for key, item in now.processes.items()]
    looked_pairs = [(before.processes.get(key), item) for key, item in looked.processes.items()]
    gone = defaultdict(lambda: (0, 0), inherited_io(before.processes, now.processes))
    return ProcessUse(
        processes=len(looked.processes),
        threads=sum(item.stat.threads for item in looked.processes.values()),
        cores=max(_cores(before, now), _cores(before, looked)),
        memory_bytes=memory_bytes(looked.processes),
        read_bytes_per_s=_per_s(pairs, lambda item: item.read_bytes, seconds, lambda pid: gone[pid][0]),
        write_bytes_per_s=_per_s(pairs, lambda item: item.write_bytes, seconds, lambda pid: gone[pid][1]),
        voluntary_switches_per_s=_per_s(looked_pairs, lambda item: item.voluntary, looked_s),
        involuntary_switches_per_s=_per_s(looked_pairs, lambda item: item.involuntary, looked_s),
        major_faults_per_s=_per_s(pairs, lambda item: item.stat.major_faults, seconds),
        busiest_threads=_threads(before.threads, looked.threads, looked_s),
    )


def _cores(before: _Tree, now: _Tree) -> float:
    """CPU seconds per second, at least of processes that are alive: a parent may not wait for others."""
    pairs = [(before.processes.get(key), item) for key, item in now.processes.items()]
    alive = sum(difference(_ticks(old), _ticks(new)) for old, new in pairs)
    ticks = max(alive, used_ticks(now.processes) - used_ticks(before.processes))
    return ticks / TICK_HZ / ((now.at_ns - before.at_ns) / 1e9)


def _ticks(counters: ProcessCounters | None) -> int:
    return 0 if counters is None else counters.stat.user + counters.stat.system


def _per_s(
    pairs: Iterable[tuple[ProcessCounters | None, ProcessCounters]],
    counter: Callable[[ProcessCounters], int | None],
    seconds: float,
    inherited: Callable[[int], int] = lambda _: 0,
) -> float | None:
    """Increase of a counter of all processes, without what they have inherited, per second.

    Of a process that began since it is all of it. None if the kernel denies access to one.
    """
    total = 0
    for old, new in pairs:
        now = counter(new)
        if now is None:
            return None
        before = None if old is None else counter(old)
        total += max(0, difference(before or 0, now) - inherited(new.stat.pid))
    return total / seconds


def _threads(
    before: Mapping[int, ThreadCounters], now: Mapping[int, ThreadCounters], seconds: float
) -> tuple[ThreadUse, ...]:
    """The busiest threads. One that was not there before started since: all it used, it used now."""
    ran = {
        tid: difference(before[tid].run_ns if tid in before else 0, thread.run_ns)
        for tid, thread in now.items()
    }
    busiest = sorted((tid for tid in ran if ran[tid] > 0), key=lambda tid: -ran[tid])[:MOST_THREADS]
    return tuple(
        ThreadUse(
            now[tid].name,
            now[tid].pid,
            tid,
            ran[tid] / 1e9 / seconds,
            difference(before[tid].wait_ns if tid in before else 0, now[tid].wait_ns) / 1e9 / seconds,
        )
        for tid in busiest
    )
