"""Lost acknowledged writes: servers that acknowledge and forget exactly k of them."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from pydantic import SecretStr

from loadcell.monitors.base import MonitorContext, Row, Sampler
from loadcell.monitors.numbered_writes import NotConnectedError, NumberedWrites
from loadcell.monitors.writes import WritesMonitor, WritesOptions
from loadcell.plan.units import Rate
from loadcell.systems.postgres.connection import Address as PostgresAddress
from loadcell.systems.postgres.numbered_writes import PostgresWrites
from loadcell.systems.redis.connection import Address as RedisAddress
from loadcell.systems.redis.numbered_writes import RedisWrites
from redis_server import RedisServer
from servers import PostgresServer
from truth.assertions import agrees

SEED = 20261127


def monitored(writes: NumberedWrites, forget: Callable[[], None]) -> tuple[dict[str, float], Sampler]:
    """The metrics of 150 writes and more, of which `forget` makes the server lose some."""
    rows: list[Row] = []
    monitor = WritesMonitor(
        WritesOptions(rate=Rate(500)), MonitorContext(list, numbered_writes=lambda: writes)
    )
    sampler = Sampler("writes", monitor, lambda _name, new: rows.extend(new), 50_000_000)
    sampler.start()
    deadline = time.monotonic() + 30
    while sum(row["acknowledged"] for row in rows) < 150:
        assert time.monotonic() < deadline, sampler.account.trouble
        time.sleep(0.01)
    forget()
    account = sampler.stop()
    return dict(account.metrics), sampler


@pytest.mark.parametrize("k", [1, 5, 37])
def test_a_redis_that_forgets(redis_server: RedisServer, k: int) -> None:
    address = RedisAddress(redis_server.host, redis_server.port, password=SecretStr(redis_server.password))
    writes = RedisWrites(address)

    def forget() -> None:
        for number in random.Random(SEED).sample(range(100), k):
            assert redis_server.ask("SREM", writes.name, str(number)) == 1

    metrics, _ = monitored(writes, forget)
    agrees(f"lost writes of a Redis that forgot {k}", metrics["lost_writes"], k, full=0, loose=0)
    assert metrics["acknowledged_writes"] > 100
    assert metrics["unexpected_writes"] == metrics["uncertain_writes"] == 0
    assert redis_server.ask("EXISTS", writes.name) == 0, "it removes what it made"


@pytest.mark.parametrize("k", [1, 5, 37])
def test_a_postgresql_that_forgets(postgres_server: PostgresServer, k: int) -> None:
    address = PostgresAddress(
        postgres_server.host, postgres_server.port, user=postgres_server.user, database="postgres"
    )
    writes = PostgresWrites(lambda: address)

    def forget() -> None:
        numbers = ",".join(map(str, random.Random(SEED).sample(range(100), k)))
        if k:
            postgres_server.sql(f"DELETE FROM {writes.name} WHERE number IN ({numbers}) RETURNING 1")
        postgres_server.sql(f"INSERT INTO {writes.name} VALUES (-1) RETURNING 1")

    metrics, _ = monitored(writes, forget)
    agrees(f"lost writes of a PostgreSQL that forgot {k}", metrics["lost_writes"], k, full=0, loose=0)
    assert metrics["acknowledged_writes"] > 100
    assert metrics["unexpected_writes"] == 1, "a row that nobody sent"


@dataclass
class Flaky(NumberedWrites):
    """A server in memory: of ten writes it keeps one without an answer, and loses one without an answer."""

    def __post_init__(self) -> None:
        self.stored: set[int] = set()
        self.is_gone = False

    def create(self) -> None: ...

    def write(self, number: int) -> None:
        if self.is_gone:
            raise NotConnectedError("gone")
        if number % 10 == 9:
            raise ConnectionResetError("lost")
        self.stored.add(number)
        if number % 10 == 8:
            raise ConnectionResetError("lost after it was stored")

    def numbers(self) -> frozenset[int]:
        if self.is_gone:
            raise NotConnectedError("gone")
        return frozenset(self.stored)

    def remove(self) -> None: ...

    def close(self) -> None: ...

    def interrupt(self) -> None: ...


def test_writes_without_an_answer_are_no_lost_ones() -> None:
    server = Flaky()
    metrics, _ = monitored(server, lambda: None)
    written = metrics["acknowledged_writes"] + metrics["uncertain_writes"]
    assert metrics["uncertain_writes"] == pytest.approx(written / 5, abs=2)
    assert metrics["recovered_writes"] == pytest.approx(written / 10, abs=1)
    assert metrics["lost_writes"] == metrics["unexpected_writes"] == 0


def test_without_a_final_read_nothing_is_known() -> None:
    server = Flaky()

    def forget() -> None:
        server.is_gone = True

    metrics, sampler = monitored(server, forget)
    assert metrics == {}, "not met, and not missed"
    [(remark, _)] = sampler.account.remarks
    assert remark.code == "writes-monitor.not-read"
    assert remark.remedy is not None
