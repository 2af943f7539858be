"""Options of a plan for MariaDB and MySQL, and the remarks on them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from loadcell.plan.model import Load
from loadcell.systems.mysql.options import MysqlOptions
from loadcell.systems.mysql.server import startup_error
from loadcell.systems.mysql.target import Mysql


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"server": "external"}, "needs a `url`"),
        ({"server": "external", "url": "mysql://u@h", "settings": {"port": 1}}, "never reconfigured"),
        ({"server": "external", "url": "mysql://u@h", "data": "/x"}, "`data` has no meaning"),
        ({"url": "mysql://u@h"}, "belongs to `server: external`"),
        ({"settings": {"datadir": "/x"}}, "loadcell itself sets"),
        ({"settings": {"Bind-Address": "0.0.0.0"}}, "loadcell itself sets `bind_address`"),
        ({"settings": {"a b": 1}}, "not the name of a setting"),
        ({"settings": {"sort_buffer_size": 1, "sort-buffer-size": 2}}, "given twice"),
        ({"settings": {"sql_mode": "a\nb"}}, "more than one line"),
        ({"keep_data": True}, "needs `data`"),
        ({"server": "nosuch"}, "'embedded', 'local' or 'external'"),
        ({"server": "embedded", "version": 10.11}, "`10.11` is not a version"),
        ({"server": "embedded", "version": "10.4"}, "version 10.4 is too old"),
        ({"server": "embedded", "binaries": "/usr/sbin"}, "use `binary`"),
    ],
)
def test_what_makes_no_sense_is_a_mistake(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        MysqlOptions(**options)


@pytest.mark.parametrize(
    ("settings", "clients", "path", "message"),
    [
        ({"innodb_flush_log_at_trx_commit": 2}, 1, "innodb_flush_log_at_trx_commit", "last second's commits"),
        ({"innodb_doublewrite": False}, 1, "innodb_doublewrite", "can damage the database"),
        ({"innodb_buffer_pool_size": "900T"}, 1, "innodb_buffer_pool_size", "this machine has"),
    ],
)
def test_what_is_unwise_is_remarked_upon(
    settings: dict[str, Any], clients: int, path: str, message: str
) -> None:
    [remark] = Mysql.advice(MysqlOptions(settings=settings), Load(clients=clients))
    assert remark.path == f"target.mysql.settings.{path}"
    assert message in remark.message.text


@pytest.mark.parametrize(
    ("settings", "clients", "finding"),
    [
        ({}, 152, "152 clients need as many connections, and the server allows 151"),
        ({"max_connections": 10}, 11, "11 clients need as many connections, and the server allows 10"),
    ],
)
def test_more_clients_than_connections_are_refused(
    settings: dict[str, Any], clients: int, finding: str
) -> None:
    [misfit] = Mysql.refusals(MysqlOptions(settings=settings), clients)
    assert misfit.path == "settings.max_connections"
    assert misfit.message.text == finding
    assert misfit.message.advice == f"max_connections of {clients} or more, or fewer clients"
    assert list(Mysql.refusals(MysqlOptions(server="external", url="mysql://h/d"), clients)) == []


def test_an_ordinary_plan_is_not_remarked_upon() -> None:
    settings: dict[str, Any] = {"innodb_buffer_pool_size": "64M", "innodb_flush_log_at_trx_commit": 1}
    assert Mysql.advice(MysqlOptions(settings=settings), Load(clients=151)) == []
    assert list(Mysql.refusals(MysqlOptions(settings=settings), 151)) == []


@pytest.mark.parametrize(
    ("line", "finding", "advice"),
    [
        (
            "[ERROR] Can't start server: Bind on TCP/IP port. Got error: 98: Address already in use",
            "port",
            "try again",
        ),
        ("[ERROR] InnoDB: Error number 28 means 'No space left on device'", "no space left", "free space"),
        (
            "[ERROR] InnoDB: Cannot allocate memory for the buffer pool",
            "`innodb_buffer_pool_size: 1T`",
            "smaller",
        ),
        ("[ERROR] InnoDB: Unable to lock ./ibdata1 error: 11", "in use", "wait"),
        ("[ERROR] Aborting", "Aborting", "output.log"),
        ("closed: /root: Permission denied", "cannot enter", "run_as"),
    ],
)
def test_why_a_server_did_not_start_is_read_from_its_log(line: str, finding: str, advice: str) -> None:
    trouble = startup_error(
        [f"2026-11-21 10:00:00 0 {line}" if "[" in line else line], {"innodb_buffer_pool_size": "1T"}
    )
    assert finding in trouble.finding
    assert advice in trouble.advice
