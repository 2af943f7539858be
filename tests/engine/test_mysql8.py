"""A real MySQL 8: what it does by itself that a MariaDB does not (`caching_sha2_password`, no local data)."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from typing import Any

import pytest

from loadcell.systems.base import Secret, TargetError
from loadcell.systems.mysql.connection import Address
from mysql8 import MysqlServer

from .loads import MS, failure, prepare, run
from .local_data import CASES, assert_equal_rows

PASSWORD = "a secret of some length, 密码"
DATA = {"tables": 2, "table_size": 500}

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" and not os.environ.get("CI"),
    reason="the package with a MySQL 8 has programs for x86-64 alone",
)


@pytest.fixture(scope="module")
def mysql() -> Iterator[MysqlServer]:
    init = (
        f"CREATE USER IF NOT EXISTS app@'%' IDENTIFIED WITH caching_sha2_password BY '{PASSWORD}';\n"
        "GRANT ALL ON *.* TO app@'%';\nCREATE DATABASE IF NOT EXISTS d;\n"
    )
    with MysqlServer(init=init) as server:
        assert server.sql("SELECT @@version, @@local_infile")[0] == ("8.0.15", 0)
        yield server


@pytest.fixture
def forgetful(mysql: MysqlServer) -> MysqlServer:
    """The server, which has nobody's password in its cache."""
    mysql.sql("FLUSH PRIVILEGES")
    return mysql


def app(server: MysqlServer, password: str = PASSWORD, **other: Any) -> dict[str, Any]:
    return {**server.endpoint("d", user="app", password=password), **other}


def address(server: MysqlServer, password: str = PASSWORD, sslmode: str = "disable") -> Address:
    return Address(server.host, server.port, "app", password=Secret(password), sslmode=sslmode)


def test_load_logs_in_with_a_cold_and_a_warm_cache(forgetful: MysqlServer) -> None:
    before = forgetful.encrypted()
    prepare(app(forgetful), DATA)
    for _ in range(2):  # what the server had to check the first time it has in its cache the second
        result = run(app(forgetful), DATA, clients=3, duration_ns=200 * MS)
        assert (result["outcome"], result["lifetime"]["failed"]) == ("completed", 0), result
        assert result["lifetime"]["operations"]["transaction"] > 0
    assert forgetful.encrypted() - before == 1, "that of the question itself"


def test_server_without_elliptic_curves_is_refused_with_what_to_do(mysql: MysqlServer) -> None:
    """This MySQL is built with OpenSSL 1.0.2, in which it does not switch them on."""
    problem = failure(lambda: prepare(app(mysql, sslmode="require"), DATA), "mysql")
    assert "HandshakeFailure" in problem["finding"]
    assert problem["advice"]


@pytest.mark.parametrize("sslmode", ["disable", "require"])
def test_administration_logs_in(forgetful: MysqlServer, sslmode: str) -> None:
    for _ in range(2):
        with address(forgetful, sslmode=sslmode).connect() as connection, connection.cursor() as cursor:
            cursor.execute("SELECT current_user()")
            assert cursor.fetchall() == (("app@%",),)


def test_wrong_password_is_refused(forgetful: MysqlServer) -> None:
    with pytest.raises(TargetError, match="refused user app: Access denied"):
        address(forgetful, "wrong").connect()
    problem = failure(lambda: prepare(app(forgetful, "wrong"), DATA), "mysql")
    assert "Access denied" in problem["finding"]
    assert "password" in problem["advice"]


@pytest.mark.parametrize(("workload", "options", "table"), CASES)
def test_rows_are_the_same_with_and_without_local_data(
    mysql: MysqlServer, workload: str, options: dict[str, Any], table: str
) -> None:
    assert_equal_rows(mysql, workload, options, table)


def test_transactions_that_write_succeed(mysql: MysqlServer) -> None:
    mysql.sql("CREATE DATABASE writes")
    options = {**DATA, "script": "oltp_read_write"}
    prepare(mysql.endpoint("writes"), options)
    result = run(mysql.endpoint("writes"), options, clients=2)
    assert (result["outcome"], result["lifetime"]["failed"]) == ("completed", 0), result
    assert result["lifetime"]["operations"]["transaction"] > 0
