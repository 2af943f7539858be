"""Resources that the machine, the target and the client use in the window of a trial: differences of running
counters between its first instant and its last, so that trials under a second have them, without monitors.
"""

from __future__ import annotations

import heapq
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from loadcell.execution.blocked_samples import BlockedSamples
from loadcell.execution.host_use import (
    LONGEST_SAMPLE_NS,
    HostSamples,
    MemoryUse,
    disk_use,
    host_use,
    link_use,
)
from loadcell.execution.wait_samples import WaitSamples
from loadcell.linux.cgroups import GroupCounters, read_groups
from loadcell.linux.disks import disk_of
from loadcell.linux.host_counters import (
    CpuTicks,
    HostCounters,
    difference,
    read_available_memory,
    read_cpu,
    read_host,
)
from loadcell.linux.memory_bandwidth import MemoryTraffic, Traffic, bytes_between, peak_bytes_per_s
from loadcell.linux.process_counters import (
    TICK_HZ,
    Key,
    ProcessCounters,
    ThreadTimes,
    allowed_cpus,
    inherited_io,
    memory_bytes,
    read_processes,
    thread_name,
    thread_times,
    used_ticks,
)
from loadcell.linux.procfs import ProcFiles, children_by_parent, descendants
from loadcell.model.resources import ControlGroupUse, ProcessUse, Resources, ThreadUse
from loadcell.monitors.base import Row

#: Threads that a record names.
MOST_THREADS = 5
#: CPU time of a working thread, as a share of the busiest one's.
_WORKING = 0.1
#: Share of a core that a full thread uses.
_FULL = 0.9
#: Threads of a tree that are read one by one at an instant: each costs some 5 microseconds.
MOST_READ = 2_000
#: Time between looks in ns, and in multiples of the duration of a look: they use at most 0.2% of a core.
_LOOK_EVERY_NS, _LOOK_COST = 250_000_000, 500
#: The same before the first look.
_FIRST_LOOK_COST = 25
#: Least time between samples, of which the largest are recorded, in ns; shorter ones have ticks of 10 ms.
_SAMPLE_EVERY_NS = 1_000_000_000


@dataclass(frozen=True)
class _Tree:
    """Counters of one side at one instant; `threads` those of the first `MOST_READ` threads, by process.

    `ended` are the last counters of trees that ended at their root: a fault may start a server again.
    """

    at_ns: int
    processes: Mapping[Key, ProcessCounters]
    threads: Mapping[Key, ThreadTimes]
    ended: Mapping[Key, ProcessCounters] = field(default_factory=dict)

    def has_threads_of(self, other: _Tree) -> bool:
        """True if all threads of the other instant are there."""
        return all(
            key in self.threads and times.times.keys() <= self.threads[key].times.keys()
            for key, times in other.threads.items()
        )


@dataclass(frozen=True)
class _Limits:
    """Limits of the first process of a tree, with their counters."""

    groups: GroupCounters = field(default_factory=GroupCounters)
    cpus_allowed: int | None = None

    @staticmethod
    def of(root: Path, tree: _Tree) -> _Limits:
        """The limits of this moment; none without processes."""
        pid = next((pid for pid, _ in tree.processes), None)
        return _Limits() if pid is None else _Limits(read_groups(root, pid), allowed_cpus(root, pid))


@dataclass(frozen=True)
class _Instant:
    at_ns: int
    host: HostCounters
    memory: Traffic
    target: _Tree
    client: _Tree
    target_limits: _Limits
    client_limits: _Limits
    #: CPU time of reading the processes
    trees_ns: int


@dataclass
class _Samples:
    """Largest samples of one side; None without samples. Those over `LONGEST_SAMPLE_NS` are no maxima."""

    cores: float | None = None
    memory_bytes: int | None = None
    _before: _Tree | None = None

    def begin(self, tree: _Tree) -> None:
        """The window begins with these counters."""
        self._before = tree

    def take(self, tree: _Tree) -> None:
        """Take a sample."""
        before, self._before = self._before, tree
        is_short = before is not None and tree.at_ns - before.at_ns <= LONGEST_SAMPLE_NS
        self.add(
            _cores(before, tree) if before is not None and is_short and tree.processes else None,
            memory_bytes(tree.processes),
        )

    def add(self, cores: float | None, size: int | None) -> None:
        """Take a sample of cores in use, and of memory in bytes."""
        if cores is not None:
            self.cores = max(self.cores or 0.0, cores)
        if size is not None:
            self.memory_bytes = max(self.memory_bytes or 0, size)


@dataclass
class ResourceWatch:
    """Counts from `begin` to `end`; `root` is `/`, or a recorded tree in tests.

    `target` and `client` give the ids of the root processes; `target` is None on another machine,
    and where it works within the client (`in_client`). `ports` are those that it listens on.
    `process_kind` reduces the title of a process (`Target.process_kind`).
    """

    root: Path
    client: Callable[[], list[int]]
    target: Callable[[], list[int]] | None = None
    in_client: bool = False
    ports: tuple[int, ...] = ()
    now_ns: Callable[[], int] = time.monotonic_ns
    process_kind: Callable[[str], str] = str
    _begun: _Instant | None = None
    _ended: _Instant | None = None
    #: The last two looks at target and client within the window, and when the next one is due
    _looked: tuple[_Tree, _Tree] | None = None
    _looked_before: tuple[_Tree, _Tree] | None = None
    _due_ns: int = 0
    _host_samples: HostSamples = field(default_factory=HostSamples)
    _target_samples: _Samples = field(default_factory=_Samples)
    _client_samples: _Samples = field(default_factory=_Samples)
    _sampled_ns: int = 0
    _memory: MemoryTraffic | None = None
    _waits: WaitSamples = field(init=False)
    #: Names of the busiest threads of each look, by process and thread id
    _names: dict[tuple[Key, int], str] = field(default_factory=dict)
    _data_disk: str | None = None
    #: CPU time of this process when the window began, and within it, in ns
    _runner_begun_ns: int = 0
    _runner_ns: int = 0
    #: CPU time of all that was read, in ns
    cost_ns: int = 0

    def __post_init__(self) -> None:
        self._waits = WaitSamples(self.root, self.ports, self.now_ns)

    def begin(self) -> None:
        """The window begins now."""
        began_cpu_ns = time.thread_time_ns()
        self._runner_begun_ns = time.process_time_ns()
        self._close_memory()
        self._memory = MemoryTraffic(self.root)
        begun = self._begun = self._read()
        self._ended, self._looked, self._looked_before, self.cost_ns = None, None, None, 0
        self._host_samples, self._target_samples, self._client_samples = HostSamples(), _Samples(), _Samples()
        self._host_samples.begin(begun.host)
        self._names = {}
        self._target_samples.begin(begun.target)
        self._client_samples.begin(begun.client)
        self._sampled_ns = begun.target.at_ns
        self._waits.begin(_pids(begun.target))
        first = next(iter(begun.target.processes), None)
        self._data_disk = None if first is None else _data_disk(self.root, first[0])
        self.cost_ns += time.thread_time_ns() - began_cpu_ns
        # The first look comes earlier: a short load may end its processes before they are read again.
        self._schedule(begun.trees_ns, _FIRST_LOOK_COST)

    def look(self) -> None:
        """Look at processes and threads, and at what they wait for, if that is due.

        A load ends its sessions before its end is known here, and a server may end a process with each.
        """
        if self._begun is None or self._ended is not None:
            return
        began_cpu_ns = time.thread_time_ns()
        target, client = self._looked or (self._begun.target, self._begun.client)
        if self._waits.is_due:
            self._waits.look(_pids(target), _pids(client))
        if self.now_ns() < self._due_ns:
            self.cost_ns += time.thread_time_ns() - began_cpu_ns
            return
        target, client = self._tree(self._target_roots(), target), self._tree(self.client(), client)
        self._looked_before, self._looked = self._looked, (target, client)
        self._name_threads(self._begun, target, client)
        if self._is_sample_due(target.at_ns):
            files = ProcFiles(self.root)
            try:
                self._sample(read_cpu(files), read_available_memory(files), target, client)
            finally:
                files.close()
        cost_ns = time.thread_time_ns() - began_cpu_ns
        self.cost_ns += cost_ns
        self._schedule(cost_ns)

    def monitored(self, monitor: str, rows: list[Row]) -> None:
        """Take the samples of the monitors `host` and `target` that lie within the window."""
        if self._begun is None:
            return
        first_ns = self._begun.at_ns + _SAMPLE_EVERY_NS
        for row in rows:
            if row["mono_ns"] < first_ns or (self._ended is not None and row["mono_ns"] > self._ended.at_ns):
                continue
            if monitor == "host" and (busy := row.get("cpu_busy_percent")) is not None:
                self._host_samples.add(busy / 100)
            elif monitor.endswith(".waits"):
                self._waits.sampled_waits([row])
            elif "looks" in row:
                self._waits.sampled_sessions([row])
            elif monitor == "target" and row["pid"] == 0 and row["cpu_percent"] is not None:
                self._target_samples.add(row["cpu_percent"] / 100, row["memory_bytes"])

    def _is_sample_due(self, at_ns: int) -> bool:
        return at_ns - self._sampled_ns >= _SAMPLE_EVERY_NS

    def _sample(self, cpu: CpuTicks | None, available: int | None, target: _Tree, client: _Tree) -> None:
        """Take a sample of machine, target and client."""
        self._host_samples.take(cpu, available, target.at_ns - self._sampled_ns)
        self._sampled_ns = target.at_ns
        self._target_samples.take(target)
        self._client_samples.take(client)

    def _schedule(self, cost_ns: int, multiple: int = _LOOK_COST) -> None:
        """Bound the cost of looks, in CPU time: a busy machine prolongs them."""
        self._due_ns = self.now_ns() + max(_LOOK_EVERY_NS, cost_ns * multiple)

    def end(self) -> None:
        """The window is over."""
        if self._begun is not None and self._ended is None:
            began_cpu_ns = time.thread_time_ns()
            self._waits.end()
            ended = self._ended = self._read(*(self._looked or (self._begun.target, self._begun.client)))
            self._close_memory()
            self._name_threads(self._begun, ended.target, ended.client)
            if self._is_sample_due(ended.target.at_ns):
                available = ended.host.meminfo.get("MemAvailable")
                self._sample(ended.host.cpu, available, ended.target, ended.client)
            self._runner_ns = time.process_time_ns() - self._runner_begun_ns
            self.cost_ns += time.thread_time_ns() - began_cpu_ns

    def close(self) -> None:
        """Release the sockets and counters of a window that did not end."""
        self._waits.close()
        self._close_memory()

    def _close_memory(self) -> None:
        if self._memory is not None:
            self._memory.close()
        self._memory = None

    def resources(self) -> Resources | None:
        """Use between both instants; None without a window."""
        before, now = self._begun, self._ended
        if before is None or now is None or now.at_ns <= before.at_ns:
            return None
        seconds = (now.at_ns - before.at_ns) / 1e9
        looked = self._last_complete((now.target, now.client))
        traffic = bytes_between(before.memory, now.memory)
        memory = MemoryUse(traffic, None if traffic is None else peak_bytes_per_s(self.root))
        return Resources(
            seconds,
            host_use(before.host, now.host, seconds, self._host_samples, memory),
            _with_limits(
                _processes(before.target, now.target, looked[0], self._waits.target, self._names),
                before.target_limits, now.target_limits, self._target_samples,
            ),
            _with_limits(
                _processes(before.client, now.client, looked[1], self._waits.client, self._names),
                before.client_limits, now.client_limits, self._client_samples,
            ),
            disk_use(before.host.disks, now.host.disks, seconds),
            link_use(before.host, now.host, seconds, self.root),
            self.cost_ns / 1e9,
            self.in_client,
            self._waits.queues(),
            self._waits.accept_queue(),
            self._waits.sessions(),
            data_disk=self._data_disk,
            runner_cores=self._runner_ns / 1e9 / seconds,
        )  # fmt: skip

    @property
    def between_ns(self) -> tuple[int, int] | None:
        """Instants of the readings at both ends of the window; None without a window."""
        if self._begun is None or self._ended is None:
            return None
        return self._begun.at_ns, self._ended.at_ns

    def _last_complete(self, now: tuple[_Tree, _Tree]) -> tuple[_Tree, _Tree]:
        """The last look at each side, or the one before if threads ended between both: a load ends its
        threads before its end is known here.
        """
        last = self._looked or now
        earlier = self._looked_before or last
        target, client = (
            tree if tree.has_threads_of(before) else before
            for tree, before in zip(last, earlier, strict=True)
        )
        return target, client

    def _read(self, target: _Tree | None = None, client: _Tree | None = None) -> _Instant:
        """Read all counters after those of the last look, if there was one."""
        files = ProcFiles(self.root)
        try:
            at_ns, host = self.now_ns(), read_host(files)
            memory = {} if self._memory is None else self._memory.read()
        finally:
            files.close()
        began_cpu_ns = time.thread_time_ns()
        target, client = self._tree(self._target_roots(), target), self._tree(self.client(), client)
        trees_ns = time.thread_time_ns() - began_cpu_ns
        limits = _Limits.of(self.root, target), _Limits.of(self.root, client)
        return _Instant(at_ns, host, memory, target, client, *limits, trees_ns)

    def _target_roots(self) -> list[int]:
        return self.target() if self.target is not None else []

    def _tree(self, roots: list[int], before: _Tree | None) -> _Tree:
        at_ns, processes = self.now_ns(), read_processes(self.root, roots)
        ended = {} if before is None else {**before.ended, **_ended_trees(before.processes, processes)}
        threads, remaining = {}, MOST_READ
        for key in processes:
            threads[key] = thread_times(self.root, key[0], remaining)
            remaining -= len(threads[key].times)
        return _Tree(at_ns, processes, threads, ended)

    def _name_threads(self, begun: _Instant, target: _Tree, client: _Tree) -> None:
        """Read the names of the busiest threads so far, while they are there."""
        for before, now in ((begun.target, target), (begun.client, client)):
            for key, tid, _, _ in _busiest(_used(before, now)):
                if name := thread_name(self.root, key[0], tid, self.process_kind):
                    self._names[key, tid] = name


def _with_limits(
    used: ProcessUse | None, before: _Limits, now: _Limits, samples: _Samples
) -> ProcessUse | None:
    """The same with largest samples, of which none is below the mean, and limits."""
    if used is None:
        return None
    return replace(
        used,
        cores_max=None if samples.cores is None else max(samples.cores, used.cores),
        memory_peak_bytes=samples.memory_bytes,
        cpus_allowed=now.cpus_allowed,
        control_group=_control_group(before.groups, now.groups),
    )


def _control_group(before: GroupCounters, now: GroupCounters) -> ControlGroupUse | None:
    """Limits, and what they did between two instants; None without limits or counters."""
    if now == GroupCounters():
        return None
    effects = now.since(before)
    events = effects.memory_events
    return ControlGroupUse(
        now.cpu_quota_cores, effects.throttled_share, now.memory_limit_bytes,
        events.get("high"), events.get("max"), events.get("oom"), now.identity or None,
    )  # fmt: skip


def _pids(tree: _Tree) -> dict[int, int]:
    """Process of each thread."""
    return {tid: pid for (pid, _), threads in tree.threads.items() for tid in threads.times}


def _processes(
    before: _Tree,
    now: _Tree,
    looked: _Tree,
    blocked: BlockedSamples,
    names: Mapping[tuple[Key, int], str],
) -> ProcessUse | None:
    """Use by a tree of processes; None without any.

    I/O is inherited from processes that have ended. All else is that up to the last look, if threads have
    ended since: CPU time is inherited only once the parent has waited for the process.
    """
    if not now.processes:
        now = looked  # all ended with the load
    if not now.processes or now.at_ns <= before.at_ns:
        return None
    if looked.at_ns <= before.at_ns or now.has_threads_of(looked):
        looked = now
    seconds, looked_s = (now.at_ns - before.at_ns) / 1e9, (looked.at_ns - before.at_ns) / 1e9
    pairs = [(before.processes.get(key), item) for key, item in now.processes.items()]
    looked_pairs = [(before.processes.get(key), item) for key, item in looked.processes.items()]
    gone = defaultdict(lambda: (0, 0), inherited_io(before.processes, now.processes))
    used = _used(before, looked)
    most_ns = max((ran_ns for _, _, ran_ns, _ in used), default=0)
    working = {tid for _, tid, ran_ns, _ in used if ran_ns >= _WORKING * most_ns}
    running_ns = sum(ran_ns + wait_ns for _, tid, ran_ns, wait_ns in used if tid in working)
    running = running_ns / 1e9 / looked_s if used else None
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
        busiest_threads=tuple(
            ThreadUse(
                names.get((key, tid), ""), key[0], tid, ran_ns / 1e9 / looked_s, wait_ns / 1e9 / looked_s
            )
            for key, tid, ran_ns, wait_ns in _busiest(used)
        ),
        working_threads=len(working) if _pids(looked) else None,
        full_threads=sum(ran_ns >= _FULL * looked_s * 1e9 for _, _, ran_ns, _ in used) if used else None,
        blocked=blocked.use(working, running),
    )


def _data_disk(root: Path, pid: int) -> str | None:
    """The disk of a process's working directory; None where that is the root, as of daemons whose data lie
    elsewhere.
    """
    directory = root / f"proc/{pid}/cwd"
    try:
        if directory.readlink() == Path("/"):
            return None
    except OSError:
        return None
    return disk_of(directory, root)


def _ended_trees(
    before: Mapping[Key, ProcessCounters], now: Mapping[Key, ProcessCounters]
) -> Mapping[Key, ProcessCounters]:
    """Trees that are gone with their roots, whose use no parent in the tree inherits."""
    pids = {pid for pid, _ in before}
    roots = [key for key, item in before.items() if item.stat.parent not in pids]
    gone = [pid for pid, start in roots if (pid, start) not in now]
    if not gone:
        return {}
    of_parent = children_by_parent(item.stat for item in before.values())
    trees = set(descendants(gone, lambda pid: of_parent.get(pid, [])))
    return {key: item for key, item in before.items() if key[0] in trees and key not in now}


def _cores(before: _Tree, now: _Tree) -> float:
    """CPU seconds per second, at least of processes that are alive: a parent may not wait for others."""
    old, new = {**before.ended, **before.processes}, {**now.ended, **now.processes}
    alive = sum(difference(_ticks(old.get(key)), _ticks(item)) for key, item in new.items())
    ticks = max(alive, used_ticks(new) - used_ticks(old))
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
        before = 0 if old is None else counter(old)
        if now is None or before is None:
            return None
        total += max(0, difference(before, now) - inherited(new.stat.pid))
    return total / seconds


#: Process, thread id, and nanoseconds of running and of run delay.
_Used: TypeAlias = tuple[Key, int, int, int]


def _used(before: _Tree, now: _Tree) -> list[_Used]:
    """Threads that ran.

    A thread that was not there before started since: all it used, it used now. Threads that were there and
    not read have no base.
    """
    used = []
    for key, threads in now.threads.items():
        old = before.threads.get(key, ThreadTimes({}))
        for tid, (run_ns, wait_ns) in threads.times.items():
            if tid in old.times or old.are_all:
                run_before, wait_before = old.times.get(tid, (0, 0))
                if (ran_ns := difference(run_before, run_ns)) > 0:
                    used.append((key, tid, ran_ns, difference(wait_before, wait_ns)))
    return used


def _busiest(used: Iterable[_Used]) -> list[_Used]:
    return heapq.nlargest(MOST_THREADS, used, key=lambda thread: thread[2])
