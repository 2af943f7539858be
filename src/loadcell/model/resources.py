"""Resources that the machine, the target and the client used in the window of one trial.

Means come from running counters at both ends of the window, so that a trial of any length has them. Maxima
come from samples one to two seconds apart, of the monitors and beside the load, and are None without.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from loadcell.model.json import OMITTED, Word


@dataclass(frozen=True, slots=True)
class CpuShares:
    """Shares of the CPU time of all cores, 0 to 1 each; `busy` is user, system and interrupts."""

    busy: float
    user: float
    system: float
    iowait: float
    steal: float


@dataclass(frozen=True, slots=True)
class PressureStall:
    """Pressure stall information (PSI): shares of the window, 0 to 1, in which some task waited for the
    resource, or all did (`full`, of CPU never).
    """

    cpu: float | None = None
    io: float | None = None
    io_full: float | None = None
    memory: float | None = None
    memory_full: float | None = None


@dataclass(frozen=True, slots=True)
class HostUse:
    """Use of the whole machine. `cores` is 0 if unknown. `cpu_max` is the largest sample of `busy`;
    `busiest_core` a mean, 0 to 1.

    `memory_available_bytes` is that at the end of the window, `memory_available_min_bytes` the least of all
    samples. Direct reclaim is done by tasks themselves before they get memory: how often
    (`direct_reclaim_per_s`, `allocstall`), and the pages that they scanned and freed (`pgscan_direct`,
    `pgsteal_direct`). `memory_traffic_bytes_per_s` is what processors and memory exchange, by counters of the
    memory controllers or of resctrl; `memory_peak_bytes_per_s` the theoretical bandwidth of the modules.
    """

    cores: int
    cpu: CpuShares | None = None
    cpu_max: float | None = None
    busiest_core: float | None = None
    context_switches_per_s: float | None = None
    memory_total_bytes: int | None = None
    memory_available_bytes: int | None = None
    memory_available_min_bytes: int | None = None
    swap_in_bytes_per_s: float | None = None
    swap_out_bytes_per_s: float | None = None
    direct_reclaim_per_s: float | None = None
    direct_scan_pages_per_s: float | None = None
    direct_steal_pages_per_s: float | None = None
    major_faults_per_s: float | None = None
    tcp_retransmits_per_s: float | None = None
    pressure: PressureStall | None = None
    memory_traffic_bytes_per_s: float | None = None
    memory_peak_bytes_per_s: float | None = None

    @property
    def swap_bytes_per_s(self) -> float | None:
        """Bytes swapped in and out per second."""
        if self.swap_in_bytes_per_s is None or self.swap_out_bytes_per_s is None:
            return None
        return self.swap_in_bytes_per_s + self.swap_out_bytes_per_s


@dataclass(frozen=True, slots=True)
class ThreadUse:
    """One thread: CPU time, and time without a core although ready to run (run delay), as shares of the
    window.
    """

    name: Word
    pid: int
    tid: int
    cpu: float
    run_delay: float


@dataclass(frozen=True, slots=True)
class ControlGroupUse:
    """Limits of the control groups of a process (cgroups v2 and v1): the smallest of all groups above it.

    `cpu_quota_cores` is CPU seconds per second, None without a limit. `throttled_share` is the share, 0 to 1,
    of the enforcement periods in which the quota held the group back. The numbers of memory events are those
    within the window: reclaim above `memory.high`, allocations at the limit (`memory.max`), and failures of
    those (`oom`). `memory_limit_bytes` is the smaller one of both limits. `identity` is equal for processes
    of the same control groups of a machine; records of earlier versions have none.
    """

    cpu_quota_cores: float | None = None
    throttled_share: float | None = None
    memory_limit_bytes: int | None = None
    memory_high_events: int | None = None
    memory_max_events: int | None = None
    memory_oom_events: int | None = None
    identity: Annotated[Word | None, OMITTED] = None


@dataclass(frozen=True, slots=True)
class BlockedThreads:
    """Threads in uninterruptible sleep (state D, mostly waits for storage) at `looks` instants: their `mean`
    number among all threads, and that of working ones alone (`ProcessUse.working_threads`).

    `flushing_share` is the share of the looks, 0 to 1, at which a working one waited for data to reach stable
    storage (fsync and the like); None if the kernel does not tell. `coverage` is the mean share of the
    threads that a look reads, and that tell: those that neither run nor are ready to. `flush_waiting_mean` is
    the mean number of working threads that flush, or that wait for another thread (futex and the like) while
    a working one flushes, 0 at instants without a flush; None as above, and in records of earlier versions.
    Values of working threads are corrected by their CPU time and run delay.
    """

    looks: int
    mean: float
    working_mean: float
    flushing_share: float | None = None
    coverage: float = 1.0
    flush_waiting_mean: Annotated[float | None, OMITTED] = None


@dataclass(frozen=True, slots=True)
class ProcessUse:
    """Use by the processes of the target, or of the client.

    `cores` is CPU seconds per second, `cores_max` its largest sample. `memory_bytes` is the resident memory
    at the end of the window: anonymous pages of all processes, and the largest shared and file-backed part of
    one; `memory_peak_bytes` is its largest sample. `busiest_threads` are ordered by CPU time. `cpus_allowed`
    is the number of processors that the first process may use. `working_threads` counts those that used at
    least a tenth of the CPU time of the busiest one, `full_threads` those that used at least 90% of a core.
    """

    processes: int
    threads: int
    cores: float
    cores_max: float | None = None
    memory_bytes: int | None = None
    memory_peak_bytes: int | None = None
    read_bytes_per_s: float | None = None
    write_bytes_per_s: float | None = None
    voluntary_switches_per_s: float | None = None
    involuntary_switches_per_s: float | None = None
    major_faults_per_s: float | None = None
    busiest_threads: tuple[ThreadUse, ...] = ()
    cpus_allowed: int | None = None
    control_group: ControlGroupUse | None = None
    working_threads: int | None = None
    full_threads: int | None = None
    blocked: BlockedThreads | None = None

    @property
    def busiest_thread(self) -> ThreadUse | None:
        """The thread with the most CPU time."""
        return self.busiest_threads[0] if self.busiest_threads else None

    @property
    def memory_max_bytes(self) -> int | None:
        """The largest resident memory that was seen."""
        return max((size for size in (self.memory_peak_bytes, self.memory_bytes) if size), default=None)


@dataclass(frozen=True, slots=True)
class DiskUse:
    """A block device: `utilisation` is the share of the window with requests in progress, `queue` their mean
    number, `await_ms` the mean time of a request (`iostat -x`: %util, aqu-sz, await).
    """

    device: Word
    utilisation: float
    queue: float
    reads_per_s: float
    writes_per_s: float
    read_bytes_per_s: float
    write_bytes_per_s: float
    read_await_ms: float | None = None
    write_await_ms: float | None = None
    flush_await_ms: float | None = None

    @property
    def await_ms(self) -> float | None:
        """Mean time of reads and writes."""
        requests = self.reads_per_s + self.writes_per_s
        if not requests:
            return None
        waits = self.reads_per_s * (self.read_await_ms or 0) + self.writes_per_s * (self.write_await_ms or 0)
        return waits / requests

    @property
    def bytes_per_s(self) -> float:
        """Bytes read and written per second."""
        return self.read_bytes_per_s + self.write_bytes_per_s


@dataclass(frozen=True, slots=True)
class LinkUse:
    """A network interface; `speed_bytes_per_s` is its nominal speed in one direction, None if unknown."""

    interface: Word
    received_bytes_per_s: float
    sent_bytes_per_s: float
    dropped_per_s: float
    received_packets_per_s: float | None = None
    sent_packets_per_s: float | None = None
    speed_bytes_per_s: float | None = None

    @property
    def bytes_per_s(self) -> float:
        """The busier direction."""
        return max(self.received_bytes_per_s, self.sent_bytes_per_s)


@dataclass(frozen=True, slots=True)
class QueueUse:
    """The queue of a network interface (qdisc) that the load may take: `waiting_share` is the share of
    `looks`, 0 to 1, at which packets waited in it; the rates are those of dropped packets and of packets that
    a limit of the rate delayed (`tc -s qdisc`: dropped, overlimits).
    """

    interface: Word
    discipline: Word
    looks: int
    waiting_share: float
    dropped_per_s: float
    delayed_per_s: float
    sent_bytes_per_s: float


@dataclass(frozen=True, slots=True)
class AcceptQueueUse:
    """Connections that wait to be accepted by the target at `looks` instants: their mean number, and the
    share of the looks, 0 to 1, at which there was one.
    """

    looks: int
    mean: float
    waiting_share: float


@dataclass(frozen=True, slots=True)
class SessionWait:
    """Mean number of active sessions of an SQL server in one wait, by its class and name."""

    kind: Word
    event: Word
    sessions: float


@dataclass(frozen=True, slots=True)
class SessionUse:
    """Sessions of an SQL server at `looks` instants, from its monitor: the mean number of active ones, and
    their waits, the most frequent first, then sums of the others by kind (event `others`). What waits for
    nothing is in none of them.
    """

    looks: int
    sessions: float
    active: float
    waits: tuple[SessionWait, ...] = ()


class Unobserved(StrEnum):
    """Why no process of the target was observed."""

    #: its address is that of another machine
    ELSEWHERE = "elsewhere"
    #: its address is on this machine, but none of the processes was identified as the target's
    UNIDENTIFIED = "unidentified"


@dataclass(frozen=True, slots=True)
class Resources:
    """Resources of one trial within `window_s` seconds; `target` is None where it was not observed, with the
    reason as `unobserved` (absent in older runs). Disks and links are ordered by use, the busiest first.
    `cost_s` is the CPU time of all these readings. `in_client`: the target works within the client's process,
    which is then its use, too. `data_disk` is the disk of the working directory of the target's first
    process, where servers keep their data, and `interface` the one that leads to a target that was not
    observed; None if unknown, and in records of earlier versions. `runner_cores` is the CPU use of loadcell's
    process apart from the load generator: monitors, and the proxy of network faults.
    """

    window_s: float
    host: HostUse
    target: ProcessUse | None = None
    client: ProcessUse | None = None
    disks: tuple[DiskUse, ...] = ()
    links: tuple[LinkUse, ...] = ()
    cost_s: float | None = None
    in_client: bool = False
    queues: tuple[QueueUse, ...] = ()
    accept_queue: AcceptQueueUse | None = None
    sessions: SessionUse | None = None
    unobserved: Annotated[Unobserved | None, OMITTED] = None
    data_disk: Annotated[Word | None, OMITTED] = None
    interface: Annotated[Word | None, OMITTED] = None
    runner_cores: Annotated[float | None, OMITTED] = None

    @property
    def served(self) -> ProcessUse | None:
        """Use by the process that does the target's work: the client's where the target is within it."""
        return self.client if self.in_client else self.target

    @property
    def disk(self) -> DiskUse | None:
        """The busiest disk."""
        return self.disks[0] if self.disks else None

    @property
    def link(self) -> LinkUse | None:
        """The busiest interface."""
        return self.links[0] if self.links else None
