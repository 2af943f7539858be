"""The Redis server: what it did each second, its memory, and whether it was saving, as INFO tells."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from loadcell.model import trial_record
from loadcell.model.panels import SampleTable
from loadcell.monitors.base import Monitor, MonitorContext, Row
from loadcell.plan.parts import Options
from loadcell.systems.base import TargetError
from loadcell.systems.redis.connection import REDIS_INFO, Address, NotRedisError, RefusedError

if TYPE_CHECKING:
    from loadcell.systems.redis.client import Client

#: The name under which the server's own lists show the monitor.
APPLICATION = "loadcell-monitor"
#: How long an answer, and a connection, may take: a server that is stopped must not stop the monitor.
_LIMIT_S = 2.0
#: A lost server is called again this often.
_RETRY_S = 1.0

_SECTIONS = ("clients", "memory", "persistence", "stats", "cpu", "keyspace")

#: Running counters, which are written as what they grew by: the column, and what INFO calls it.
COUNTERS = {
    "commands": "total_commands_processed",
    "hits": "keyspace_hits",
    "misses": "keyspace_misses",
    "evicted_keys": "evicted_keys",
    "expired_keys": "expired_keys",
    "connections_received": "total_connections_received",
    "rejected_connections": "rejected_connections",
    "error_replies": "total_error_replies",
    "net_in_bytes": "total_net_input_bytes",
    "net_out_bytes": "total_net_output_bytes",
    "forks": "total_forks",
    "aof_delayed_fsyncs": "aof_delayed_fsync",
}
#: What is so at the moment.
LEVELS = {
    "clients": "connected_clients",
    "blocked_clients": "blocked_clients",
    "used_memory_bytes": "used_memory",
    "rss_bytes": "used_memory_rss",
    "fragmentation": "mem_fragmentation_ratio",
    "rdb_saving": "rdb_bgsave_in_progress",
    "aof_rewriting": "aof_rewrite_in_progress",
    "loading": "loading",
}


class RedisMonitorOptions(Options):
    """It has none."""


class RedisMonitor(Monitor[RedisMonitorOptions]):
    """Commands, hits, memory, evictions, clients and persistence, once a second."""

    name = "redis"
    summary = "the Redis server: commands, hits, memory, evictions, clients, persistence"
    Options = RedisMonitorOptions
    needs = frozenset({REDIS_INFO})
    table = SampleTable("redis", ("elapsed_s", *COUNTERS, "cpu_s", *LEVELS, "keys"))

    def __init__(
        self,
        options: RedisMonitorOptions,
        context: MonitorContext,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(options, context)
        self._monotonic = monotonic
        self._connection: Client | None = None
        self._tried_s = float("-inf")
        self._read_s = 0.0
        self._before: dict[str, float] = {}
        self._events: list[Row] = []
        self._connects = self._questions = 0
        self._note: str | None = None

    def sample(self, elapsed_s: float) -> list[Row]:  # noqa: ARG002 - its own readings may be further apart
        if self._connection is None:
            self._connect()
            return []
        try:
            return self._look(self._connection)
        except (OSError, RefusedError, NotRedisError) as error:
            self._note = self._note or str(error)
            self._events.append(
                {"event": "monitor", "monitor": self.name, "what": "lost", "reason": str(error)}
            )
            self.close()
            return []

    def finish(self, elapsed_s: float) -> list[Row]:
        return self.sample(elapsed_s) if self._connection is not None else []

    def events(self) -> list[Row]:
        events, self._events = self._events, []
        return events

    def account(self) -> trial_record.MonitorRecord:
        """The monitor's cost to the server, and why it saw nothing for a while."""
        notes = ({"note": "lost", "text": self._note},) if self._note else None
        return trial_record.MonitorRecord(connects=self._connects, questions=self._questions, notes=notes)

    def close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(OSError):
                self._connection.close()
            self._connection = None

    def _connect(self) -> None:
        """Get a session, and the base of all differences."""
        address, now_s = self.context.observed, self._monotonic()
        if not isinstance(address, Address) or now_s < self._tried_s + _RETRY_S:
            return
        self._tried_s = now_s
        try:
            connection = address.connect(limit_s=_LIMIT_S, during="measure", name=APPLICATION)
        except TargetError as error:
            self._note = self._note or error.finding
            return
        connection.limit(_LIMIT_S)
        self._connection, self._before = connection, {}
        if self._connects:
            self._events.append({"event": "monitor", "monitor": self.name, "what": "back"})
        self._connects += 1
        self.sample(0.0)

    def _look(self, connection: Client) -> list[Row]:
        self._questions += len(_SECTIONS)
        info = connection.info(*_SECTIONS)
        now_s = self._monotonic()
        counted = {name: value for name, its in COUNTERS.items() if (value := _number(info, its)) is not None}
        cpu = [_number(info, f"used_cpu_{part}") for part in ("user", "sys")]
        if None not in cpu:
            counted["cpu_s"] = sum(value or 0.0 for value in cpu)
        before, elapsed_s = self._before, now_s - self._read_s
        self._before, self._read_s = counted, now_s
        if not before:
            return []
        levels = {name: _number(info, its) for name, its in LEVELS.items()}
        return [{"elapsed_s": elapsed_s, **_grown(before, counted), **levels, "keys": _keys(info)}]


def _grown(before: Mapping[str, float], now: Mapping[str, float]) -> Row:
    """Increase of each counter.

    One that fell was reset, or the server is another: its increase is unknown.
    """
    return {
        name: value - before[name] if name in before and value >= before[name] else None
        for name, value in now.items()
    }


def _number(info: Mapping[str, str], name: str) -> float | None:
    """A number of INFO, an integer if it is whole; None if the server does not have it."""
    try:
        value = float(info[name])
    except (KeyError, ValueError):
        return None
    return int(value) if value.is_integer() else value


def _keys(info: Mapping[str, str]) -> int:
    """Keys of all databases: `db0:keys=5,expires=0,...`."""
    counts = (text.partition(",")[0].removeprefix("keys=") for name, text in info.items() if name[:2] == "db")
    return sum(int(count) for count in counts if count.isdigit())


PART = RedisMonitor
