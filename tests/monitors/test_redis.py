"""The Redis monitor on a real server: what it says is what was done to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from loadcell.monitors.base import MonitorContext
from loadcell.systems.redis.monitor import APPLICATION, RedisMonitor, RedisMonitorOptions
from redis_server import RedisServer


class Clock:
    """A clock that moves when the test moves it."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with RedisServer() as made:
        yield made


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def monitor(server: RedisServer, clock: Clock) -> Iterator[RedisMonitor]:
    made = RedisMonitor(
        RedisMonitorOptions(),
        MonitorContext(roots=list, observed=server.address()),
        monotonic=clock,
    )
    yield made
    made.close()


def test_what_was_done_is_counted(server: RedisServer, monitor: RedisMonitor, clock: Clock) -> None:
    assert monitor.sample(0) == [], "the first look sets the base"
    server.ask_all([("SET", "a", "1"), ("GET", "a"), ("GET", "a"), ("GET", "b"), ("SET", "c", "1", "PX", 1)])
    clock.now_s += 2
    [row] = monitor.sample(1)
    assert set(row) <= set(RedisMonitor.table.columns)
    assert (row["elapsed_s"], row["hits"], row["misses"], row["evicted_keys"]) == (2.0, 2, 1, 0)
    assert row["commands"] >= 5
    assert row["clients"] >= 1
    assert row["used_memory_bytes"] > 100_000
    assert row["fragmentation"] > 0
    assert (row["rdb_saving"], row["aof_rewriting"]) == (0, 0)
    assert row["keys"] in (1, 2)
    assert row["cpu_s"] >= 0
    assert any(f"name={APPLICATION} " in line for line in server.ask("CLIENT", "LIST").splitlines())
    server.ask("CONFIG", "RESETSTAT")
    [row] = monitor.sample(1)
    assert row["hits"] is None, "a counter that fell tells nothing"
    account = monitor.account()
    assert (account.connects, account.notes) == (1, None)


def test_a_server_that_goes_and_comes_back(server: RedisServer, monitor: RedisMonitor, clock: Clock) -> None:
    monitor.sample(0)
    server.kill()
    assert monitor.sample(1) == []
    [lost] = monitor.events()
    assert (lost["event"], lost["what"]) == ("monitor", "lost")
    clock.now_s += 5
    assert monitor.sample(1) == []
    server.start()
    clock.now_s += 5
    assert monitor.sample(1) == []
    assert [event["what"] for event in monitor.events()] == ["back"]
    clock.now_s += 1
    assert len(monitor.sample(1)) == 1
    assert monitor.account().notes


def test_where_nothing_is_shown_nothing_is_seen() -> None:
    monitor = RedisMonitor(RedisMonitorOptions(), MonitorContext(roots=list))
    assert (monitor.sample(0), monitor.finish(1), monitor.events()) == ([], [], [])
