"""Loading the tables: the same rows whoever loads them, what the server then has, and what stands
in the way.
"""

from __future__ import annotations

import threading
from typing import Any

import pytest

from engine.loads import Event, failure, prepare
from servers import PostgresServer, free_port

DIGEST = "SELECT count(*), md5(string_agg(t::text, '|' ORDER BY id)) FROM {} t"


def digests(server: PostgresServer, database: str, tables: int) -> list[Any]:
    return [server.sql(DIGEST.format(f"sbtest{n}"), database=database) for n in range(1, tables + 1)]


def drop(server: PostgresServer, database: str, tables: int) -> None:
    for number in range(1, tables + 1):
        server.sql(f"DROP TABLE sbtest{number}", database=database)


def test_rows_depend_on_the_seed_and_not_on_the_workers(
    postgres_server: PostgresServer, database: str
) -> None:
    seen = {}
    for workers, seed in ((1, 5), (4, 5), (7, 5), (4, 6)):
        data = {"tables": 3, "table_size": 17_001, "load_workers": workers}
        account = prepare(postgres_server.endpoint(database), data, seed=seed)
        assert account["rows"] == 51_003
        assert account["size_bytes"] > 51_003 * 180
        assert account["duration_s"] > 0
        seen[workers, seed] = digests(postgres_server, database, 3)
        drop(postgres_server, database, 3)
    assert seen[1, 5] == seen[4, 5] == seen[7, 5]
    assert seen[4, 6] != seen[4, 5]


def test_the_tables_are_sysbenchs(postgres_server: PostgresServer, database: str) -> None:
    prepare(postgres_server.endpoint(database), {"tables": 2, "table_size": 2_000})
    columns = postgres_server.sql(
        "SELECT column_name, data_type, character_maximum_length, column_default, is_nullable "
        "FROM information_schema.columns WHERE table_name = 'sbtest2' ORDER BY ordinal_position",
        database=database,
    )
    assert columns == [
        ("id", "integer", None, "nextval('sbtest2_id_seq'::regclass)", "NO"),
        ("k", "integer", None, "0", "NO"),
        ("c", "character", 120, "''::bpchar", "NO"),
        ("pad", "character", 60, "''::bpchar", "NO"),
    ]
    indexes = postgres_server.sql(
        "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'sbtest2' ORDER BY 1", database=database
    )
    assert indexes == [
        ("k_2", "CREATE INDEX k_2 ON public.sbtest2 USING btree (k)"),
        ("sbtest2_pkey", "CREATE UNIQUE INDEX sbtest2_pkey ON public.sbtest2 USING btree (id)"),
    ]
    assert postgres_server.sql(
        "SELECT conname, contype::text FROM pg_constraint WHERE conrelid = 'sbtest2'::regclass",
        database=database,
    ) == [("sbtest2_pkey", "p")]
    [(low, high, count, c, pad, k)] = postgres_server.sql(
        "SELECT min(id), max(id), count(DISTINCT id), "
        "bool_and(c::text ~ '^([0-9]{11}-){9}[0-9]{11}$'), bool_and(pad::text ~ "
        "'^([0-9]{11}-){4}[0-9]{11}$'), "
        "bool_and(k BETWEEN 1 AND 2000) FROM sbtest2",
        database=database,
    )
    assert (low, high, count, c, pad, k) == (1, 2_000, 2_000, True, True, True)
    # The next row gets the next id; the planner knows the tables; no page is left to be looked through by the
    # load.
    assert postgres_server.sql("INSERT INTO sbtest1 (k) VALUES (1) RETURNING id", database=database) == [
        (2_001,)
    ]
    assert postgres_server.sql(
        "SELECT reltuples, relallvisible > 0.9 * relpages FROM pg_class WHERE relname = 'sbtest2'",
        database=database,
    ) == [(2_000.0, True)]


def test_options_leave_out_sequence_and_index(postgres_server: PostgresServer, database: str) -> None:
    prepare(
        postgres_server.endpoint(database), {"table_size": 10, "auto_inc": False, "create_secondary": False}
    )
    assert postgres_server.sql("SELECT count(*) FROM pg_class WHERE relkind = 'S'", database=database) == [
        (0,)
    ]
    assert postgres_server.sql(
        "SELECT indexname FROM pg_indexes WHERE tablename = 'sbtest1'", database=database
    ) == [("sbtest1_pkey",)]


def test_tables_go_where_the_search_path_points(postgres_server: PostgresServer, database: str) -> None:
    postgres_server.sql("CREATE SCHEMA mine", database=database)
    target = postgres_server.endpoint(database, options="-c search_path=mine")
    prepare(target, {"table_size": 10})
    assert postgres_server.sql("SELECT count(*) FROM mine.sbtest1", database=database) == [(10,)]


def test_progress_is_reported_and_ends_with_all_rows(postgres_server: PostgresServer, database: str) -> None:
    events: list[Event] = []
    prepare(postgres_server.endpoint(database), {"table_size": 60_000}, on_event=events.append)
    rows = [event["done_rows"] for event in events]
    assert {event["type"] for event in events} == {"progress"}
    assert rows == sorted(rows)
    assert (rows[-1], events[-1]["total_rows"]) == (60_000, 60_000)
    doing = [event["doing"] for event in events]
    assert list(dict.fromkeys(doing)) == ["tables", "rows", "indexes", "vacuum"]


def test_a_table_that_is_there_already_is_left_alone(postgres_server: PostgresServer, database: str) -> None:
    postgres_server.sql("CREATE TABLE sbtest2 (mine text)", database=database)
    problem = failure(
        lambda: prepare(postgres_server.endpoint(database), {"tables": 3, "table_size": 10}), "postgres"
    )
    assert problem["code"] == "42P07"
    assert "sbtest2" in problem["finding"]
    assert "drop" in problem["advice"]
    assert postgres_server.sql("SELECT count(*) FROM sbtest2", database=database) == [(0,)]


#: The first inserts into sbtest2, as many as the parameter says, end as if another transaction stood in their
#: way. (A sequence also counts in transactions that are rolled back.)
ROLL_BACK = """
    CREATE SEQUENCE inserts;
    CREATE FUNCTION roll_back() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('inserts') <= {count} THEN
            RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '{code}';
        END IF;
        RETURN NULL;
    END $$;
    CREATE FUNCTION set_trap() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
        IF to_regclass('sbtest2') IS NOT NULL THEN
            CREATE OR REPLACE TRIGGER trap AFTER INSERT ON sbtest2 EXECUTE FUNCTION roll_back();
        END IF;
    END $$;
    CREATE EVENT TRIGGER traps ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION set_trap();
"""


@pytest.mark.parametrize("code", ["40P01", "40001"])
def test_a_transaction_that_the_server_rolled_back_is_repeated(
    postgres_server: PostgresServer, database: str, code: str
) -> None:
    prepare(postgres_server.endpoint(database), {"tables": 2, "table_size": 17_001, "load_workers": 2})
    undisturbed = digests(postgres_server, database, 2)
    drop(postgres_server, database, 2)
    postgres_server.sql(ROLL_BACK.format(count=2, code=code), database=database)
    events: list[Event] = []
    data = {"tables": 2, "table_size": 17_001, "load_workers": 2}
    prepare(postgres_server.endpoint(database), data, on_event=events.append)
    assert postgres_server.sql("SELECT last_value FROM inserts", database=database)[0][0] >= 3
    assert digests(postgres_server, database, 2) == undisturbed
    assert events[-1]["done_rows"] == 34_002


def test_the_last_rollback_is_reported_with_the_number_of_attempts(
    postgres_server: PostgresServer, database: str
) -> None:
    postgres_server.sql(ROLL_BACK.format(count=1_000, code="40P01"), database=database)
    data = {"tables": 2, "table_size": 1_000, "load_workers": 1}
    problem = failure(lambda: prepare(postgres_server.endpoint(database), data), "postgres")
    assert (problem["code"], problem["finding"]) == (
        "40P01",
        "cannot load table sbtest2: deadlock detected (6 attempts)",
    )
    assert postgres_server.sql("SELECT count(*) FROM sbtest2", database=database) == [(0,)]


@pytest.mark.parametrize(
    ("change", "code", "part"),
    [
        ({"database": "nowhere"}, "3D000", "nowhere"),
        ({"user": "nobody"}, "28000", "nobody"),
        ({"sslmode": "require"}, "tls", "does not offer TLS"),
        ({"options": "-c nonsense=1"}, "42704", "nonsense"),
    ],
)
def test_the_cause_of_a_failed_connection_is_reported(
    postgres_server: PostgresServer, database: str, change: dict[str, Any], code: str, part: str
) -> None:
    problem = failure(lambda: prepare({**postgres_server.endpoint(database), **change}, {}))
    assert problem["code"] == code
    assert part in problem["finding"]


def test_no_server_is_a_finding_with_advice(postgres_server: PostgresServer) -> None:
    problem = failure(lambda: prepare({**postgres_server.endpoint(), "port": free_port()}, {}), "postgres")
    assert problem["code"] == "connection"
    assert "check that the server runs" in problem["advice"]


def test_who_watches_may_end_it(postgres_server: PostgresServer, database: str) -> None:
    class EnoughError(Exception):
        pass

    def stop(event: Event) -> None:
        if event["doing"] == "rows":
            raise EnoughError

    with pytest.raises(EnoughError):
        prepare(postgres_server.endpoint(database), {"table_size": 2_000_000}, on_event=stop)
    assert postgres_server.sql("SELECT count(*) FROM sbtest1", database=database) == [(0,)]


def test_a_server_that_dies_is_a_finding(postgres_server: PostgresServer) -> None:
    with PostgresServer() as server:
        killer = threading.Timer(0.0, server.kill)

        def kill(event: Event) -> None:
            if event["doing"] == "rows" and not killer.is_alive() and killer.ident is None:
                killer.start()

        problem = failure(
            lambda: prepare(server.endpoint(), {"table_size": 3_000_000}, on_event=kill), "postgres"
        )
        killer.join()
    assert problem["code"] in {"connection", "57P01", "57P02"}
    assert problem["advice"]
