"""State of the machine while a trial was measured: swapping, throttling, other processes, a client kept
waiting; and disturbances of the load: stolen CPU time, a wall clock that is set, another run beside it.

Each state is a difference of counters between the measurement's first instant and its last, so that nothing
is missed between samples, and nothing of it needs a monitor. All of it is only *noticed*: the values are
right, of a machine in that state. Disturbances are watched beside every load, as the trial's checks rest on
them.

Two runs at once measure each other. A run names its main thread; the kernel shows that name to everybody and
takes it back when the process dies, however it dies. Runs in other containers are not seen.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from loadcell.execution.checks import CLOCK_STEP_LIMIT_S
from loadcell.linux.cgroups import GroupCounters, read_groups
from loadcell.linux.host_counters import CpuTicks, read_cpu, read_vmstat
from loadcell.linux.local_addresses import interface_to, is_local
from loadcell.linux.process_counters import Key, thread_times
from loadcell.linux.procfs import (
    ProcessStat,
    ProcFiles,
    all_stats,
    children,
    children_by_parent,
    command_line,
    descendants,
    process_ids,
    read_small,
)
from loadcell.model.json import JsonObject
from loadcell.model.trial_record import Check

#: Kernel threads are children of this process: they work for whoever made the work, which may be the target.
_KERNEL = 2

#: The first process gets every orphan.
_FIRST = 1


@dataclass(frozen=True)
class Used:
    """A process and what CPU time it used, its children that ended included, in seconds."""

    pid: int
    name: str
    cpu_s: float


def on_this_machine(endpoint: JsonObject) -> bool:
    """True if the target that the engine is pointed at may run here; another name is taken for another
    machine's.
    """
    return bool(endpoint.get("socket")) or is_local(str(endpoint.get("host") or ""))


def interface_to_target(endpoint: JsonObject) -> str | None:
    """The interface that leads to the target that the engine is pointed at; None if unknown."""
    host = str(endpoint.get("host") or "")
    return interface_to(host) if host and not endpoint.get("socket") else None


def process_stats(root: Path) -> dict[Key, ProcessStat]:
    """Every process of this moment."""
    return {(stat.pid, stat.start): stat for stat in all_stats(root)}


def between(
    before: dict[Key, ProcessStat],
    after: dict[Key, ProcessStat],
    ours: Iterable[int],
    tick_hz: int | None = None,
) -> list[Used]:
    """CPU time of each process between two looks, most first, without `ours` and their descendants.

    A process that ends hands what it used to the one that waits for it, its whole life at once: what it had
    used before the first look is taken off again. Whoever waits for orphans gets lives that nobody knows the
    beginning of, so of process 1 only its own time counts.
    """
    hz = tick_hz or os.sysconf("SC_CLK_TCK")
    ours = set(ours)
    spared = _with_descendants(ours, before) | _with_descendants(ours, after)
    ticks = {key: _total(stat) - (_total(before[key]) if key in before else 0) for key, stat in after.items()}
    old = {pid: stat for (pid, _), stat in before.items()}
    living = {pid: (pid, start) for pid, start in after}
    for key in before.keys() - after.keys():
        heir = before[key].parent
        while heir not in living and heir in old:
            heir = old[heir].parent
        if heir in living and heir != _FIRST:
            ticks[living[heir]] -= _total(before[key])
    used = [
        Used(stat.pid, stat.name, ticks[key] / hz)
        for key, stat in after.items()
        if ticks[key] > 0 and stat.pid not in spared and _KERNEL not in (stat.pid, stat.parent)
    ]
    return sorted(used, key=lambda process: -process.cpu_s)


def _total(stat: ProcessStat) -> int:
    return stat.user + stat.system + (0 if stat.pid == _FIRST else stat.children)


def _with_descendants(roots: Iterable[int], stats: Mapping[Key, ProcessStat]) -> set[int]:
    children = children_by_parent(stats.values())
    return set(descendants(roots, lambda pid: children.get(pid, [])))


#: Of one core, over the whole measurement: what one process that has no part in the trial may use.
OTHERS_LIMIT = 0.10
#: Pages swapped in and out together; the kernel moves a few that nobody needs even when there is memory
#: enough.
SWAP_LIMIT_BYTES = 4 * 2**20
#: Of the measurement: how long the limit of a container may have held everything back.
THROTTLED_LIMIT = 0.01
#: Of the measurement, a thread of the client on average: how long it may have been ready to run without a
#: core.
WAITING_LIMIT = 0.10
#: How many processes the record names.
MOST_NAMED = 3
#: Threads of a client that are read.
_MOST_WORKER_THREADS = 2_000
#: By this the client's process is known among the run's children.
WORKER = "loadcell.execution.worker"


@dataclass(frozen=True)
class _Counts:
    """The running counters of one instant; None where the kernel does not tell."""

    at_ns: int
    swapped_pages: int | None
    groups: GroupCounters
    hot: int | None
    waited_ns: dict[int, int]
    processes: dict[Key, ProcessStat]


@dataclass
class Machine:
    """Counts from `begin` to `end`; `root` is `/`, or a recorded tree in tests."""

    root: Path = Path("/")
    run_pid: int = field(default_factory=os.getpid)
    now_ns: Callable[[], int] = time.monotonic_ns
    _begun: _Counts | None = None
    _ended: _Counts | None = None

    def begin(self) -> None:
        """The measurement begins now."""
        self._begun, self._ended = self._count(), None

    def end(self) -> None:
        """The measurement is over."""
        if self._begun is not None and self._ended is None:
            self._ended = self._count()

    def checks(self, target: list[int] | None) -> list[Check]:
        """Checks of the machine.

        `target` are its processes here; None if it may be any process of this machine.
        """
        before, after = self._begun, self._ended
        if before is None or after is None or after.at_ns <= before.at_ns:
            return [Check(name, "unknown", {}) for name in NAMES]
        seconds = (after.at_ns - before.at_ns) / 1e9
        return [
            _swap(before, after),
            _throttled(before, after, seconds),
            self._others(before, after, seconds, target),
            _starved(before, after, seconds),
        ]

    def _others(self, before: _Counts, after: _Counts, seconds: float, target: list[int] | None) -> Check:
        if target is None or not after.processes:
            return Check("other-processes", "unknown", {})
        used = between(before.processes, after.processes, [self.run_pid, *target])
        busy = {f"{process.name} ({process.pid})": process.cpu_s / seconds for process in used[:MOST_NAMED]}
        most = max(busy.values(), default=0.0)
        verdict = "noticed" if most > OTHERS_LIMIT else "ok"
        return Check("other-processes", verdict, {"cores": busy, "limit": OTHERS_LIMIT})

    def _count(self) -> _Counts:
        return _Counts(
            self.now_ns(),
            _swapped(self.root),
            read_groups(self.root),
            _hot(self.root),
            self._waited(),
            process_stats(self.root),
        )

    def _waited(self) -> dict[int, int]:
        """For each thread of the client, how long it has been ready to run without running (schedstat)."""
        return {
            tid: wait_ns
            for pid in workers(self.root, self.run_pid)
            for tid, (_, wait_ns) in thread_times(self.root, pid, _MOST_WORKER_THREADS).times.items()
        }


def workers(root: Path, run_pid: int) -> list[int]:
    """The processes that make load for the run with this process: its children, so that no other is read."""
    return [pid for pid in children(root, run_pid) if WORKER in read_small(f"{root}/proc/{pid}/cmdline")]


NAMES = ("swap", "throttled", "other-processes", "client-waiting")


def _swap(before: _Counts, after: _Counts) -> Check:
    """Memory went to the disk and came back."""
    if before.swapped_pages is None or after.swapped_pages is None:
        return Check("swap", "unknown", {})
    moved = (after.swapped_pages - before.swapped_pages) * os.sysconf("SC_PAGE_SIZE")
    verdict = "noticed" if moved > SWAP_LIMIT_BYTES else "ok"
    return Check("swap", verdict, {"swapped_bytes": moved})


def _throttled(before: _Counts, after: _Counts, seconds: float) -> Check:
    """The processors were held back: by heat, or by the container's limit of CPU time."""
    detail: dict[str, float | int] = {}
    noticed = False
    if before.hot is not None and after.hot is not None:
        detail["too_hot_times"] = after.hot - before.hot
        noticed = after.hot > before.hot
    throttled_us = after.groups.since(before.groups).throttled_us
    if throttled_us is not None:
        share = throttled_us / 1e6 / seconds
        detail |= {"quota_share": share, "limit": THROTTLED_LIMIT}
        noticed = noticed or share > THROTTLED_LIMIT
    if not detail:
        return Check("throttled", "unknown", {})
    return Check("throttled", "noticed" if noticed else "ok", detail)


def _starved(before: _Counts, after: _Counts, seconds: float) -> Check:
    """The client was ready to send or to read, and had no core to do it on: its response times hold that,
    too.
    """
    both = before.waited_ns.keys() & after.waited_ns.keys()
    if not both:
        return Check("client-waiting", "unknown", {})
    waits = [(after.waited_ns[thread] - before.waited_ns[thread]) / 1e9 / seconds for thread in both]
    share = max(waits)
    verdict = "noticed" if share > WAITING_LIMIT else "ok"
    return Check("client-waiting", verdict, {"share": share, "limit": WAITING_LIMIT, "threads": len(both)})


def _swapped(root: Path) -> int | None:
    """Pages swapped in and out since boot."""
    files = ProcFiles(root)
    try:
        counts = read_vmstat(files)
    finally:
        files.close()
    return counts["pswpin"] + counts["pswpout"] if {"pswpin", "pswpout"} <= counts.keys() else None


def _hot(root: Path) -> int | None:
    """Number of times that processors were slowed down by heat; None if it is not counted."""
    home = root / "sys/devices/system/cpu"
    counts = [
        read_small(home / cpu / "thermal_throttle" / name).strip()
        for cpu in _names(home)
        if cpu.startswith("cpu") and cpu[3:].isdecimal()
        for name in ("core_throttle_count", "package_throttle_count")
    ]
    counts_hot = [int(count) for count in counts if count.isdecimal()]
    return sum(counts_hot) if counts_hot else None


def _names(directory: Path) -> list[str]:
    try:
        return os.listdir(directory)  # noqa: PTH208 - names are all that is needed
    except OSError:
        return []


def wall_offset_ns() -> int:
    """CLOCK_REALTIME minus CLOCK_MONOTONIC: both are slewed alike, so only setting the clock moves it."""
    before = time.monotonic_ns()
    now = time.time_ns()
    return now - (before + time.monotonic_ns()) // 2


@dataclass
class DisturbanceWatch:
    """`steps_s` are the clock's steps since `begin`; `steal_share` is of all CPU time since then."""

    root: Path = Path("/")
    offset_ns: Callable[[], int] = wall_offset_ns
    steps_s: list[float] = field(default_factory=list)
    _offset_ns: int | None = None
    _cpu: CpuTicks | None = None

    def begin(self) -> None:
        """The measurement begins now: what was before does not count."""
        self._cpu = self._read_cpu()

    def tick(self) -> float | None:
        """Look at the clock; returns the step in seconds when it was set since the last look."""
        now = self.offset_ns()
        step_s = 0.0 if self._offset_ns is None else (now - self._offset_ns) / 1e9
        self._offset_ns = now
        if abs(step_s) > CLOCK_STEP_LIMIT_S:
            self.steps_s.append(step_s)
            return step_s
        return None

    def steal_share(self) -> float | None:
        """Stolen CPU time as a share of all, from `begin` to now; None when it cannot be known."""
        now = self._read_cpu()
        if self._cpu is None or now is None:
            return None
        ticks = now.since(self._cpu)
        return ticks.steal / ticks.total if ticks.total else None

    def _read_cpu(self) -> CpuTicks | None:
        files = ProcFiles(self.root)
        try:
            return read_cpu(files)
        finally:
            files.close()


NAME = "loadcell-run"  # at most 15 characters (prctl(2))
_PR_SET_NAME, _PR_GET_NAME = 15, 16


@contextlib.contextmanager
def named(name: str = NAME) -> Iterator[None]:
    """Bear the name while the block runs. Call it in the main thread."""
    libc = ctypes.CDLL(None)
    before = ctypes.create_string_buffer(16)
    libc.prctl(_PR_GET_NAME, before, 0, 0, 0)
    libc.prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(_PR_SET_NAME, before, 0, 0, 0)


def other_runs(root: Path = Path("/"), name: str = NAME, run_pid: int | None = None) -> list[int]:
    """Process ids of the other runs."""
    run_pid = os.getpid() if run_pid is None else run_pid
    return sorted(
        pid
        for pid in process_ids(root)
        if pid != run_pid and read_small(f"{root}/proc/{pid}/comm").rstrip("\n") == name
    )


def described(pid: int, root: Path = Path("/")) -> str:
    """Process id and plan of another run, in every language; without the plan if that is unknown."""
    words = command_line(pid, root)
    arguments = words[words.index("run") + 1 :] if "run" in words else []
    plan = next((word for word in arguments if word and not word.startswith("-")), None)
    return f"PID {pid}" + (f", {plan}" if plan else "")
