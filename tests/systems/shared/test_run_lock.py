"""One run at a time on an external server: the second is refused with the name of the first."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from loadcell.execution.outcome import should_abort
from loadcell.model.trial_record import Status
from loadcell.systems.base import DataSet, DataSpec, Secret, Target, TargetContext, TargetError
from loadcell.systems.mysql.options import MysqlOptions
from loadcell.systems.mysql.target import Mysql
from loadcell.systems.postgres.connection import external
from loadcell.systems.postgres.options import PostgresOptions
from loadcell.systems.postgres.run_lock import AdvisoryLock
from loadcell.systems.postgres.target import Postgres
from loadcell.systems.redis.client import Client
from loadcell.systems.redis.connection import Address
from loadcell.systems.redis.keys import LOCK, KeyLock
from loadcell.systems.redis.options import RedisOptions
from loadcell.systems.redis.target import Redis
from loadcell.systems.shared.owner import (
    DOING_LOCK_THE_SERVER,
    SERVER_LOCK_UNKNOWN,
    SERVER_LOCKED,
    Owner,
)
from loadcell.systems.shared.server_errors import CONNECTION_NONE_LEFT
from mariadb import MariadbServer
from records import trial
from redis_server import RedisServer
from servers import PostgresServer
from systems.bench import open_directory
from systems.mysql import conftest as mysql
from systems.postgres import conftest as postgres
from systems.redis import conftest as redis

Make = Callable[[str], Target[Any]]


@pytest.fixture
def work() -> Iterator[Path]:
    directory = open_directory()
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="module")
def postgres_server() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        server.sql("CREATE ROLE plain LOGIN")
        server.sql("CREATE DATABASE plain")
        server.sql("GRANT CREATE ON DATABASE plain TO plain")
        yield server


@dataclass(frozen=True)
class Kind:
    """A maker of targets on a kind of server, by the name of their run; with a data set and its loader."""

    make: Make
    data: DataSpec
    load: Any

    def started(self, *runs: str) -> list[Target[Any]]:
        """A target of each of these runs, which is up."""
        targets = [self.make(run) for run in runs]
        for target in targets:
            target.up()
        return targets

    def prepare(self, target: Target[Any], *, will_change: bool = False) -> DataSet:
        return target.prepare(self.data, self.load, will_change=will_change)

    def refusal(self, target: Target[Any], message: str | None = None) -> TargetError:
        """The error of a target that does not get the lock."""
        with pytest.raises(TargetError, match=message) as refused:
            self.prepare(target)
        return refused.value


@pytest.fixture
def kinds(
    work: Path,
    postgres_server: PostgresServer,
    mariadb_server: MariadbServer,
    redis_server: RedisServer,
) -> dict[str, Kind]:
    """Every kind by its name."""

    def context(run: str) -> TargetContext:
        home = work / run / "target"
        home.mkdir(parents=True, exist_ok=True)
        return TargetContext(home, lambda _: None, str)

    def of_postgres(user: str) -> Make:
        where = f"{postgres_server.host}:{postgres_server.port}"
        dsn = f"postgresql://{user}@{where}/{user}"
        return lambda run: Postgres(PostgresOptions(server="external", dsn=dsn), context(run))

    def of_mysql(database: str) -> Make:
        url = mariadb_server.url(database)
        options = {"url": url, "password": mariadb_server.password, "sslmode": "disable"}
        return lambda run: Mysql(MysqlOptions(server="external", **options), context(run))

    def of_redis(run: str) -> Target[Any]:
        way = {"host": redis_server.host, "port": redis_server.port, "password": redis_server.password}
        return Redis(RedisOptions(server="external", **way), context(run))

    mariadb_server.sql("CREATE DATABASE IF NOT EXISTS locked")
    redis_server.ask("FLUSHALL")
    return {
        "postgres, databases": Kind(of_postgres("postgres"), postgres.DATA, postgres.load),
        "postgres, schema": Kind(of_postgres("plain"), postgres.DATA, postgres.load),
        "mysql, databases": Kind(of_mysql(""), mysql.DATA, mysql.load),
        "mysql, named database": Kind(of_mysql("locked"), mysql.DATA, mysql.load),
        "redis": Kind(of_redis, redis.DATA, redis.load),
    }


#: Ends the sessions that hold locks on a PostgreSQL.
END_LOCK_SESSIONS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'loadcell lock%'"
)
KINDS = (
    "postgres, databases", "postgres, schema", "mysql, databases", "mysql, named database", "redis"
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_the_second_run_is_refused_until_the_first_has_ended(kind: str, kinds: dict[str, Kind]) -> None:
    servers = kinds[kind]
    first, of_same_run, second = servers.started("first", "first", "second")
    assert servers.prepare(first).how == "loaded"
    assert servers.prepare(of_same_run).how == "reused", "one run, one lock"

    with pytest.raises(TargetError, match=rf"first \(process {os.getpid()} on ") as refused:
        servers.prepare(second, will_change=True)
    assert (refused.value.message.code, refused.value.during) == (SERVER_LOCKED.code, "prepare")
    second.destroy()
    assert servers.prepare(first).how == "reused", "its data are untouched"

    of_same_run.destroy()
    first.destroy()
    [again] = servers.started("second")
    assert servers.prepare(again).how == "loaded"
    again.destroy()


@pytest.mark.parametrize("kind", KINDS)
def test_runs_with_long_names_are_distinct_and_named_with_their_process(
    kind: str, kinds: dict[str, Kind]
) -> None:
    servers = kinds[kind]
    first, second = servers.started("long-" * 20 + "1", "long-" * 20 + "2")
    servers.prepare(first)
    refusal = servers.refusal(second, rf"long.* \(process {os.getpid()} on ")
    assert refusal.message.code == SERVER_LOCKED.code
    second.destroy()
    first.destroy()


def test_a_later_process_of_the_same_name_is_another_owner() -> None:
    owner = Owner.of(Path("/var/tmp/loadcell-0/run/postgres"))
    others = [replace(owner, pid=owner.pid + 1), replace(owner, started=1), replace(owner, host="elsewhere")]
    assert owner.lock_tag not in {other.lock_tag for other in others}
    assert owner.lock_tag == replace(owner).lock_tag


def test_a_lock_in_another_database_is_taken_only_for_want_of_the_common_one(
    work: Path, postgres_server: PostgresServer
) -> None:
    dsn = f"postgresql://plain@{postgres_server.host}:{postgres_server.port}/plain"
    address = external(dsn, password=None, database=None, sslmode=None, sslrootcert=None)
    lock = AdvisoryLock(address, Owner.of(work), of_server=True)

    def is_in(database: str) -> bool:
        return lock._session is not None and lock._session.info.dbname == database

    postgres_server.sql("ALTER DATABASE postgres CONNECTION LIMIT 0")
    try:
        with pytest.raises(TargetError) as refused:
            lock.hold()
    finally:
        postgres_server.sql("ALTER DATABASE postgres CONNECTION LIMIT -1")
    assert refused.value.message.code == CONNECTION_NONE_LEFT.code
    lock.hold()
    assert is_in("postgres")
    lock.release()

    postgres_server.sql("REVOKE CONNECT ON DATABASE postgres FROM PUBLIC")
    try:
        lock.hold()
        assert is_in("plain")
        lock.release()
    finally:
        postgres_server.sql("GRANT CONNECT ON DATABASE postgres TO PUBLIC")


def test_a_session_that_ended_is_replaced(postgres_server: PostgresServer, kinds: dict[str, Kind]) -> None:
    servers = kinds["postgres, databases"]
    [first] = servers.started("first")
    servers.prepare(first)
    postgres_server.sql(END_LOCK_SESSIONS)
    servers.prepare(first)
    [second] = servers.started("second")
    servers.refusal(second, "another loadcell run uses the server")
    assert "loadcell lock" not in str(first.counters()), "the lock's session is no session of the load"
    first.destroy()
    second.destroy()


@pytest.mark.parametrize("kind", KINDS[:4])
def test_a_lock_lost_between_two_trials_is_reported_once(
    kind: str, kinds: dict[str, Kind], postgres_server: PostgresServer, mariadb_server: MariadbServer
) -> None:
    servers = kinds[kind]
    [target] = servers.started("first")
    for _ in range(2):
        servers.prepare(target)
    assert target.intruder() is None
    if kind.startswith("postgres"):
        postgres_server.sql(END_LOCK_SESSIONS)
    else:
        name = "loadcell" if kind == "mysql, databases" else f"loadcell.{Owner.digest('locked')}"
        [(session,)] = mariadb_server.sql(f"SELECT IS_USED_LOCK('{name}')")
        mariadb_server.sql(f"KILL {session}")
    servers.prepare(target)
    assert "session with the lock had ended" in (target.intruder() or "")
    servers.prepare(target)
    assert target.intruder() is None
    target.destroy()


def test_a_run_that_died_on_this_machine_holds_no_key(
    work: Path, redis_server: RedisServer, kinds: dict[str, Kind]
) -> None:
    servers = kinds["redis"]
    dead = replace(Owner.of(work), started=1, run="dead")
    [target] = servers.started("first")
    elsewhere = replace(dead, host="elsewhere", boot="other", machine="other")
    container = replace(dead, namespace="pid:[1]")
    earlier = {name: getattr(dead, name) for name in ("host", "pid", "started", "run")}
    for owner in (asdict(elsewhere), asdict(container), earlier):
        redis_server.ask("SET", LOCK, json.dumps(owner))
        refusal = servers.refusal(target, re.escape(f"on {owner['host']})"))
        assert refusal.message.code == SERVER_LOCK_UNKNOWN.code
        where = f"redis-cli -h {redis_server.host} -p {redis_server.port} -n 0"
        assert "after 1 min: wait" in refusal.advice
        assert f"`{where} DEL loadcell:lock`" in refusal.advice
    redis_server.ask("SET", LOCK, json.dumps(asdict(dead)))
    assert servers.prepare(target).how == "loaded"
    assert 0 < int(redis_server.ask("TTL", LOCK)) <= 60
    target.destroy()
    assert not redis_server.ask("EXISTS", LOCK)


class Between:
    """A session in which another run takes the lock just before a command, once."""

    def __init__(self, session: Client, command: str, take: Callable[[], object]) -> None:
        self._session, self._command, self._take = session, command, take

    def ask(self, *words: Any) -> Any:
        return self.ask_all([words])[-1]

    def ask_all(self, commands: list[tuple[Any, ...]]) -> list[Any]:
        if commands[0][0] == self._command:
            self._command = ""
            self._take()
        return self._session.ask_all(commands)


def test_of_two_runs_that_take_a_dead_runs_key_one_gets_it(work: Path, redis_server: RedisServer) -> None:
    ours = Owner.of(work / "a" / "redis")
    dead, other = (
        json.dumps(asdict(replace(ours, started=start, run="/b/redis"))) for start in (1, ours.started)
    )
    with key_lock(ours, redis_server) as (lock, session):
        redis_server.ask("SET", LOCK, dead)
        holder = lock._take(Between(session, "MULTI", lambda: redis_server.ask("SET", LOCK, other)))
        assert (holder, redis_server.ask("GET", LOCK)) == (other, other)
        redis_server.ask("SET", LOCK, dead)
        assert lock._take(session) == lock._value == redis_server.ask("GET", LOCK)


def test_a_renewal_takes_no_key_of_another_run(work: Path, redis_server: RedisServer) -> None:
    with key_lock(Owner.of(work), redis_server) as (lock, session):
        redis_server.ask("DEL", LOCK)
        lock._renew_once(Between(session, "SET", lambda: redis_server.ask("SET", LOCK, "other")))
        assert redis_server.ask("GET", LOCK) == "other"
        assert (lock.intruder(), lock.intruder()) == ("'other'", None)
        redis_server.ask("DEL", LOCK)
        lock._renew_once(session)
        assert redis_server.ask("GET", LOCK) == lock._value
        assert lock.intruder() is None
        redis_server.ask("SET", LOCK, "other")
        lock._renew_once(session)
        assert lock.intruder() == "'other'"


def test_a_release_removes_no_key_of_another_run(work: Path, redis_server: RedisServer) -> None:
    with key_lock(Owner.of(work), redis_server) as (lock, _):
        redis_server.ask("DEL", LOCK)
        lock.hold()
        redis_server.ask("SET", LOCK, "other")
        lock.release()
        assert redis_server.ask("GET", LOCK) == "other"


@pytest.mark.parametrize("kind", KINDS)
def test_a_target_of_a_run_does_not_free_the_lock_that_another_needs(
    kind: str, kinds: dict[str, Kind]
) -> None:
    servers = kinds[kind]
    first, of_same_run, second = (servers.make(run) for run in ("first", "first", "second"))
    of_same_run.context = first.context
    for target in (first, of_same_run, second):
        target.up()
    servers.prepare(first)
    servers.prepare(of_same_run)
    first.destroy()
    assert servers.refusal(second).message.code == SERVER_LOCKED.code
    of_same_run.destroy()
    assert servers.prepare(second).how == "loaded"
    second.destroy()


@contextmanager
def key_lock(owner: Owner, server: RedisServer) -> Iterator[tuple[KeyLock, Any]]:
    address = Address(server.host, server.port, password=Secret(server.password))
    with address.session(DOING_LOCK_THE_SERVER(), during="prepare") as session:
        yield KeyLock(address, owner), session
    server.ask("DEL", LOCK)


def test_a_refused_run_ends_at_once() -> None:
    for code in (SERVER_LOCKED.code, SERVER_LOCK_UNKNOWN.code):
        refused = trial(status=Status.FAILED, reason="in use", reason_code=code)
        assert should_abort([trial(), refused]) is not None
    assert should_abort([trial(status=Status.FAILED, reason="other", reason_code="other")]) is None
