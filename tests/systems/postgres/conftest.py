"""Targets on real servers, each with a separate work directory, and a small data set to fill them with."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from loadcell.systems.base import DataSpec, ServerEndpoint, TargetContext
from loadcell.systems.postgres.options import PostgresOptions
from loadcell.systems.postgres.target import Postgres
from servers import PostgresServer
from systems.bench import Bench, open_directory, temporary

ROWS = 500
DATA = DataSpec({"small": {"rows": ROWS}})
OTHER = DataSpec({"small": {"rows": ROWS, "other": True}})


def session(endpoint: ServerEndpoint) -> psycopg.Connection[Any]:
    """A connection as the load makes it: to where the endpoint says, in its way."""
    return psycopg.connect(
        host=endpoint.socket.rpartition("/")[0] if endpoint.socket else endpoint.host,
        port=endpoint.port,
        user=endpoint.user,
        password=endpoint.password and endpoint.password.get_secret_value(),
        dbname=endpoint.database,
        options=endpoint.options,
        sslmode=endpoint.sslmode,
        autocommit=True,
    )


def load(endpoint: ServerEndpoint) -> int:
    """Fills a data set as the engine would: two tables, one with a sequence."""
    with session(endpoint) as connection:
        connection.execute("CREATE TABLE sbtest1 (id serial PRIMARY KEY, k int NOT NULL)")
        connection.execute("INSERT INTO sbtest1 (k) SELECT n FROM generate_series(1, %s) n", [ROWS])
        connection.execute("CREATE TABLE sbtest2 AS SELECT id, k FROM sbtest1")
    return 2 * ROWS


def query(target: Postgres, statement: str) -> list[tuple[Any, ...]]:
    """Rows that the load would get, on the prepared data set."""
    with session(target.endpoint()) as connection:
        cursor = connection.execute(statement)
        return list(cursor.fetchall()) if cursor.description else []


def make(context: TargetContext, **options: Any) -> Postgres:
    if options.get("server") != "external":  # nobody waits for a disk here
        options["settings"] = {"fsync": "off", **options.get("settings", {})}
    return Postgres(PostgresOptions(**options), context)


@pytest.fixture
def bench() -> Iterator[Bench[Postgres]]:
    with temporary(make) as bench:
        yield bench


@pytest.fixture
def another_directory(bench: Bench[Postgres]) -> Path:
    """A place outside the work directory, as a plan may name for the data."""
    path = bench.work.parent / "another"
    path.mkdir(mode=0o755)
    return path


@pytest.fixture(scope="module")
def _one_directory() -> Iterator[Path]:
    made = Bench(open_directory(), make)
    yield made.work
    shutil.rmtree(made.work, ignore_errors=True)


@pytest.fixture
def shared(_one_directory: Path) -> Iterator[Bench[Postgres]]:
    """A bench on a data directory shared by the tests of a module: quicker, as `initdb` is run once."""
    made = Bench(_one_directory, make)
    yield made
    for target in made.made:
        target.down()


@pytest.fixture(scope="module")
def embedded() -> Iterator[Postgres]:
    """One embedded server for tests that leave it as it is."""
    made = Bench(open_directory(), make)
    yield made.up(settings={"shared_buffers": "48MB", "fsync": False, "synchronous_commit": "off"})
    made.made[0].destroy()
    shutil.rmtree(made.work, ignore_errors=True)


@pytest.fixture(scope="session")
def standing() -> Iterator[PostgresServer]:
    """A server that is not loadcell's, with roles of different rights; passwords are `<role>-secret`."""
    hba = [
        "local all postgres trust",
        "host all postgres 127.0.0.1/32 trust",
        "host all tlsonly 127.0.0.1/32 reject",
        "host all all 127.0.0.1/32 scram-sha-256",
    ]
    with PostgresServer(hba=hba) as server:
        for role, rights in {"maker": "CREATEDB", "plain": "", "poor": "", "tlsonly": ""}.items():
            server.sql(f"CREATE ROLE {role} LOGIN PASSWORD '{role}-secret' {rights}")
            server.sql(f"CREATE DATABASE {role}")
        server.sql("GRANT CREATE ON DATABASE plain TO plain")
        yield server


@pytest.fixture
def external(bench: Bench[Postgres], standing: PostgresServer) -> Iterator[Callable[..., Postgres]]:
    """Targets on the standing server, for one of its roles; what they and the tests made is removed."""

    def of(role: str, **options: Any) -> Postgres:
        bench.env[f"PW_{role}"] = f"{role}-secret"
        dsn = f"postgresql://{role}@{standing.host}:{standing.port}/{role}"
        return bench.target(server="external", dsn=dsn, password=f"${{env:PW_{role}}}", **options)

    yield of
    for target in bench.made:
        target.destroy()
    for (name,) in standing.sql("SELECT datname FROM pg_database WHERE datname LIKE 'loadcell%'"):
        standing.sql(f"DROP DATABASE {name}")
    standing.sql("DROP SCHEMA IF EXISTS loadcell CASCADE", database="plain")
