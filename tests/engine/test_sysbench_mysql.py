"""Every script, over both protocols, against a real MariaDB: what the engine counts is what the server
counted.
"""

from __future__ import annotations

import threading
from typing import Any

import pytest

from engine.loads import MS, Result, assert_counted, failure, operation, prepare, run
from mariadb import MariadbServer

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
PROTOCOLS = ("simple", "prepared")

#: What the server counts a statement of an operation as.
COUNTED = {
    "begin": "Com_begin",
    "commit": "Com_commit",
    "index_update": "Com_update",
    "non_index_update": "Com_update",
    "delete": "Com_delete",
    "insert": "Com_insert",
}

DATA = {"tables": 2, "table_size": 20_000, "range_size": 20}


class Database:
    """A loaded database, and what its server says has happened since."""

    def __init__(self, server: MariadbServer, name: str, sysbench: dict[str, Any]) -> None:
        self.server = server
        self.name = name
        self.sysbench = sysbench
        server.sql(f"CREATE DATABASE {name}")
        self.prepared = prepare(server.endpoint(name), sysbench)

    def run(self, sysbench: dict[str, Any], **load: Any) -> Result:
        before = self.status()
        result = run(self.server.endpoint(self.name), {**self.sysbench, **sysbench}, **load)
        assert result["outcome"] == "completed", result
        after = self.status()
        self.counted = {name: after[name] - value for name, value in before.items()}
        return result

    def status(self) -> dict[str, int]:
        rows = self.server.sql("SHOW GLOBAL STATUS")
        return {
            name: int(value)
            for name, value in rows
            if name.startswith(("Com_", "Handler_")) and value.isdigit()
        }


@pytest.fixture(scope="module")
def loaded(mariadb_server: MariadbServer) -> Database:
    # Enough rows that two clients hardly ever meet on one.
    return Database(mariadb_server, "every_script", DATA)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("script", SCRIPTS)
def test_the_engine_and_the_server_count_the_same(loaded: Database, script: str, protocol: str) -> None:
    # Another seed each time: `oltp_delete` would else find only rows that are gone already.
    seed = 1 + list(SCRIPTS).index(script) * 2 + PROTOCOLS.index(protocol)
    result = loaded.run({"script": script, "protocol": protocol}, seed=seed, clients=3, duration_ns=200 * MS)
    assert_counted(result)
    lifetime = result["lifetime"]
    assert lifetime["transactions"] > 0
    # What waited for another client's lock is tried again; what the server counts, it counts in each attempt.
    assert lifetime["failed"] == 0, result["errors"]
    expected: dict[str, int] = {}
    for name, count in lifetime["operations"].items():
        if name != "transaction":
            key = COUNTED.get(name, "Com_select")
            expected[key] = expected.get(key, 0) + count
    assert {key: loaded.counted[key] for key in expected} == expected
    changed = sum(loaded.counted[f"Handler_{kind}"] for kind in ("write", "update", "delete"))
    if not any(operation["retried"] for operation in result["operations"]):
        assert lifetime["rows_changed"] == changed
        assert loaded.counted["Com_rollback"] == 0
    if protocol == "prepared":
        tables = 1 if script.startswith("select_random") else DATA["tables"]
        shapes = sum(name not in ("transaction", "begin", "commit") for name in lifetime["operations"])
        assert loaded.counted["Com_stmt_prepare"] == 3 * tables * shapes, "each once a connection"
    # A transaction has its statements, no more and no fewer.
    transactions = operation(result, "transaction")["succeeded"]
    read, write, other = (count * transactions for count in SCRIPTS[script])
    numbers = {"total": read + write + other, "read": read, "write": write, "other": other}
    assert {key: result["queries"][key] for key in numbers} == numbers


def test_the_data_are_sysbenchs(loaded: Database) -> None:
    assert loaded.prepared["rows"] == 40_000
    [(_, created)] = loaded.server.sql("SHOW CREATE TABLE sbtest2", database=loaded.name)
    assert "`id` int(11) NOT NULL AUTO_INCREMENT" in created
    assert "PRIMARY KEY (`id`)" in created
    assert "KEY `k_2` (`k`)" in created


def test_rows_are_the_same_whoever_loads_them(mariadb_server: MariadbServer) -> None:
    sums = set()
    for workers in (1, 4):
        name = f"workers_{workers}"
        mariadb_server.sql(f"CREATE DATABASE {name}")
        prepare(mariadb_server.endpoint(name), {"tables": 1, "table_size": 25_000, "load_workers": workers})
        sums.add(
            mariadb_server.sql(
                "SELECT count(*), sum(id), sum(k), sum(crc32(c)), sum(crc32(pad)) FROM sbtest1", database=name
            )[0]
        )
    assert len(sums) == 1
    assert sums.pop()[0] == 25_000


def test_without_transactions_every_statement_commits_itself(loaded: Database) -> None:
    result = loaded.run({"script": "oltp_read_write", "skip_trx": True}, seed=91, clients=2)
    statements = sum(n for name, n in result["lifetime"]["operations"].items() if name != "transaction")
    assert statements == 18 * result["lifetime"]["transactions"]
    assert loaded.counted["Handler_commit"] >= statements
    assert loaded.counted["Com_begin"] == loaded.counted["Com_commit"] == 0


def test_ids_of_the_clients_own_making_do_not_collide(loaded: Database) -> None:
    result = loaded.run(
        {"script": "oltp_insert", "auto_inc": False, "table_size": 1_000_000}, clients=4, threads=2
    )
    assert result["lifetime"]["failed"] == 0
    assert result["lifetime"]["rows_changed"] == loaded.counted["Handler_write"] > 0


def test_locks_that_wait_too_long_are_retried_like_deadlocks(mariadb_server: MariadbServer) -> None:
    name = "locked"
    database = Database(mariadb_server, name, {"tables": 1, "table_size": 10})
    mariadb_server.sql("SET GLOBAL innodb_lock_wait_timeout = 1")
    try:
        holder = mariadb_server.connect(name)
        with holder, holder.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("UPDATE sbtest1 SET k = k + 1")
            release = threading.Timer(2.5, holder.commit)
            release.start()
            result = database.run(
                {"script": "oltp_update_index"}, clients=1, duration_ns=4_000 * MS, drain_ns=5_000 * MS
            )
            release.join()
    finally:
        mariadb_server.sql("SET GLOBAL innodb_lock_wait_timeout = 50")
    codes = {error["code"]: error["operation"] for error in result["errors"]}
    assert codes == {"1205": "index_update"}, "its statement failed; its transaction did not"
    assert operation(result, "transaction")["failed"] == 0
    assert operation(result, "transaction")["retried"] > 0


def test_what_only_postgresql_has_is_refused(mariadb_server: MariadbServer) -> None:
    problem = failure(lambda: run(mariadb_server.endpoint("mysql"), {"protocol": "extended"}))
    assert problem["code"] == "spec"
    assert "only for PostgreSQL" in problem["finding"]
    assert "prepared" in problem["advice"]
