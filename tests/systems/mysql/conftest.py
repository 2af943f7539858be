"""Targets on real MariaDB servers, each with a separate work directory, and a small data set to fill them
with.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pymysql
import pytest

from loadcell.systems.base import DataSpec, ServerEndpoint, TargetContext
from loadcell.systems.mysql.options import MysqlOptions
from loadcell.systems.mysql.target import Mysql

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


@dataclass
class Bench:
    """Makes targets that share one work directory, as the targets of one run do; `log` is what they said."""

    work: Path
    env: dict[str, str] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    made: list[Mysql] = field(default_factory=list)

    def reveal(self, text: str) -> str:
        for name, value in self.env.items():
            text = text.replace(f"${{env:{name}}}", value)
        return text

    def target(self, **options: Any) -> Mysql:
        if options.get("server") != "external":  # nobody waits for a disk here
            quick = {"innodb_flush_log_at_trx_commit": 0, "innodb_log_file_size": "16M"}
            options["settings"] = {**quick, **options.get("settings", {})}
        context = TargetContext(self.work, self.log.append, self.reveal)
        self.made.append(Mysql(MysqlOptions(**options), context))
        return self.made[-1]

    def up(self, **options: Any) -> Mysql:
        target = self.target(**options)
        target.up()
        return target


@pytest.fixture
def bench() -> Iterator[Bench]:
    # A directory that other users can reach; pytest's own are closed to them.
    directory = Path(tempfile.mkdtemp(prefix="loadcell-test-", dir="/var/tmp"))
    directory.chmod(0o755)
    made = Bench(directory / "work")
    made.work.mkdir(mode=0o755)
    yield made
    for target in made.made:
        target.down()
        target.destroy()
    shutil.rmtree(directory, ignore_errors=True)
