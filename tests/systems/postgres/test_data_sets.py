"""Data sets: loaded once, reused while nothing changed, restored when a workload changed them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import replace

import psycopg
import pytest

from loadcell.systems.base import DataSpec, ServerEndpoint, TargetError
from loadcell.systems.postgres.target import Postgres
from loadcell.systems.shared.data_sets import Mark, parse
from servers import PostgresServer
from systems.bench import Bench

from .conftest import DATA, OTHER, ROWS, load, query, session

External = Callable[..., Postgres]


def never(endpoint: ServerEndpoint) -> int:
    raise AssertionError("loaded again, though nothing had changed")


def half(endpoint: ServerEndpoint) -> int:
    """A load that breaks off in the middle."""
    with session(endpoint) as connection:
        connection.execute("CREATE TABLE sbtest1 (id serial PRIMARY KEY, k int NOT NULL)")
    raise KeyboardInterrupt


def marks(server: PostgresServer) -> dict[str, Mark | None]:
    rows = server.sql("SELECT datname, shobj_description(oid, 'pg_database') FROM pg_database")
    return {name: parse(comment) for name, comment in rows if name.startswith("loadcell_")}


def state_of_schema(server: PostgresServer) -> Mark | None:
    rows = server.sql(
        "SELECT obj_description(oid) FROM pg_namespace WHERE nspname = 'loadcell'", database="plain"
    )
    return parse(rows[0][0]) if rows else None


class TestOnManagedServer:
    def test_loaded_once_then_reused(self, embedded: Postgres) -> None:
        data = DataSpec({"small": "reused"})
        first = embedded.prepare(data, load, will_change=False)
        second = embedded.prepare(data, never, will_change=False)
        assert (first.how, second.how) == ("loaded", "reused")
        assert first.fingerprint == second.fingerprint
        assert first.rows == 2 * ROWS
        assert first.load_s > 0
        assert first.checkpoint_s > 0
        assert first.size_bytes
        assert second.duration_s < first.duration_s

    def test_restored_by_a_copy_of_files_after_a_change(self, embedded: Postgres) -> None:
        data = DataSpec({"small": "restored"})
        assert embedded.prepare(data, load, will_change=True).how == "loaded"
        query(embedded, "UPDATE sbtest1 SET k = -1")
        query(embedded, "DROP TABLE sbtest2")

        again = embedded.prepare(data, never, will_change=True)
        assert again.how == "restored"
        assert again.method == "file copy"
        assert again.copy_s > 0
        assert again.copied_bytes == again.size_bytes
        assert query(embedded, "SELECT count(*), min(k) FROM sbtest1") == [(ROWS, 1)]
        assert query(embedded, "SELECT count(*) FROM sbtest2") == [(ROWS,)]

    def test_a_reading_workload_finds_the_pristine_data_after_a_writing_one(self, embedded: Postgres) -> None:
        data = DataSpec({"small": "mixed"})
        embedded.prepare(data, load, will_change=True)
        query(embedded, "DELETE FROM sbtest1")
        assert embedded.prepare(data, never, will_change=False).how == "reused"
        assert query(embedded, "SELECT count(*) FROM sbtest1") == [(ROWS,)]

    def test_other_data_is_another_data_set(self, embedded: Postgres) -> None:
        first = embedded.prepare(DATA, load, will_change=False)
        second = embedded.prepare(OTHER, load, will_change=False)
        assert first.fingerprint != second.fingerprint
        assert embedded.prepare(DATA, never, will_change=False).fingerprint == first.fingerprint

    def test_sessions_left_over_do_not_stand_in_the_way(self, embedded: Postgres) -> None:
        data = DataSpec({"small": "left over"})
        embedded.prepare(data, load, will_change=False)
        with session(embedded.endpoint()):
            embedded.prepare(data, never, will_change=True)
        with session(embedded.endpoint()):
            assert embedded.prepare(data, never, will_change=True).how == "restored"

    def test_broken_off_half_way_it_is_made_again(self, embedded: Postgres) -> None:
        data = DataSpec({"small": "half"})
        with pytest.raises(KeyboardInterrupt):
            embedded.prepare(data, half, will_change=False)
        assert embedded.prepare(data, load, will_change=False).how == "loaded"
        assert query(embedded, "SELECT count(*) FROM sbtest1") == [(ROWS,)]

    def test_a_server_killed_while_loading_is_a_finding_and_made_again(self, bench: Bench[Postgres]) -> None:
        target = bench.up()

        def killed(endpoint: ServerEndpoint) -> int:
            with session(endpoint) as connection:
                connection.execute("CREATE TABLE sbtest1 (id int)")
                os.kill(target.processes()[0], signal.SIGKILL)
                connection.execute("SELECT pg_sleep(60)")
            raise AssertionError("the server outlived its end")

        with pytest.raises(TargetError, match="the server closed the connection") as caught:
            target.prepare(DATA, killed, will_change=True)
        assert caught.value.during == "prepare"
        target.up()
        assert target.prepare(DATA, load, will_change=True).how == "loaded"
        assert query(target, "SELECT count(*) FROM sbtest1") == [(ROWS,)]


class TestOnAnotherServer:
    def test_databases_are_made_marked_and_dropped(
        self, external: External, standing: PostgresServer
    ) -> None:
        before = standing.sql("SELECT datname FROM pg_database ORDER BY 1")
        target = external("maker")
        target.up()
        done = target.prepare(DATA, load, will_change=True)
        assert (done.how, done.kind) == ("loaded", "database")
        made = marks(standing)
        assert {mark and (mark.state, mark.pristine, mark.fingerprint) for mark in made.values()} == {
            ("ready", True, done.fingerprint),
            ("changed", False, done.fingerprint),
        }
        query(target, "DELETE FROM sbtest1")
        assert target.prepare(DATA, never, will_change=True).how == "restored"
        assert query(target, "SELECT count(*) FROM sbtest1") == [(ROWS,)]
        assert done.checkpoint_s is None, "this role may not"

        target.destroy()
        assert standing.sql("SELECT datname FROM pg_database ORDER BY 1") == before

    def test_keep_data_keeps_the_pristine_database(
        self, external: External, standing: PostgresServer
    ) -> None:
        target = external("maker", keep_data=True)
        target.up()
        done = target.prepare(DATA, load, will_change=True)
        target.destroy()
        assert list(marks(standing)) == [f"loadcell_{done.fingerprint}"]

        target = external("maker")
        target.up()
        assert target.prepare(DATA, never, will_change=False).how == "reused"
        target.destroy()
        assert marks(standing) == {}, "a run that does not keep it has it dropped"

    def test_what_others_keep_is_left_alone(
        self, external: External, bench: Bench[Postgres], standing: PostgresServer
    ) -> None:
        keeping = external("maker", keep_data=True)
        keeping.up()
        data_set = keeping.prepare(OTHER, load, will_change=False)
        keeping.destroy()
        bench.work = bench.work / "another-run"
        bench.work.mkdir()
        target = external("maker")
        target.up()
        target.prepare(DATA, load, will_change=False)
        target.destroy()
        assert list(marks(standing)) == [f"loadcell_{data_set.fingerprint}"]

    @pytest.mark.parametrize("keep", [True, False])
    def test_what_an_earlier_run_of_the_same_name_keeps_is_left_alone(
        self, external: External, standing: PostgresServer, keep: bool
    ) -> None:
        earlier = external("maker", keep_data=True)
        earlier.up()
        name = f"loadcell_{earlier.prepare(OTHER, load, will_change=False).fingerprint}"
        earlier.destroy()
        mark = marks(standing)[name]
        assert mark is not None
        mark = replace(mark, keep=keep, owner=replace(mark.owner, started=1))
        standing.sql(f"COMMENT ON DATABASE {name} IS '{mark.text()}'")
        target = external("maker")
        target.up()
        target.prepare(DATA, load, will_change=False)
        target.destroy()
        assert list(marks(standing)) == ([name] if keep else [])

    def test_left_half_loaded_by_a_run_that_died_it_is_made_again(
        self, external: External, standing: PostgresServer
    ) -> None:
        target = external("maker")
        target.up()
        with pytest.raises(KeyboardInterrupt):
            target.prepare(DATA, half, will_change=False)
        assert [mark and mark.state for mark in marks(standing).values()] == ["loading"]
        assert target.prepare(DATA, load, will_change=False).how == "loaded"

    def test_a_database_without_the_mark_is_refused_and_untouched(
        self, external: External, standing: PostgresServer
    ) -> None:
        target = external("maker")
        target.up()
        name = "loadcell_" + target.prepare(DATA, load, will_change=False).fingerprint
        standing.sql(f"DROP DATABASE {name}")
        standing.sql(f"CREATE DATABASE {name} OWNER maker")
        standing.sql("CREATE TABLE precious (id int)", database=name)
        with pytest.raises(TargetError, match=f"the database {name} .* was not created by loadcell"):
            target.prepare(DATA, never, will_change=True)
        target.destroy()
        assert standing.sql("SELECT count(*) FROM precious", database=name) == [(0,)]

    @pytest.mark.parametrize("in_copy", [False, True])
    def test_a_table_of_somebody_in_a_database_of_loadcells_is_kept_and_reported(
        self, external: External, standing: PostgresServer, bench: Bench[Postgres], in_copy: bool
    ) -> None:
        target = external("maker")
        target.up()
        data_set = target.prepare(DATA, load, will_change=True)
        query(target, "CREATE TABLE made_by_the_load (id int)")
        name = data_set.database if in_copy else f"loadcell_{data_set.fingerprint}"
        assert name is not None
        standing.sql("CREATE TABLE precious (id int)", database=name)
        with pytest.raises(TargetError, match="did not create: precious"):
            target.prepare(DATA, never, will_change=True)
        target.destroy()
        assert standing.sql("SELECT count(*) FROM precious", database=name) == [(0,)]
        assert list(marks(standing)) == [name], "the other one was dropped"
        [note] = bench.notes
        assert note.text.startswith(f"{name} was not dropped: the database {name} at ")
        assert note.text.endswith("contains objects that loadcell did not create: precious")

    def test_a_data_set_in_use_by_somebody_else_is_not_torn_from_them(
        self, external: External, standing: PostgresServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("loadcell.systems.postgres.databases._LEAVE_LIMIT_S", 0.1)
        target = external("maker")
        target.up()
        target.prepare(DATA, load, will_change=False)
        with psycopg.connect(standing.dsn(target.endpoint().database)) as other:
            with pytest.raises(TargetError, match="another program is connected to the database"):
                target.prepare(DATA, never, will_change=True)
            assert other.execute("SELECT 1").fetchone() == (1,)

    def test_the_server_is_never_stopped_nor_reconfigured(
        self, external: External, standing: PostgresServer
    ) -> None:
        files = {path: path.read_bytes() for path in standing.data.glob("*.conf")}
        started = standing.sql("SELECT pg_postmaster_start_time(), pg_conf_load_time()")
        settings = standing.sql("SELECT name, setting FROM pg_settings ORDER BY name")
        target = external("maker", keep_data=False)
        target.up()
        target.prepare(DATA, load, will_change=True)
        target.down()
        assert target.alive()
        target.destroy()
        assert standing.sql("SELECT pg_postmaster_start_time(), pg_conf_load_time()") == started
        assert standing.sql("SELECT name, setting FROM pg_settings ORDER BY name") == settings
        assert {path: path.read_bytes() for path in standing.data.glob("*.conf")} == files
        assert standing.sql("SELECT count(*) FROM pg_db_role_setting") == [(0,)]


class TestInASchema:
    """For a role that may not create databases."""

    def test_tables_lie_in_a_schema_of_our_own(self, external: External, standing: PostgresServer) -> None:
        standing.sql("CREATE TABLE public.sbtest1 AS SELECT 'precious' AS word", database="plain")
        target = external("plain")
        target.up()
        done = target.prepare(DATA, load, will_change=False)
        assert (done.how, done.kind) == ("loaded", "schema")
        assert target.endpoint().options == "-c search_path=loadcell"
        assert query(target, "SELECT count(*) FROM sbtest1") == [(ROWS,)]
        assert target.prepare(DATA, never, will_change=False).how == "reused"
        assert done.size_bytes
        target.destroy()
        assert state_of_schema(standing) is None
        assert standing.sql("SELECT word FROM public.sbtest1", database="plain") == [("precious",)]
        standing.sql("DROP TABLE public.sbtest1", database="plain")

    def test_restored_by_loading_again(self, external: External, standing: PostgresServer) -> None:
        target = external("plain")
        target.up()
        target.prepare(DATA, load, will_change=True)
        mark = state_of_schema(standing)
        assert mark is not None
        assert mark.state == "changed"
        query(target, "DELETE FROM sbtest1")
        again = target.prepare(DATA, load, will_change=True)
        assert (again.how, again.method) == ("restored", "load")
        assert query(target, "SELECT count(*) FROM sbtest1") == [(ROWS,)]

    def test_broken_off_half_way_it_is_made_again(self, external: External) -> None:
        target = external("plain")
        target.up()
        with pytest.raises(KeyboardInterrupt):
            target.prepare(DATA, half, will_change=False)
        assert target.prepare(DATA, load, will_change=False).how == "loaded"

    def test_a_schema_without_the_mark_is_refused_and_untouched(
        self, external: External, standing: PostgresServer
    ) -> None:
        standing.sql("CREATE SCHEMA loadcell AUTHORIZATION plain", database="plain")
        standing.sql("CREATE TABLE loadcell.sbtest1 (id int)", database="plain")
        target = external("plain")
        target.up()
        with pytest.raises(TargetError, match=r"the schema loadcell .* was not created by loadcell"):
            target.prepare(DATA, never, will_change=False)
        target.destroy()
        assert standing.sql("SELECT count(*) FROM loadcell.sbtest1", database="plain") == [(0,)]

    def test_a_table_of_somebody_elses_in_our_schema_is_refused_and_untouched(
        self, external: External, standing: PostgresServer
    ) -> None:
        target = external("plain")
        target.up()
        target.prepare(DATA, load, will_change=True)
        standing.sql("CREATE TABLE loadcell.precious (id int)", database="plain")
        with pytest.raises(TargetError, match="contains objects that loadcell did not create: precious"):
            target.prepare(DATA, never, will_change=True)
        target.destroy()
        assert standing.sql("SELECT count(*) FROM loadcell.precious", database="plain") == [(0,)]
        assert standing.sql("SELECT count(*) FROM loadcell.sbtest1", database="plain") == [(ROWS,)]

    def test_a_role_that_may_create_nothing_learns_what_it_lacks(self, external: External) -> None:
        target = external("poor")
        target.up()
        with pytest.raises(TargetError, match="not allowed to create a schema in database poor") as caught:
            target.prepare(DATA, never, will_change=False)
        assert "CREATEDB" in caught.value.advice
