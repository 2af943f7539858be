"""Samples of the waits of a load: blocked threads, queues of network interfaces, connections that are not
accepted, and waits of the sessions of an SQL server.

Instants are drawn at random within each period, so that they do not beat with periodic work.
"""

from __future__ import annotations

import random
import socket
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from loadcell.analysis.limits.sessions import shortened
from loadcell.linux.host_counters import difference
from loadcell.linux.listen_queues import SOCKET_DIAGNOSIS, waiting_connections
from loadcell.linux.netlink import NetlinkSocket, network_namespace, open_socket, open_socket_of
from loadcell.linux.procfs import SmallFiles
from loadcell.linux.queue_disciplines import QueueCounters, read_queues
from loadcell.linux.thread_states import thread_state, waits_for_thread
from loadcell.model.resources import (
    AcceptQueueUse,
    BlockedThreads,
    QueueUse,
    SessionUse,
    SessionWait,
)
from loadcell.monitors.base import Row

#: Mean time between looks in ns, and in multiples of the CPU time of a look: at most 0.33% of a core.
_EVERY_NS, _COST = 200_000_000, 300
#: Threads of one look; of more, a random choice of this size stands for all.
_MOST_THREADS = 30
#: Waits of sessions that a record names; it has sums of the others.
_MOST_WAITS = 8

#: Threads by id, each with the id of its process.
Threads = Mapping[int, int]


@dataclass
class BlockedSamples:
    """Looks at the threads of one side. One of a random choice stands for several."""

    looks: int = 0
    by_thread: dict[int, float] = field(default_factory=dict)
    #: threads that flush, by look, and threads that then wait for another one
    flushing: list[tuple[int, ...]] = field(default_factory=list)
    behind: list[tuple[int, ...]] = field(default_factory=list)
    #: threads that were there, and that were read, of all looks
    threads: int = 0
    read: int = 0
    coverage: float = 0.0
    tells_calls: bool = True
    #: status and call of each thread of a look
    files: SmallFiles = field(default_factory=lambda: SmallFiles(2 * _MOST_THREADS))

    def look(self, root: Path, threads: Threads) -> None:
        """Look at all threads, or at a random choice of them."""
        chosen: Collection[int] = threads
        if len(threads) > _MOST_THREADS:
            chosen = random.sample(list(threads), _MOST_THREADS)
        self.looks += 1
        weight = len(threads) / len(chosen)
        self.coverage += 1 / weight
        self.threads += len(threads)
        self.read += len(chosen)
        flushing, asleep = [], []
        for tid in chosen:
            state = thread_state(root, threads[tid], tid, self.files.read)
            if state is None or not state.blocked:
                if state is not None and state.state == "S":
                    asleep.append(tid)
                continue
            self.by_thread[tid] = self.by_thread.get(tid, 0.0) + weight
            self.tells_calls = self.tells_calls and state.flushing is not None
            if state.flushing:
                flushing.append(tid)
        self.flushing.append(tuple(flushing))
        if not flushing:
            asleep = []
        behind = (tid for tid in asleep if waits_for_thread(root, threads[tid], tid, self.files.read))
        self.behind.append(tuple(behind))

    def use(self, working: Collection[int]) -> BlockedThreads | None:
        """None without looks."""
        if not self.looks:
            return None
        of_working = sum(count for tid, count in self.by_thread.items() if tid in working)
        return BlockedThreads(
            self.looks,
            sum(self.by_thread.values()) / self.looks,
            of_working / self.looks,
            self._flushing_share(working) if self.tells_calls else None,
            self.coverage / self.looks,
            self._flush_waiting_mean(working) if self.tells_calls else None,
        )

    def _flush_waiting_mean(self, working: Collection[int]) -> float:
        """Mean number of working threads that flush, or wait for another one while a working one does."""
        total = 0
        for flushing, behind in zip(self.flushing, self.behind, strict=True):
            if count := sum(tid in working for tid in flushing):
                total += count + sum(tid in working for tid in behind)
        return total * self.threads / self.read / self.looks if self.read else 0.0

    def _flushing_share(self, working: Collection[int]) -> float:
        """Share of the looks at which a working thread flushed.

        Where looks read a choice of the threads, it is estimated as the larger of two values. That of n
        independent threads, each of which flushes with probability p, is 1 - (1 - p)^n: too low for threads
        that flush one at a time. Bonferroni's lower bound for any threads is the mean number of those that
        flush, less that of pairs (Galambos, "Bonferroni Inequalities", Annals of Probability 5, 1977).
        """
        counts = [sum(tid in working for tid in look) for look in self.flushing]
        if self.read == self.threads:
            return sum(map(bool, counts)) / self.looks
        weight = self.threads / self.read
        independent = float(1 - (1 - sum(counts) / self.read) ** (self.threads / self.looks))
        pairs = sum(count * (count - 1) / 2 for count in counts) * weight**2
        return max(independent, min(1.0, (sum(counts) * weight - pairs) / self.looks))


@dataclass
class WaitSamples:
    """Samples within the window, from `begin` to `end`; `ports` are those that the target listens on."""

    root: Path
    ports: Collection[int] = ()
    now_ns: Callable[[], int] = time.monotonic_ns
    target: BlockedSamples = field(default_factory=BlockedSamples)
    client: BlockedSamples = field(default_factory=BlockedSamples)
    _accept: list[int] = field(default_factory=list)
    _listening: NetlinkSocket | None = None
    _links: list[NetlinkSocket] = field(default_factory=list)
    _queues_begun: list[tuple[QueueCounters, ...]] = field(default_factory=list)
    _queues_ended: list[tuple[QueueCounters, ...]] = field(default_factory=list)
    _queued: Counter[tuple[int, str]] = field(default_factory=Counter)
    _queue_looks: int = 0
    _is_on_loopback: bool = False
    _window_s: float = 0.0
    _begun_ns: int = 0
    _due_ns: int = 0
    _session_looks: int = 0
    _sessions: dict[str, float] = field(default_factory=dict)
    _waits: Counter[tuple[str, str]] = field(default_factory=Counter)

    def begin(self, target: Threads) -> None:
        """The window begins now, with these threads of the target."""
        self.close()
        self.target, self.client, self._accept = BlockedSamples(), BlockedSamples(), []
        self._queued, self._queue_looks = Counter(), 0
        self._session_looks, self._sessions, self._waits = 0, {}, Counter()
        self._open(next(iter(target.values()), None))
        self._queues_begun = [read_queues(link) for link in self._links]
        self._begun_ns = self.now_ns()
        self._schedule(0)

    @property
    def is_due(self) -> bool:
        """True if the next look is due."""
        return bool(self._begun_ns) and self.now_ns() >= self._due_ns

    def look(self, target: Threads, client: Threads) -> None:
        """Look if that is due."""
        if not self.is_due:
            return
        began_ns = time.thread_time_ns()
        if target:
            self.target.look(self.root, target)
        if client:
            self.client.look(self.root, client)
        if self._listening is not None:
            waiting = waiting_connections(self._listening, self.ports)
            if waiting is not None:
                self._accept.append(waiting)
        for number, link in enumerate(self._links):
            self._queued.update((number, queue.interface) for queue in read_queues(link) if queue.packets)
        self._queue_looks += bool(self._links)
        self._schedule(time.thread_time_ns() - began_ns)

    def end(self) -> None:
        """The window is over."""
        self._queues_ended = [read_queues(link) for link in self._links]
        self._window_s = (self.now_ns() - self._begun_ns) / 1e9
        self._begun_ns = 0
        self.close()

    def close(self) -> None:
        """Close the sockets."""
        self.target.files.close()
        self.client.files.close()
        for link in (*self._links, *([self._listening] if self._listening else [])):
            link.close()
        self._links, self._listening = [], None

    def _open(self, process: int | None) -> None:
        """Open sockets in the network namespaces of this process and, if another one, of the target's."""
        is_elsewhere = process is not None and network_namespace(self.root, process) not in (
            None,
            network_namespace(self.root),
        )
        self._is_on_loopback = process is not None and not is_elsewhere
        links = [open_socket(socket.NETLINK_ROUTE)]
        if process is not None and is_elsewhere:
            links.append(open_socket_of(self.root, process, socket.NETLINK_ROUTE))
            self._listening = open_socket_of(self.root, process, SOCKET_DIAGNOSIS) if self.ports else None
        elif process is not None and self.ports:
            self._listening = open_socket(SOCKET_DIAGNOSIS)
        self._links = [link for link in links if link is not None]

    def sampled_sessions(self, rows: Iterable[Row]) -> None:
        """Take samples of a monitor of an SQL server."""
        for row in rows:
            looks = row.get("looks") or 0
            self._session_looks += looks
            for name in ("sessions", "sessions_active"):
                self._sessions[name] = self._sessions.get(name, 0.0) + (row.get(name) or 0.0) * looks

    def sampled_waits(self, rows: Iterable[Row]) -> None:
        """Take samples of the waits of active sessions."""
        for row in rows:
            self._waits[str(row["wait_event_type"]), str(row["wait_event"])] += row["sessions"]

    def accept_queue(self) -> AcceptQueueUse | None:
        """None without looks at a listening socket."""
        if not self._accept:
            return None
        looks = len(self._accept)
        return AcceptQueueUse(looks, sum(self._accept) / looks, sum(map(bool, self._accept)) / looks)

    def sessions(self) -> SessionUse | None:
        """None without a monitor of an SQL server."""
        looks = self._session_looks
        if not looks:
            return None
        waits = [
            SessionWait(kind, event, count / looks) for (kind, event), count in self._waits.most_common()
        ]
        return SessionUse(
            looks,
            self._sessions["sessions"] / looks,
            self._sessions["sessions_active"] / looks,
            shortened(waits, _MOST_WAITS),
        )

    def queues(self) -> tuple[QueueUse, ...]:
        """Queues that sent anything, those with waiting packets first.

        The load of a target in the same network namespace takes the loopback, and no other interface.
        """
        used = [
            queue
            for number, (before, now) in enumerate(zip(self._queues_begun, self._queues_ended, strict=False))
            for queue in self._used(number, before, now)
        ]
        return tuple(sorted(used, key=lambda queue: (-queue.waiting_share, -queue.sent_bytes_per_s)))

    def _used(
        self, number: int, before: Sequence[QueueCounters], now: Sequence[QueueCounters]
    ) -> Iterable[QueueUse]:
        begun = {queue.interface: queue for queue in before}
        for queue in now:
            if self._is_on_loopback and queue.interface != "lo":
                continue
            old = begun.get(queue.interface)
            if old is None or old.kind != queue.kind or queue.bytes == old.bytes or not self._queue_looks:
                continue
            yield QueueUse(
                queue.interface,
                queue.kind,
                self._queue_looks,
                self._queued[number, queue.interface] / self._queue_looks,
                difference(old.dropped, queue.dropped) / self._window_s,
                difference(old.overlimits, queue.overlimits) / self._window_s,
                difference(old.bytes, queue.bytes) / self._window_s,
            )

    def _schedule(self, cost_ns: int) -> None:
        self._due_ns = self.now_ns() + round(max(_EVERY_NS, cost_ns * _COST) * random.uniform(0.5, 1.5))  # noqa: S311
