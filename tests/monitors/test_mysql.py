"""The monitor `mysql` on real servers, MariaDB and MySQL 8: its rows match what was done to them."""

from __future__ import annotations

import os
import platform
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from engine.loads import MS, prepare, run
from loadcell.model.trial_record import MonitorRecord
from loadcell.monitors.base import MonitorContext, Row
from loadcell.systems.base import Secret
from loadcell.systems.mysql.connection import Address, Observed
from loadcell.systems.mysql.monitor import MysqlMonitor, MysqlMonitorOptions, queries
from loadcell.systems.mysql.monitor.samples import text_of, wait_of
from mariadb import MariadbServer
from mysql8 import MysqlServer

PATIENCE_S = 60.0
OPEN: list[Watch] = []
INIT = (
    "CREATE DATABASE IF NOT EXISTS d;\n"
    "CREATE TABLE IF NOT EXISTS d.t (id INT PRIMARY KEY, v VARCHAR(9000));\n"
    "REPLACE INTO d.t VALUES (1, '0'), (2, '0');\n"
    "CREATE USER IF NOT EXISTS plain@'%' IDENTIFIED BY 'secret';\nGRANT ALL ON d.* TO plain@'%';"
)
MYSQL8 = pytest.mark.skipif(
    platform.machine() != "x86_64" and not os.environ.get("CI"),
    reason="the package with a MySQL 8 has programs for x86-64 alone",
)


class Watch:
    """A monitor of one server, sampled by hand."""

    def __init__(self, server: MariadbServer, user: str = "test", **options: Any) -> None:
        address = Address(server.host, server.port, user, password=Secret("secret"), sslmode="disable")
        pid = server.pid
        context = MonitorContext(roots=lambda: [pid], observed=Observed(address, "d"))
        self.monitor = MysqlMonitor(MysqlMonitorOptions(**options), context)
        self.rows: list[Row] = []
        self.further: dict[str, list[Row]] = {}
        self.events: list[Row] = []
        OPEN.append(self)
        self.sample()

    def sample(self) -> Row | None:
        return self._keep(self.monitor.sample(1.0))

    def finish(self) -> MonitorRecord:
        self._keep(self.monitor.finish(1.0))
        self.monitor.close()
        return self.monitor.account()

    def _keep(self, rows: list[Row]) -> Row | None:
        self.rows += rows
        for table, further in self.monitor.further_rows().items():
            assert all(set(row) <= set(self.monitor.tables[table].columns) for row in further)
            self.further.setdefault(table, []).extend(further)
        assert all(set(row) <= set(self.monitor.table.columns) for row in rows)
        self.events += self.monitor.events()
        return rows[0] if rows else None

    def until(self, condition: Callable[[Row], Any]) -> Row:
        """Sample until a row fulfils the condition: InnoDB refreshes its transactions at intervals."""
        deadline = time.monotonic() + PATIENCE_S
        while not ((row := self.sample()) and condition(row)):
            assert time.monotonic() < deadline, self.rows[-3:]
            time.sleep(0.15)
        return row

    def total(self, column: str) -> float:
        return sum(row.get(column) or 0 for row in self.rows)

    def waits(self) -> Counter[tuple[str, str]]:
        result: Counter[tuple[str, str]] = Counter()
        for row in self.further.get("waits", []):
            result[row["wait_event_type"], row["wait_event"]] += row["sessions"]
        return result

    def notes(self) -> set[str]:
        return {note["note"] for note in self.monitor.account().notes or ()}


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while OPEN:
        OPEN.pop().monitor.close()


@pytest.fixture(scope="module", params=["mariadb", pytest.param("mysql8", marks=MYSQL8)])
def server(request: pytest.FixtureRequest) -> Iterator[MariadbServer]:
    kind = MariadbServer if request.param == "mariadb" else MysqlServer
    with kind({"performance_schema": "ON"}, init=INIT) as started:
        yield started


def test_counters_match_the_work(server: MariadbServer) -> None:
    watch = Watch(server)
    with server.connect("d") as connection, connection.cursor() as cursor:
        for number in range(50):
            cursor.execute("BEGIN")
            cursor.execute("UPDATE t SET v = %s WHERE id = 1", [str(number)])
            cursor.execute("COMMIT")
        cursor.execute("BEGIN")
        cursor.execute("ROLLBACK")
    watch.until(lambda _: watch.total("wal_requests") and watch.total("commits") >= 50)
    record = watch.finish()
    assert (watch.total("commits"), watch.total("rollbacks")) == (50, 1)
    assert watch.total("statements") >= 150
    assert watch.total("wal_requests") > 0
    assert watch.total("blocks_hit") > 50
    last = watch.rows[-1]
    assert last["checkpoint_age_bytes"] >= 0
    assert last["history_list"] is not None
    assert record.server_cpu_s is not None
    assert (record.connects, record.questions > 5) == (1, True)


def test_row_lock_wait_and_idle_transaction_are_seen(server: MariadbServer) -> None:
    holder, waiter = server.connect("d"), server.connect("d")
    watch = Watch(server)
    holder.begin()
    holder.query("UPDATE t SET v = 'held' WHERE id = 2")
    waiting = threading.Thread(target=lambda: waiter.query("UPDATE t SET v = 'late' WHERE id = 2"))
    waiting.start()
    try:
        row = watch.until(lambda row: row["lock_waits"])
        assert row["blocking_transactions"] == 1
        assert row["sessions"] == 2
        watch.until(lambda row: row["sessions_idle_in_transaction"] == 1)
        watch.until(lambda row: row["longest_statement_s"] >= 1)
    finally:
        holder.rollback()
        waiting.join(PATIENCE_S)
        holder.close()
        waiter.close()
    assert watch.waits()["Lock", "row"] >= 1
    watch.until(lambda _: watch.total("row_lock_waits") == 1)


def test_statements_have_no_constants(server: MariadbServer) -> None:
    watch = Watch(server, statements=5)
    secret = "hunter2-" + "x" * 5000
    with server.connect("d") as connection, connection.cursor() as cursor:
        for number in range(20):
            cursor.execute("SELECT v FROM t WHERE id = %s AND v <> %s", [number, secret])
        cursor.execute("SELECT " + ", ".join(f"id + {number}" for number in range(2000)) + " FROM t")
        cursor.execute(b"SELECT COUNT(*) FROM t WHERE v = _binary '\xff\xfe\x00'")
        cursor.execute("CREATE TABLE IF NOT EXISTS s (c VARCHAR(20) DEFAULT 'hunter2-')")
        cursor.execute("SET @password = 'hunter2-secret'")
    watch.finish()
    rows = watch.further["statements"]
    assert 1 <= len(rows) <= 5
    assert all("hunter2" not in row["query"] and len(row["query"]) <= 500 for row in rows)
    assert sum(row["calls"] for row in rows if "v" in row["query"]) >= 1
    assert sum(row["share"] for row in rows) <= 1.0001


def test_executions_of_prepared_statements_are_counted(server: MariadbServer) -> None:
    watch = Watch(server)
    account = prepare(server.endpoint("d"), {"tables": 1, "table_size": 100})
    assert account["rows"] == 100
    load = {"tables": 1, "table_size": 100, "script": "oltp_point_select"}
    result = run(server.endpoint("d"), load, clients=2, duration_ns=200 * MS)
    server.sql("DROP TABLE sbtest1", database="d")
    watch.finish()
    calls = sum(row["calls"] for row in watch.further["statements"] if row["query"] == "EXECUTE …")
    transactions = result["lifetime"]["operations"]["transaction"]
    assert calls == pytest.approx(transactions, abs=2), watch.further["statements"]
    assert "mysql-executions" in watch.notes()


def test_user_without_process_right_gets_counters_and_a_note(server: MariadbServer) -> None:
    watch = Watch(server, user="plain")
    server.sql("SELECT 1")
    watch.until(lambda row: row["statements"])
    watch.finish()
    assert watch.total("statements") > 0
    assert "mysql-others-hidden" in watch.notes()


def test_killed_session_is_noted_and_opened_again(server: MariadbServer) -> None:
    watch = Watch(server)
    [(session,)] = server.sql(
        "SELECT MAX(id) FROM information_schema.processlist WHERE user = 'test' AND db IS NULL "
        "AND id <> CONNECTION_ID()"
    )
    server.sql(f"KILL {session}")
    deadline = time.monotonic() + PATIENCE_S
    while [event["what"] for event in watch.events] != ["lost", "back"]:
        assert time.monotonic() < deadline, watch.events
        watch.sample()
        time.sleep(0.2)
    assert "lost" in watch.notes()


def test_server_that_is_gone_and_has_performance_schema_off() -> None:
    with MariadbServer({"performance_schema": "OFF"}, init=INIT) as server:
        watch = Watch(server)
        server.sql("SELECT v FROM t", database="d")
        watch.until(lambda row: row["statements"])
        assert "mysql-statements-off" in watch.notes()
        assert "statements" not in watch.further
        server.kill()
        for _ in range(3):
            watch.sample()
        assert [event["what"] for event in watch.events] == ["lost"]
        assert {"lost", "not-connected"} >= watch.notes() - {"mysql-executing", "mysql-statements-off"}


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("Waiting for table metadata lock", "Lock"),
        ("Waiting for table level lock", "Lock"),
        ("Waiting for global read lock", "Lock"),
        ("Waiting for commit lock", "Lock"),
        ("Waiting for backup lock", "Lock"),
        ("Waiting for query cache lock", "Lock"),
        ("Waiting for table flush", "Lock"),
        ("Waiting for tables", "Lock"),
        ("Flushing tables", "Lock"),
        ("System lock", "Lock"),
        ("User lock", "Lock"),
        ("Commit", "Commit"),
        ("Waiting for prior transaction to commit", "Commit"),
        ("waiting for handler commit", "Commit"),
        ("Waiting for semi-sync ACK from slave", "Commit"),
        ("Waiting for dependent transaction to commit", "Commit"),
        ("Writing to net", "Client"),
        ("Copying to tmp table on disk", "IO"),
        ("Waiting for work from SQL thread", "Wait"),
        ("Sending data", "CPU"),
        ("Updating", "CPU"),
        ("Unlocking tables", "CPU"),
        ("", "CPU"),
    ],
)
def test_state_has_a_class(state: str, expected: str) -> None:
    assert wait_of(state, row_lock=False)[0] == expected
    assert wait_of(state, row_lock=True) == ("Lock", "row")


def test_text_that_is_no_utf8_is_shown() -> None:
    assert text_of(b"SELECT `\xff` FROM t\x00") == "SELECT `\ufffd` FROM t"
    assert text_of(b"SET PASSWORD FOR `u` = 'hunter2'") == "SET PASSWORD …"
    assert len(text_of("SELECT " + "a" * 10_000)) == 500


def test_checkpoints_are_counted_when_the_log_moves_on(server: MariadbServer) -> None:
    watch = Watch(server)
    assert watch.until(lambda row: row["checkpoints"] is not None)
    with server.connect("d") as connection, connection.cursor() as cursor:
        for name in ("innodb_max_dirty_pages_pct_lwm", "innodb_max_dirty_pages_pct"):
            cursor.execute(f"SET GLOBAL {name} = 0")  # pages are flushed at once

        def written(_: Row) -> bool:
            cursor.execute("UPDATE t SET v = CONCAT(v, 'x') WHERE id = 1")
            connection.commit()
            return watch.total("checkpoints") >= 1

        watch.until(written)
    assert {row["checkpoints"] for row in watch.rows} <= {0, 1}


def test_checkpoint_from_engine_status() -> None:
    status = "Log sequence number          1000\nLog flushed up to 990\nLast checkpoint at           400\n"
    assert queries.checkpoint(status) == (1000, 400)
    assert queries.checkpoint("nothing of the kind") is None


def test_link_refuses_without_losing_the_session(server: MariadbServer) -> None:
    link = queries.Link(server.connect("d"))
    with pytest.raises(queries.AnswerError, match="absent"):
        link.ask("SELECT * FROM absent")
    assert link.ask("SELECT 1") == [(1,)]
    link.close()
    with pytest.raises(queries.LinkError):
        link.ask("SELECT 1")
