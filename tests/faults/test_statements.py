"""Faults by statements, on a PostgreSQL."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from loadcell.faults import statement_fault
from loadcell.faults.base import EndedEarlyError, FaultError
from loadcell.faults.checkpoint import Checkpoint
from loadcell.faults.full_scan import FullScan, FullScanOptions
from loadcell.faults.long_transaction import LongTransaction
from loadcell.faults.statement_fault import StatementFault
from loadcell.faults.terminate_backends import TerminateBackends
from loadcell.model.message import MessageError
from loadcell.plan.parts import SubjectOptions
from loadcell.systems.base import TargetError
from loadcell.systems.postgres import statements
from loadcell.systems.postgres.connection import FAULT_APPLICATION, Address
from loadcell.systems.shared.server_errors import DOING_EXECUTE_STATEMENTS
from loadcell.systems.subjects import RunStatement, Subject
from servers import PostgresServer

OPTIONS = SubjectOptions(subject="postgres")


@pytest.fixture
def database(postgres_server: PostgresServer) -> Iterator[str]:
    """A database of a superuser, with two tables."""
    with psycopg.connect(postgres_server.dsn(), autocommit=True) as administration:
        administration.execute("CREATE DATABASE broken")
        with psycopg.connect(postgres_server.dsn("broken"), autocommit=True) as connection:
            connection.execute('CREATE TABLE "My Table" AS SELECT * FROM generate_series(1, 1000) x')
            connection.execute("CREATE VIEW seen AS SELECT 1")
        yield "broken"
        administration.execute("DROP DATABASE broken WITH (FORCE)")


def subject(server: PostgresServer, database: str) -> Subject:
    """An external server."""
    address = Address(server.host, server.port, "postgres", database)

    @contextlib.contextmanager
    def session() -> Iterator[RunStatement]:
        doing = DOING_EXECUTE_STATEMENTS()
        with address.session(doing, during="load", application=FAULT_APPLICATION) as connection:
            yield lambda statement: statements.execute(connection, statement, doing, "load")

    return Subject("postgres", lambda: (), session=session)


def terminate(server: PostgresServer, query: str) -> None:
    """End the session of a fault whose last statement is like that, as an administrator does."""
    deadline = time.monotonic() + 10
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        while not (
            ended := connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = %s AND query LIKE %s",
                [FAULT_APPLICATION, query],
            ).fetchall()
        ):
            assert time.monotonic() < deadline, "it comes to that statement"
            time.sleep(0.01)
        assert len(ended) == 1


def lives(connection: psycopg.Connection[Any]) -> bool:
    try:
        connection.execute("SELECT 1")
    except psycopg.Error:
        return False
    return True


def test_only_sessions_of_the_load_are_terminated(postgres_server: PostgresServer, database: str) -> None:
    with contextlib.ExitStack() as opened:

        def connected(where: str, **words: str) -> psycopg.Connection[Any]:
            return opened.enter_context(
                contextlib.closing(psycopg.connect(postgres_server.dsn(where), autocommit=True, **words))
            )

        administration = connected("postgres")
        administration.execute("CREATE ROLE somebody SUPERUSER LOGIN")
        opened.callback(administration.execute, "DROP ROLE somebody")
        load = connected(database, application_name="loadcell")
        others = [
            administration,
            connected(database, user="somebody"),
            connected(database, application_name="loadcell monitor"),
        ]
        transaction = LongTransaction(OPTIONS, subject(postgres_server, database))
        transaction.apply()
        fault = TerminateBackends(OPTIONS, subject(postgres_server, database))
        fault.apply()
        assert not lives(load)
        assert all(map(lives, others))
        transaction.restore()
        with pytest.raises(FaultError, match="no connection of the load"):
            fault.apply()


def test_no_transaction_begins_after_the_fault_was_abandoned(
    postgres_server: PostgresServer, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that stalls before its first answer, and comes back."""
    monkeypatch.setattr(statement_fault, "_ANSWER_SLACK_S", -9.8)
    stalled, ended = threading.Event(), threading.Event()
    real = LongTransaction.open_session

    @contextlib.contextmanager
    def slow(fault: LongTransaction, limit_s: float = 10.0) -> Iterator[RunStatement]:
        with real(fault, limit_s) as execute:
            stalled.wait(10)
            yield execute
        ended.set()

    monkeypatch.setattr(LongTransaction, "open_session", slow)
    fault = LongTransaction(OPTIONS, subject(postgres_server, database))
    with pytest.raises(FaultError):
        fault.apply()
    fault.restore()
    stalled.set()
    assert ended.wait(10)
    assert fault._execute is None
    counted = "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in%'"
    assert postgres_server.sql(counted) == [(0,)]


@pytest.mark.parametrize("name", ["long-transaction", "full-scan"])
def test_an_early_end_is_an_error(postgres_server: PostgresServer, database: str, name: str) -> None:
    fault: StatementFault[Any]
    if name == "full-scan":
        fault = FullScan(FullScanOptions(subject="postgres"), subject(postgres_server, database))
    else:
        fault = LongTransaction(OPTIONS, subject(postgres_server, database))
    fault.apply()
    terminate(postgres_server, "SELECT txid%" if name == "long-transaction" else "SELECT count%")
    time.sleep(0.2)
    with pytest.raises(EndedEarlyError, match="ended before its time"):
        fault.restore()


@pytest.mark.parametrize("table", [None, "My Table", '"My Table"', 'public."My Table"'])
def test_a_table_is_read_until_the_end(
    postgres_server: PostgresServer, database: str, table: str | None
) -> None:
    fault = FullScan(FullScanOptions(subject="postgres", table=table), subject(postgres_server, database))
    fault.apply()
    fault.restore()
    assert not fault._thread.is_alive()


@pytest.mark.parametrize("table", ["nosuch", "seen", 'x\'; DROP TABLE "My Table"'])
def test_what_is_no_table_is_not_read(postgres_server: PostgresServer, database: str, table: str) -> None:
    fault = FullScan(FullScanOptions(subject="postgres", table=table), subject(postgres_server, database))
    with pytest.raises(MessageError):
        fault.apply()
    fault.restore()


def test_a_server_that_hangs_delays_no_other_fault(
    postgres_server: PostgresServer, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loadcell.faults.statement_fault._ANSWER_SLACK_S", 0.1)
    fault = Checkpoint(OPTIONS, subject(postgres_server, database))
    with pytest.raises(FaultError, match="did not answer a statement"):
        fault.answered(lambda: time.sleep(60), limit_s=0.1)
    with fault.open_session(0.1) as execute, pytest.raises(TargetError, match="timeout"):
        execute("SELECT pg_sleep(60)")
    fault.apply()
