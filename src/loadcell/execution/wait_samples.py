"""Samples of the waits of a load: blocked threads, queues of network interfaces, connections that are not
accepted, and waits of the sessions of an SQL server.

Instants are drawn at random within each period, so that they do not beat with periodic work.
"""

from __future__ import annotations

import random
import socket
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from loadcell.analysis.limits.sessions import shortened
from loadcell.execution.blocked_samples import BlockedSamples, Threads
from loadcell.linux.host_counters import difference
from loadcell.linux.listen_queues import SOCKET_DIAGNOSIS, waiting_connections
from loadcell.linux.netlink import NetlinkSocket, network_namespace, open_socket, open_socket_of
from loadcell.linux.queue_disciplines import QueueCounters, read_queues
from loadcell.model.resources import (
    AcceptQueueUse,
    QueueUse,
    SessionUse,
    SessionWait,
)
from loadcell.monitors.base import Row

#: Mean time between looks in ns, and in multiples of the CPU time of a look: at most 0.33% of a core.
_EVERY_NS, _COST = 200_000_000, 300
#: Waits of sessions that a record names; it has sums of the others.
_MOST_WAITS = 8


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
