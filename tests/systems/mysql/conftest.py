"""Targets on real MariaDB servers, each with a separate work directory, and a small data set to fill them
with.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pymysql
import pytest

from loadcell.systems.base import DataSpec, ServerEndpoint, TargetContext
from loadcell.systems.mysql.options import MysqlOptions
from loadcell.systems.mysql.target import Mysql
from systems.bench import Bench, temporary

ROWS = 500
DATA = DataSpec({"small": {"rows": ROWS}})
OTHER = DataSpec({"small": {"rows": ROWS, "other": True}})


def session(endpoint: ServerEndpoint) -> pymysql.Connection[Any]:
    """A connection as the load makes it: to where the endpoint says, in its way."""
    return pymysql.connect(
        host=endpoint.host,
        port=endpoint.port,
        unix_socket=endpoint.socket,
        user=endpoint.user,
        password=endpoint.password.get_secret_value() if endpoint.password else "",
        database=endpoint.database,
        autocommit=True,
        ssl_disabled=True,
    )


def ask(endpoint: ServerEndpoint, *statements: str) -> list[tuple[Any, ...]]:
    """The rows that the last of these statements gives."""
    with session(endpoint) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        return list(cursor.fetchall())


def load(endpoint: ServerEndpoint) -> int:
    """Fills a data set as the engine would."""
    ask(
        endpoint,
        "CREATE TABLE sbtest1 (id INTEGER NOT NULL AUTO_INCREMENT PRIMARY KEY, k INTEGER NOT NULL)",
        f"INSERT INTO sbtest1 (k) SELECT seq FROM seq_1_to_{ROWS}",
        "CREATE TABLE sbtest2 (id INTEGER PRIMARY KEY)",
        "INSERT INTO sbtest2 SELECT id FROM sbtest1",
    )
    return 2 * ROWS


def make(context: TargetContext, **options: Any) -> Mysql:
    if options.get("server") != "external":  # nobody waits for a disk here
        quick = {"innodb_flush_log_at_trx_commit": 0, "innodb_log_file_size": "16M"}
        options["settings"] = {**quick, **options.get("settings", {})}
    return Mysql(MysqlOptions(**options), context)


@pytest.fixture
def bench() -> Iterator[Bench[Mysql]]:
    with temporary(make) as bench:
        yield bench
