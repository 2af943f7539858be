"""Execution plans of statements, and their statistics, on a real PostgreSQL and a real MariaDB."""

from __future__ import annotations

import psycopg

from loadcell.plan.workload import StatementText
from loadcell.systems.mysql import statements as mysql
from loadcell.systems.postgres import statements as postgres
from mariadb import MariadbServer
from servers import PostgresServer


def text(sql: str, *, writes: bool = False) -> StatementText:
    return StatementText(sql.split()[0].lower(), sql, sql, writes)


TRANSACTION = [
    text("INSERT INTO explained VALUES (1)", writes=True),
    text("SELECT * FROM explained WHERE id = 1"),
    text("SELECT nothing FROM explained"),
]


def test_postgresql_executes_statements_and_rolls_back(postgres_server: PostgresServer) -> None:
    postgres_server.sql("CREATE TABLE IF NOT EXISTS explained (id int)")
    with psycopg.connect(postgres_server.dsn(), autocommit=True) as connection:
        insert, select, wrong = postgres.explain(connection, [TRANSACTION])
        [slow] = postgres.explain(connection, [[text("SELECT pg_sleep(9)")]], limit_s=0.2)
        [late] = postgres.explain(connection, [[text("SELECT 1")]], limit_s=0)
    assert insert.shape == ("Insert on explained", "  ->  Result")
    assert any("rows=1" in line for line in select.text), "it sees the row of the statement before"
    assert (insert.executed, select.executed, slow.executed, late.executed) == (True, True, False, False)
    assert slow.shape == late.shape == ("Result",)
    assert wrong.trouble == 'column "nothing" does not exist'
    assert postgres_server.sql("SELECT count(*) FROM explained") == [(0,)]


def test_mariadb_executes_what_only_reads(mariadb_server: MariadbServer) -> None:
    mariadb_server.sql("CREATE DATABASE IF NOT EXISTS plans")
    mariadb_server.sql("CREATE TABLE IF NOT EXISTS explained (id int PRIMARY KEY)", database="plans")
    mariadb_server.sql("REPLACE INTO explained VALUES (1), (2)", database="plans")
    with mariadb_server.connect("plans") as connection:
        insert, select, wrong = mysql.explain(connection, [TRANSACTION])
        [slow] = mysql.explain(connection, [[text("SELECT SLEEP(9) FROM explained")]], limit_s=0.2)
    assert (insert.executed, select.executed, slow.executed) == (False, True, False)
    assert select.shape == ("explained const PRIMARY Using index",)
    assert select.text[0].startswith("explained: const, key=PRIMARY")
    assert "Unknown column 'nothing'" in (wrong.trouble or "")
    assert mariadb_server.sql("SELECT count(*) FROM explained", database="plans") == [(2,)]


def test_statistics_are_reset_where_they_are(mariadb_server: MariadbServer) -> None:
    settings = {"shared_preload_libraries": "pg_stat_statements"}
    with PostgresServer(settings=settings) as server:
        server.sql("CREATE EXTENSION pg_stat_statements")
        server.sql("SELECT 1 AS counted")
        counted = "SELECT count(*) FROM pg_stat_statements WHERE query LIKE '%AS counted%' AND calls > 0"
        assert server.sql(counted.replace("%AS counted%", "SELECT $1 AS counted")) == [(1,)]
        with psycopg.connect(server.dsn(), autocommit=True) as connection:
            assert postgres.reset_statistics(connection) == ["pg_stat_statements was reset"]
        assert server.sql(counted.replace("%AS counted%", "SELECT $1 AS counted")) == [(0,)]
    with mariadb_server.connect() as connection:
        assert mysql.reset_statistics(connection) == ["performance_schema is off"]
