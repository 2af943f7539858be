"""Clocks, writes and flushes of real servers that were started with the library for faults."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from loadcell.faults.base import Fault
from loadcell.faults.clock_fault import ClockOptions
from loadcell.faults.clock_step import ClockStep
from loadcell.faults.fsync_errors import FailingFlushes
from loadcell.faults.storage_fault import StorageFaultOptions
from loadcell.faults.write_errors import FailingWrites
from loadcell.plan.units import Duration
from loadcell.systems import managed_server
from loadcell.systems.base import Target, TargetContext
from loadcell.systems.postgres.options import PostgresOptions
from loadcell.systems.postgres.server import ADMIN
from loadcell.systems.postgres.target import Postgres
from loadcell.systems.redis.options import RedisOptions
from loadcell.systems.redis.target import Redis
from systems.bench import Bench, temporary
from systems.redis.conftest import ask

HOUR = Duration(3600)


def make(context: TargetContext, kind: str, **options: Any) -> Target[Any]:
    context = replace(context, preloads=True)
    if kind == "redis":
        return Redis(RedisOptions(server="local", **options), context)
    return Postgres(PostgresOptions(server="embedded", **options), context)


@pytest.fixture
def bench() -> Iterator[Bench[Target[Any]]]:
    with temporary(make) as bench:
        yield bench


@contextmanager
def applied(fault: Fault[Any]) -> Iterator[None]:
    """The fault, in effect until the end of the block, and undone as a run does it."""
    arguments = fault.prepare()
    assert arguments is not None
    fault.apply()
    try:
        yield
        fault.restore()
    finally:
        fault.undo(arguments)
    assert fault.is_undone(arguments)


def session(target: Target[Any]) -> psycopg.Connection[Any]:
    """A session of the administration."""
    address = target._server.admin()  # type: ignore[attr-defined]
    directory = address.socket.rpartition("/")[0]
    deadline = time.monotonic() + 20
    while True:
        try:
            return psycopg.connect(
                host=directory, port=address.port, user=ADMIN, dbname="postgres", autocommit=True
            )
        except psycopg.OperationalError:  # it has not noticed the crash of a session before it answered
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def test_the_clock_of_a_redis_steps_and_keys_expire_by_it(bench: Bench[Target[Any]]) -> None:
    target = bench.up(kind="redis", settings={"save": ""})
    endpoint: Any = target.endpoint()
    ask(endpoint, "SET", "key", "value", "EX", "600")
    with applied(ClockStep(ClockOptions(subject="redis", by=HOUR), target.subject("redis"))):
        assert abs(int(ask(endpoint, "TIME")[0]) - time.time() - 3600) < 3
        assert ask(endpoint, "EXISTS", "key") == 0
    assert abs(int(ask(endpoint, "TIME")[0]) - time.time()) < 3


def test_a_redis_that_cannot_flush_ends_and_is_started_again(bench: Bench[Target[Any]]) -> None:
    target = bench.up(kind="redis", settings={"save": "", "appendonly": True, "appendfsync": "always"})
    endpoint: Any = target.endpoint()
    ask(endpoint, "SET", "acknowledged", "1")
    fault = FailingFlushes(StorageFaultOptions(subject="redis"), target.subject("redis"))
    with applied(fault), pytest.raises(Exception, match="closed"):
        ask(endpoint, "SET", "failed", "1")
    assert fault.counts() == {"calls": 1, "failed": 1}
    assert ask(endpoint, "GET", "acknowledged") in ("1", b"1")


def test_clock_and_writes_of_a_postgres(bench: Bench[Target[Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(managed_server, "_RECOVERY_LIMIT_S", 4.0)
    target = bench.up(kind="postgres")
    subject = target.subject("postgres")

    def shift_s() -> float:
        [[shift]] = connection.execute("SELECT extract(epoch FROM now()) - %s", [time.time()])
        return float(shift)

    with session(target) as connection:
        options = ClockOptions(subject="postgres", by=HOUR, direction="backward")
        with applied(ClockStep(options, subject)):
            assert abs(shift_s() + 3600) < 3
        assert abs(shift_s()) < 3

        connection.execute("CREATE TABLE stored AS SELECT 1 AS x")
        full = StorageFaultOptions(subject="postgres", error="ENOSPC", directory="base")
        fault = FailingWrites(full, subject)
        with applied(fault), pytest.raises(psycopg.errors.DiskFull, match="could not extend file"):
            connection.execute("CREATE TABLE lost AS SELECT repeat('x', 100) FROM generate_series(1, 9999)")
        assert fault.counts()["failed"] >= 1
        connection.execute("CREATE TABLE written AS SELECT 1")

    with (
        applied(FailingFlushes(StorageFaultOptions(subject="postgres"), subject)),
        pytest.raises(psycopg.Error, match=r"could not fdatasync file|closed the connection"),
        session(target) as connection,
    ):
        connection.execute("INSERT INTO stored VALUES (2)")
    with session(target) as connection:
        assert connection.execute("SELECT count(*) FROM stored WHERE x = 1").fetchall() == [(1,)]
        connection.execute("INSERT INTO stored VALUES (3)")
