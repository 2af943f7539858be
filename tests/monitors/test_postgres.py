"""The PostgreSQL monitor on real servers: what it says of them is what was done to them."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from loadcell.model.trial_record import MonitorRecord
from loadcell.monitors.base import MonitorContext, Row
from loadcell.plan.units import Rate
from loadcell.systems.postgres import binaries
from loadcell.systems.postgres.connection import Address, Observed
from loadcell.systems.postgres.monitor import PostgresMonitor, PostgresMonitorOptions, queries
from loadcell.systems.postgres.monitor.queries import APPLICATION
from loadcell.systems.shared.server_samples import grown
from loadcell.systems.shared.statement_text import shown
from servers import PostgresServer, debian_postgres

PATIENCE_S = 60.0
OPEN: list[Watch] = []
LOAD = "CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL DEFAULT 0)"


class Watch:
    """A monitor of one server, asked by hand."""

    def __init__(
        self, server: PostgresServer, *, managed: bool = True, user: str = "postgres", database: str = "load",
        dsn_database: str = "postgres", options: PostgresMonitorOptions | None = None,
    ) -> None:  # fmt: skip
        address = Address(server.host, server.port, user, dsn_database, sslmode="disable")
        observed = Observed(address, database, managed, None)
        context = MonitorContext(roots=lambda: [server.pid], observed=observed)
        self.monitor = PostgresMonitor(options or PostgresMonitorOptions(), context)
        self.rows: list[Row] = []
        self.further: dict[str, list[Row]] = {}
        self.events: list[Row] = []
        OPEN.append(self)
        self.sample()

    def sample(self) -> None:
        self._keep(self.monitor.sample(1.0))

    def finish(self) -> MonitorRecord:
        self._keep(self.monitor.finish(1.0))
        self.monitor.close()
        return self.monitor.account()

    def _keep(self, rows: list[Row]) -> None:
        self.rows += rows
        for table, managed in self.monitor.further_rows().items():
            self.further.setdefault(table, []).extend(managed)
        self.events += self.monitor.events()

    def until(self, condition: Callable[[], Any], why: str) -> Any:
        """Sample until `condition` gives something: sessions report their counters a moment later."""
        deadline = time.monotonic() + PATIENCE_S
        while not (result := condition()):
            assert time.monotonic() < deadline, f"waited in vain for {why}"
            time.sleep(0.05)
            self.sample()
        return result

    def total(self, column: str) -> float:
        return sum(row[column] or 0 for row in self.rows)

    def waits(self) -> Counter[tuple[str, str]]:
        result: Counter[tuple[str, str]] = Counter()
        for row in self.further.get("waits", []):
            result[row["wait_event_type"], row["wait_event"]] += row["sessions"]
        return result

    def notes(self) -> set[str]:
        return {note["note"] for note in self.monitor.account().notes or ()}


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    """Whatever a test watched is let go of."""
    yield
    while OPEN:
        OPEN.pop().monitor.close()


def bins() -> dict[str, Path]:
    return {
        "debian": debian_postgres(),
        "16": binaries.embedded().directory.parents[1] / "pginstall" / "bin",
        "18": binaries.embedded().directory,
    }


@pytest.fixture(scope="module", params=["debian", "16", "18"])
def running(request: pytest.FixtureRequest) -> Iterator[PostgresServer]:
    """A server of each version there is here. Checkpoints happen when a test asks for one."""
    settings = {"checkpoint_timeout": "1d"}
    if request.param == "debian":
        settings["shared_preload_libraries"] = "pg_stat_statements"
    with PostgresServer(_reachable(bins()[request.param]), settings) as started:
        started.sql("CREATE DATABASE load")
        started.sql(LOAD, database="load")
        started.sql("INSERT INTO t (id) SELECT generate_series(1, 100)", database="load")
        yield started


@pytest.fixture
def server(running: PostgresServer) -> PostgresServer:
    """The same, with no session of an earlier test left."""
    until_left(running)
    return running


def _reachable(directory: Path) -> Path:
    """Binaries that the server's user can read, where tests are run by root from a closed directory."""
    from loadcell.systems.shared import account

    who = account.choose(None, product="PostgreSQL", kind="postgres")
    result = binaries.usable_by(binaries.local(str(directory), None), who)
    return result.directory


def session(server: PostgresServer, database: str = "load") -> psycopg.Connection[Any]:
    return psycopg.connect(server.dsn(database), autocommit=True)


@contextmanager
def background(connection: psycopg.Connection[Any], statement: str) -> Iterator[None]:
    """A statement under way while the block lasts; its end, also by being cancelled, is waited for."""

    def run() -> None:
        with suppress(psycopg.errors.QueryCanceled):
            connection.execute(statement)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    yield
    thread.join()


def commits(server: PostgresServer) -> int:
    return int(server.sql("SELECT xact_commit FROM pg_stat_database WHERE datname = 'load'")[0][0])


def until_left(server: PostgresServer) -> None:
    """Wait for the sessions on the load's database to end: each reports its last counters before."""
    deadline = time.monotonic() + PATIENCE_S
    while server.sql("SELECT 1 FROM pg_stat_activity WHERE datname = 'load'"):
        assert time.monotonic() < deadline


def until_asleep(server: PostgresServer) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not server.sql("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"):
        assert time.monotonic() < deadline


def test_counts_are_what_the_server_did(server: PostgresServer) -> None:
    before = commits(server)
    watch = Watch(server)
    with session(server) as connection:
        for n in range(40):
            connection.execute("INSERT INTO t (id) VALUES (%s)", [1000 + n])
        connection.execute("UPDATE t SET v = v + 1 WHERE id >= 1000")
        with connection.transaction(force_rollback=True):
            connection.execute("DELETE FROM t WHERE id = 1")
        connection.execute("DELETE FROM t WHERE id >= 1000")
    until_left(server)
    after = commits(server)
    watch.sample()
    assert watch.total("tuples_inserted") == 40
    assert watch.total("tuples_updated") == 40
    assert watch.total("tuples_deleted") == 41
    assert watch.total("commits") == after - before, "none of them is the monitor's own"
    assert after - before >= 42
    assert watch.total("rollbacks") == 1
    assert watch.total("deadlocks") == 0
    assert watch.total("wal_bytes") > 40 * 50
    account = watch.finish()
    assert account.connects == 1
    assert account.questions >= 3
    assert account.server_cpu_s is not None
    assert account.server_cpu_s >= 0


def test_a_lock_wait_is_seen_as_what_it_is(server: PostgresServer) -> None:
    watch = Watch(server)
    with session(server) as holder, session(server) as waiter:
        holder.execute("BEGIN")
        holder.execute("UPDATE t SET v = v + 1 WHERE id = 1")
        with background(waiter, "UPDATE t SET v = v + 1 WHERE id = 1"):
            watch.until(lambda: watch.waits()["Lock", "transactionid"] >= 3, "the wait")
            last = watch.rows[-1]
            assert last["sessions_active"] == 1
            assert last["sessions_idle_in_transaction"] == 1
            assert last["sessions"] == 2
            holder.execute("COMMIT")
    watch.finish()


def test_a_session_that_waits_for_nothing_runs(server: PostgresServer) -> None:
    watch = Watch(server)
    with session(server) as worker, background(worker, "SELECT count(*) FROM generate_series(1, 300000000)"):
        watch.until(lambda: watch.waits()["CPU", "CPU"] >= 3, "a session at work")
        worker.cancel_safe()
    watch.finish()


def test_sessions_elsewhere_and_the_monitors_own_are_not_the_loads(server: PostgresServer) -> None:
    watch = Watch(server)
    with session(server, "postgres") as other, background(other, "SELECT pg_sleep(600)"):
        watch.until(lambda: any(row["other_sessions_active"] for row in watch.rows), "the other session")
        other.cancel_safe()
    assert all(row["sessions"] == 0 for row in watch.rows)
    assert not watch.waits()
    names = server.sql(
        "SELECT backend_type FROM pg_stat_activity WHERE application_name = '" + APPLICATION + "'"
    )
    assert names == [("walsender",)], "it takes none of max_connections"
    watch.finish()


def test_a_checkpoint_is_an_event_with_its_reason_and_its_price(server: PostgresServer) -> None:
    watch = Watch(server)
    assert not watch.events
    server.sql("UPDATE t SET v = v + 1", database="load")
    server.sql("CHECKPOINT")
    watch.until(
        lambda: [event for event in watch.events if event["event"] == "checkpoint-end"], "the checkpoint"
    )
    begun = [event for event in watch.events if event["event"] == "checkpoint"]
    ended = [event for event in watch.events if event["event"] == "checkpoint-end"]
    assert [event["reason"] for event in begun] == ["requested"]
    assert len(ended) == 1
    assert ended[0]["buffers"] > 0
    assert watch.total("checkpoints_requested") == 1
    watch.finish()


def test_io_is_counted_by_who_did_it(server: PostgresServer) -> None:
    watch = Watch(server)
    with session(server) as connection:
        connection.execute("CREATE TABLE big AS SELECT n, repeat('x', 500) FROM generate_series(1, 20000) n")
        connection.execute("DROP TABLE big")
        version = connection.info.server_version
    if version < 160000:
        watch.until(lambda: watch.total("blocks_hit") > 0, "its figures")
        assert not watch.further.get("io")
        return
    managed = watch.until(
        lambda: [
            row
            for row in watch.further.get("io", [])
            if row["backend_type"] == "client backend" and row["extends"]
        ],
        "its I/O",
    )
    assert managed[0]["object"] == "relation"
    assert sum(row["write_bytes"] for row in managed) >= 20000 * 500
    watch.finish()


def test_waits_can_be_looked_at_more_often_than_counters(server: PostgresServer) -> None:
    watch = Watch(server, options=PostgresMonitorOptions(wait_rate=Rate(10)))
    assert watch.monitor.interval_ns == 100_000_000
    with session(server) as sleeper, background(sleeper, "SELECT pg_sleep(600)"):
        until_asleep(server)
        for _ in range(20):
            watch.sample()
        sleeper.cancel_safe()
    assert [row["looks"] for row in watch.rows] == [10, 10]
    asleep = [row for row in watch.further["waits"] if row["wait_event"] == "PgSleep"]
    assert [(row["looks"], row["sessions"]) for row in asleep] == [(10, 10), (10, 10)]
    watch.finish()


class TestTopStatements:
    @pytest.fixture
    def loaded(self, postgres_server: PostgresServer) -> Iterator[PostgresServer]:
        """Debian's server, with pg_stat_statements preloaded and a database of the load's own."""
        postgres_server.sql("CREATE DATABASE load")
        postgres_server.sql(LOAD, database="load")
        yield postgres_server
        while OPEN:
            OPEN.pop().monitor.close()
        postgres_server.sql("DROP DATABASE load WITH (FORCE)")

    def test_calls_are_counted_and_texts_have_no_constants(self, loaded: PostgresServer) -> None:
        watch = Watch(loaded)
        with session(loaded) as connection:
            connection.execute("CREATE ROLE somebody PASSWORD 'hunter2'")
            connection.execute("DROP ROLE somebody")
            for n in range(25):
                connection.execute(f"INSERT INTO t (id, v) VALUES ({n}, {7 * n})".encode())
            connection.execute(b"SELECT count(*) FROM t WHERE 'hunter2' <> 'x' /* hunter2 */")
        account = watch.finish()
        result = {row["query"]: row for row in watch.further["statements"]}
        inserted = next(row for text, row in result.items() if text.startswith("INSERT INTO t"))
        assert inserted["calls"] == 25
        assert inserted["rows"] == 25
        assert inserted["total_ms"] == pytest.approx(25 * inserted["mean_ms"])
        assert "CREATE ROLE …" in result
        assert not [text for text in result if "hunter2" in text]
        assert sum(row["share"] for row in result.values()) == pytest.approx(1)
        assert account.notes is None

    def test_only_the_loads_database_and_only_what_happened_meanwhile(self, loaded: PostgresServer) -> None:
        with session(loaded) as connection:
            connection.execute("SELECT max(id) FROM t")
            watch = Watch(loaded)
            loaded.sql("SELECT 1 AS elsewhere")
            connection.execute("SELECT min(id) FROM t")
        watch.finish()
        assert [row["query"] for row in watch.further["statements"]] == ["SELECT min(id) FROM t"]

    def test_the_most_expensive_come_first_and_no_more_than_asked_for(self, loaded: PostgresServer) -> None:
        watch = Watch(loaded, options=PostgresMonitorOptions(statements=1))
        with session(loaded) as connection:
            connection.execute("SELECT 1 AS quick")
            connection.execute("SELECT pg_sleep(0.2)")
        watch.finish()
        assert [row["query"] for row in watch.further["statements"]] == ["SELECT pg_sleep($1)"]

    def test_none_when_none_are_wanted(self, loaded: PostgresServer) -> None:
        watch = Watch(loaded, options=PostgresMonitorOptions(statements=0))
        assert watch.finish().notes is None
        assert "statements" not in watch.further

    def test_a_server_of_somebody_elses_is_not_changed_for_it(self, loaded: PostgresServer) -> None:
        loaded.sql("DROP EXTENSION IF EXISTS pg_stat_statements")
        watch = Watch(loaded, managed=False)
        assert "statements-not-installed" in watch.notes()
        assert not loaded.sql("SELECT 1 FROM pg_extension WHERE extname = 'pg_stat_statements'")
        watch.finish()
        loaded.sql("CREATE EXTENSION pg_stat_statements", database="load")
        watch = Watch(loaded, managed=False)
        loaded.sql("SELECT 1 AS mine", database="load")
        watch.finish()
        assert any(row["query"] == "SELECT $1 AS mine" for row in watch.further["statements"])


class TestTrouble:
    """A server that goes away, or shows little, costs samples and nothing else."""

    @pytest.fixture
    def mine(self) -> Iterator[PostgresServer]:
        with PostgresServer() as running:
            running.sql("CREATE DATABASE load")
            running.sql(LOAD, database="load")
            yield running

    def test_a_server_that_dies_is_noted_and_found_again(self, mine: PostgresServer) -> None:
        watch = Watch(mine)
        watch.sample()
        mine.sql("CHECKPOINT")  # nothing would be left that was not synced
        mine.kill()
        watch.until(lambda: watch.events, "the loss")
        assert watch.events[0]["what"] == "lost"
        before = len(watch.rows)
        watch.sample()
        assert len(watch.rows) == before
        mine.restart()
        watch.until(lambda: len(watch.events) == 2, "the return")
        assert watch.events[1] == {"event": "monitor", "monitor": "postgres", "what": "back"}
        mine.sql("INSERT INTO t VALUES (1)", database="load")
        watch.until(lambda: watch.total("tuples_inserted") == 1, "counters from a new base")
        account = watch.finish()
        assert account.connects == 2
        assert "lost" in {note["note"] for note in account.notes or ()}

    def test_a_session_that_does_not_answer_is_not_waited_for(self, mine: PostgresServer) -> None:
        watch = Watch(mine)
        pid = mine.sql("SELECT pid FROM pg_stat_activity WHERE backend_type = 'walsender'")[0][0]
        os.kill(pid, signal.SIGSTOP)
        try:
            watch.sample()
        finally:
            os.kill(pid, signal.SIGCONT)
        assert watch.events[0]["what"] == "lost"
        assert "no answer" in watch.events[0]["reason"]
        watch.until(lambda: watch.events[-1]["what"] == "back", "another session")
        watch.finish()

    def test_no_server_at_all(self, mine: PostgresServer) -> None:
        mine.stop()
        address = Address(mine.host, mine.port, "postgres", "postgres", sslmode="disable")
        context = MonitorContext(roots=list, observed=Observed(address, "load", True, None))
        monitor = PostgresMonitor(PostgresMonitorOptions(), context)
        assert monitor.sample(0) == []
        assert monitor.sample(1) == []
        assert monitor.finish(1) == []
        notes = monitor.account().notes
        assert notes is not None
        assert "not-connected" in {note["note"] for note in notes}
        mine.start()

    def test_a_role_without_rights_says_what_it_does_not_see(self, mine: PostgresServer) -> None:
        mine.sql("CREATE ROLE plain LOGIN")
        watch = Watch(mine, managed=False, user="plain")
        assert watch.notes() == {"others-hidden", "statements-not-installed"}
        with session(mine) as other, background(other, "SELECT pg_sleep(600)"):
            until_asleep(mine)
            watch.sample()
            other.cancel_safe()
        assert watch.rows[-1]["sessions"] == 0, "sessions of others have no state for it"
        with psycopg.connect(mine.dsn("load").replace("postgres@", "plain@"), autocommit=True) as managed:
            managed.execute("SELECT 1")
            watch.sample()
        assert watch.rows[-1]["sessions"] == 1, "those of its own role have"
        mine.sql("GRANT pg_monitor TO plain")
        watch.finish()
        watch = Watch(mine, managed=False, user="plain")
        assert "others-hidden" not in watch.notes()
        watch.finish()

    def test_a_role_that_may_enter_one_database_only_says_so(self, mine: PostgresServer) -> None:
        mine.sql("CREATE ROLE narrow LOGIN")
        mine.sql("REVOKE CONNECT ON DATABASE postgres FROM PUBLIC")
        watch = Watch(mine, managed=False, user="narrow", dsn_database="load")
        assert "same-database" in watch.notes()
        watch.sample()
        assert len(watch.rows) == 1
        watch.finish()

    def test_a_server_without_replication_gives_a_session_like_any_other(self) -> None:
        with PostgresServer(settings={"wal_level": "minimal", "max_wal_senders": "0"}) as bare:
            bare.sql("CREATE DATABASE load")
            watch = Watch(bare)
            assert "takes-a-connection" in watch.notes()
            watch.sample()
            assert watch.rows[-1]["sessions"] == 0, "and does not see itself"
            watch.finish()


def test_a_target_of_another_kind_shows_nothing() -> None:
    monitor = PostgresMonitor(PostgresMonitorOptions(), MonitorContext(roots=list))
    assert monitor.sample(0) == []
    assert monitor.finish(1) == []
    assert monitor.account() == MonitorRecord(connects=0, questions=0)


def test_a_counter_that_fell_is_unknown_and_not_negative() -> None:
    assert grown({"commits": 10, "wal_bytes": 5}, {"commits": 3, "wal_bytes": 8, "wal_syncs": 1}) == {
        "commits": None, "wal_bytes": 3, "wal_syncs": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "shown_as"),
    [
        ("SELECT v FROM t\n  WHERE id = $1", "SELECT v FROM t WHERE id = $1"),
        ("alter role x password 'hunter2'", "alter role …"),
        ("SET app.key='hunter2'", "SET app …"),
        ("COMMIT", "COMMIT"),
        ("COPY t FROM STDIN", "COPY t …"),
        ("-- hunter2\nUPDATE t SET v = 'hunter2' WHERE n = $$hunter2$$", "UPDATE t SET v = ? WHERE n = ?"),
        ("/* hunter2 */ BEGIN", "BEGIN"),
        ("", ""),
    ],
)
def test_statements_are_shown_without_what_they_were_given(text: str, shown_as: str) -> None:
    assert shown(text) == shown_as


@pytest.mark.parametrize("major", [12, 13, 14, 15, 16, 17, 18])
def test_every_version_is_asked_for_the_same_values_under_the_same_names(major: int) -> None:
    asked = queries.counters(major * 10000, "load") + (queries.io(major * 10000) or "")
    assert ("pg_stat_wal" in asked) == (major >= 14)
    assert ("pg_stat_io" in asked) == (major >= 16)
    assert ("pg_stat_checkpointer" in asked) == (major >= 17)
    names = {
        "commits",
        "blocks_hit",
        "wal_bytes",
        "checkpoints_timed",
        "checkpoint_write_ms",
        "bgwriter_buffers",
    }
    assert all(f"AS {name}" in asked or name in asked for name in names)
