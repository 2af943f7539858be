"""Every script, over every protocol, against a real PostgreSQL: what the engine counts is what the server
counted.
"""

from __future__ import annotations

from typing import Any

import pytest

from engine.loads import Result, assert_counted, operation, prepare, run, until_gone
from servers import PostgresServer

SCRIPTS = {
    # script: (statements of a transaction: read, write, other)
    "oltp_read_write": (14, 4, 2),
    "oltp_read_only": (14, 0, 2),
    "oltp_write_only": (0, 4, 2),
    "oltp_point_select": (1, 0, 0),
    "oltp_insert": (0, 1, 0),
    "oltp_delete": (0, 1, 0),
    "oltp_update_index": (0, 1, 0),
    "oltp_update_non_index": (0, 1, 0),
    "select_random_points": (1, 0, 0),
    "select_random_ranges": (1, 0, 0),
}
PROTOCOLS = ("simple", "extended", "prepared")

#: The operation a statement belongs to, by the text that pg_stat_statements keeps of it.
PATTERNS = {
    "begin": "BEGIN%",
    "commit": "COMMIT%",
    "point_select": "SELECT c FROM sbtest_ WHERE id=$_",
    "simple_range": "SELECT c FROM sbtest_ WHERE id BETWEEN $_ AND $_",
    "sum_range": "SELECT SUM(k) FROM sbtest_ WHERE id BETWEEN $_ AND $_",
    "order_range": "SELECT c FROM sbtest_ WHERE id BETWEEN $_ AND $_ ORDER BY c",
    "distinct_range": "SELECT DISTINCT c FROM sbtest_ WHERE id BETWEEN $_ AND $_ ORDER BY c",
    "index_update": "UPDATE sbtest_ SET k=k+$_ WHERE id=$_",
    "non_index_update": "UPDATE sbtest_ SET c=$_ WHERE id=$_",
    "delete": "DELETE FROM sbtest_ WHERE id=$_",
    "insert": "INSERT INTO sbtest_ (%k, c, pad) VALUES (%",
    "random_points": "SELECT id, k, c, pad FROM sbtest1 WHERE k IN ($_, %",
    "random_ranges": "SELECT count(k) FROM sbtest1 WHERE k BETWEEN $_ AND $_ OR %",
}


class Database:
    """A loaded database, and what its server says has happened in it."""

    def __init__(self, server: PostgresServer, name: str, sysbench: dict[str, Any]) -> None:
        self.server = server
        self.name = name
        self.sysbench = sysbench
        server.sql(f"CREATE DATABASE {name}")
        server.sql("CREATE EXTENSION pg_stat_statements", database=name)
        self.prepared = prepare(server.endpoint(name), sysbench)

    def run(self, sysbench: dict[str, Any], **load: Any) -> Result:
        """Make a load on counters set to zero; wait until the server has counted everything."""
        until_gone(self.server, self.name)
        self.server.sql("SELECT pg_stat_statements_reset()", database=self.name)
        until_gone(self.server, self.name)
        self.before = self.counters()
        result = run(self.server.endpoint(self.name), {**self.sysbench, **sysbench}, **load)
        assert result["outcome"] == "completed", result
        until_gone(self.server, self.name)
        after = self.counters()
        self.counted = {key: after[key] - value for key, value in self.before.items()}
        return result

    def counters(self) -> dict[str, int]:
        """pg_stat_database, read from outside so that the question is not counted."""
        columns = ("xact_commit", "xact_rollback", "tup_inserted", "tup_updated", "tup_deleted")
        [row] = self.server.sql(
            f"SELECT {', '.join(columns)} FROM pg_stat_database WHERE datname = '{self.name}'"
        )
        return dict(zip(columns, row, strict=True))

    def calls(self, name: str) -> int:
        """Number of successful executions of an operation's statements."""
        escaped = PATTERNS[name].replace("'", "''")
        [(calls,)] = self.server.sql(
            "SELECT coalesce(sum(s.calls), 0)::bigint FROM pg_stat_statements s JOIN pg_database d ON "
            "d.oid = s.dbid "
            f"WHERE d.datname = '{self.name}' AND query LIKE '{escaped}'"
        )
        return int(calls)


@pytest.fixture(scope="module")
def loaded(postgres_server: PostgresServer) -> Database:
    postgres_server.sql("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
    # Enough rows that two clients hardly ever meet on one.
    return Database(postgres_server, "every_script", {"tables": 2, "table_size": 60_000, "range_size": 20})


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("script", SCRIPTS)
def test_the_engine_and_the_server_count_the_same(loaded: Database, script: str, protocol: str) -> None:
    # Another seed each time: `oltp_delete` would else find only rows that are gone already.
    seed = 1 + list(SCRIPTS).index(script) * 3 + PROTOCOLS.index(protocol)
    # A number, however long it takes: where others use the disk one may take longer than a short load.
    result = loaded.run(
        {"script": script, "protocol": protocol},
        seed=seed,
        clients=3,
        requests=60,
        duration_ns=60_000_000_000,
    )
    assert_counted(result)
    lifetime = result["lifetime"]
    assert lifetime["transactions"] >= 60
    assert lifetime["failed"] == 0, result["errors"]
    for name, count in lifetime["operations"].items():
        if name != "transaction":
            assert loaded.calls(name) == count, name
    # Each connection adds transactions at its start: its login, and its prepared statements.
    openings = 3 * (2 if protocol == "prepared" else 1)
    assert loaded.counted["xact_commit"] - openings == lifetime["transactions"]
    assert loaded.counted["xact_rollback"] == 0
    changed = sum(loaded.counted[key] for key in ("tup_inserted", "tup_updated", "tup_deleted"))
    assert lifetime["rows_changed"] == changed
    # A transaction has its statements, no more and no fewer.
    transactions = operation(result, "transaction")["succeeded"]
    read, write, other = (count * transactions for count in SCRIPTS[script])
    expected = {"total": read + write + other, "read": read, "write": write, "other": other}
    assert {key: result["queries"][key] for key in expected} == expected


def test_without_transactions_every_statement_commits_itself(loaded: Database) -> None:
    result = loaded.run({"script": "oltp_read_write", "skip_trx": True}, seed=91, clients=2)
    statements = sum(n for name, n in result["lifetime"]["operations"].items() if name != "transaction")
    assert statements == 18 * result["lifetime"]["transactions"]
    assert loaded.counted["xact_commit"] == statements + 2 * 2
    assert {operation["name"] for operation in result["operations"]}.isdisjoint({"begin", "commit"})


def test_options_change_the_mix(loaded: Database) -> None:
    mix = {
        "point_selects": 2,
        "range_selects": False,
        "index_updates": 3,
        "delete_inserts": 2,
        "non_index_updates": 0,
    }
    result = loaded.run({"script": "oltp_read_write", **mix}, seed=92, clients=2)
    n = operation(result, "transaction")["succeeded"]
    assert result["queries"] == {"total": 11 * n, "read": 2 * n, "write": 7 * n, "other": 2 * n}


def test_ids_of_the_clients_own_making_do_not_collide(loaded: Database) -> None:
    result = loaded.run(
        {"script": "oltp_insert", "auto_inc": False, "table_size": 1_000_000}, clients=4, threads=2
    )
    assert result["lifetime"]["failed"] == 0
    assert result["lifetime"]["rows_changed"] == loaded.counted["tup_inserted"] > 0


def test_prepared_statements_are_parsed_once(loaded: Database) -> None:
    # A generic plan is made after five executions, so plans are far fewer than calls; in extended mode they
    # are as many.
    loaded.server.sql("ALTER SYSTEM SET pg_stat_statements.track_planning = on")
    loaded.server.sql("SELECT pg_reload_conf()")
    try:
        plans = {}
        for protocol in ("prepared", "extended"):
            result = loaded.run({"script": "oltp_point_select", "protocol": protocol}, clients=2)
            [(plans[protocol],)] = loaded.server.sql(
                "SELECT sum(plans)::bigint FROM pg_stat_statements WHERE query LIKE 'SELECT c FROM "
                "sbtest_ WHERE id=$1'"
            )
            calls = result["lifetime"]["operations"]["point_select"]
        assert plans["extended"] == calls
        assert plans["prepared"] < 50
    finally:
        loaded.server.sql("ALTER SYSTEM RESET pg_stat_statements.track_planning")
        loaded.server.sql("SELECT pg_reload_conf()")


def test_the_special_distribution_meets_the_middle_of_the_table(loaded: Database) -> None:
    name = "special_updates"
    special = Database(loaded.server, name, {"tables": 1, "table_size": 10_000, "distribution": "special"})
    special.run({"script": "oltp_update_non_index"}, clients=2, duration_ns=1_000_000_000)
    # An updated row moves to the end of the table, behind all rows that were loaded.
    [(hot, cold)] = loaded.server.sql(
        "WITH moved AS (SELECT id FROM sbtest1 WHERE xmin <> (SELECT xmin FROM sbtest1 ORDER BY id LIMIT 1)) "
        "SELECT count(*) FILTER (WHERE id BETWEEN 4951 AND 5050), count(*) FILTER (WHERE id < "
        "1000) FROM moved",
        database=name,
    )
    assert hot == 100, "all special rows were met"
    assert cold < 10, "the edge was hardly met"
