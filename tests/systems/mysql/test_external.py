"""An existing server: only what loadcell made is touched, and nothing is reconfigured."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest

from loadcell.model.json import document
from loadcell.systems.base import DataSpec, ServerEndpoint, TargetError
from loadcell.systems.mysql.databases import Databases
from loadcell.systems.mysql.target import Mysql
from mariadb import MariadbServer
from systems.bench import Bench

from .conftest import DATA, OTHER, ROWS, ask, load


def _target(bench: Bench[Mysql], server: MariadbServer, database: str = "", **options: Any) -> Mysql:
    bench.env["MYSQL_SECRET"] = server.password
    return bench.up(
        server="external",
        url=server.url(database),
        password="${env:MYSQL_SECRET}",
        sslmode="disable",
        **options,
    )


def test_data_sets_have_databases_of_their_own(bench: Bench[Mysql], mariadb_server: MariadbServer) -> None:
    target = _target(bench, mariadb_server)
    first = target.prepare(DATA, load, will_change=True)
    assert first.how == "loaded"
    ask(target.endpoint(), "DELETE FROM sbtest1")
    again = target.prepare(DATA, load, will_change=False)
    assert (again.how, again.method) == ("restored", "load")
    assert ask(target.endpoint(), "SELECT count(*) FROM sbtest1") == [(ROWS,)]
    assert target.prepare(DATA, load, will_change=False).how == "reused"
    assert target.processes() == [mariadb_server.pid]
    record = document(target.describe())
    assert (record["server"], record["tls"], record["host"]) == ("external", False, "127.0.0.1")
    target.down()
    assert mariadb_server.sql("SELECT 1") == [(1,)], "it is never stopped"
    target.destroy()
    name = first.database
    assert not mariadb_server.sql(f"SHOW DATABASES LIKE '{name}'")


def test_a_named_database_holds_one_data_set_at_a_time(
    bench: Bench[Mysql], mariadb_server: MariadbServer
) -> None:
    mariadb_server.sql("CREATE DATABASE named")
    target = _target(bench, mariadb_server, "named")
    assert target.prepare(DATA, load, will_change=False).how == "loaded"
    assert target.prepare(OTHER, load, will_change=False).how == "loaded"
    assert target.endpoint().database == "named"
    target.destroy()
    assert mariadb_server.sql("SHOW TABLES", database="named") == []
    assert mariadb_server.sql("SHOW DATABASES LIKE 'named'"), "it was there before"


def test_tables_that_loadcell_did_not_make_are_left_alone(
    bench: Bench[Mysql], mariadb_server: MariadbServer
) -> None:
    mariadb_server.sql("CREATE DATABASE theirs")
    mariadb_server.sql("CREATE TABLE sbtest1 (id INTEGER)", database="theirs")
    target = _target(bench, mariadb_server, "theirs")
    with pytest.raises(TargetError, match="contains objects that loadcell did not create: sbtest1") as raised:
        target.prepare(DATA, load, will_change=False)
    assert "empty database" in raised.value.advice
    target.destroy()
    assert mariadb_server.sql("SHOW TABLES", database="theirs") == [("sbtest1",)]


def test_a_table_put_beside_loadcells_stops_it(bench: Bench[Mysql], mariadb_server: MariadbServer) -> None:
    mariadb_server.sql("CREATE DATABASE mixed")
    target = _target(bench, mariadb_server, "mixed", keep_data=True)
    target.prepare(DATA, load, will_change=True)
    mariadb_server.sql("CREATE TABLE theirs (id INTEGER)", database="mixed")
    with pytest.raises(TargetError, match="did not create: theirs"):
        target.prepare(DATA, load, will_change=False)
    target.destroy()
    assert ("theirs",) in mariadb_server.sql("SHOW TABLES", database="mixed")


def test_a_table_in_a_database_of_loadcells_is_kept_and_reported(
    bench: Bench[Mysql], mariadb_server: MariadbServer
) -> None:
    target = _target(bench, mariadb_server)
    name = target.prepare(DATA, load, will_change=True).database
    mariadb_server.sql("CREATE TABLE precious (id INTEGER)", database=name)
    with pytest.raises(TargetError, match="did not create: precious"):
        target.prepare(DATA, load, will_change=False)
    target.destroy()
    assert ("precious",) in mariadb_server.sql("SHOW TABLES", database=name)
    [note] = bench.notes
    assert note.text.startswith(f"{name} was not dropped: ")
    mariadb_server.sql(f"DROP DATABASE {name}")


def test_a_load_that_was_aborted_is_begun_again(bench: Bench[Mysql], mariadb_server: MariadbServer) -> None:
    def broken(endpoint: ServerEndpoint) -> int:
        ask(endpoint, "CREATE TABLE sbtest1 (id INTEGER)")
        raise RuntimeError("given up")

    target = _target(bench, mariadb_server)
    with pytest.raises(RuntimeError):
        target.prepare(DATA, broken, will_change=False)
    assert target.prepare(DATA, load, will_change=False).how == "loaded"
    assert ask(target.endpoint(), "SELECT count(*) FROM sbtest1") == [(ROWS,)]


class Killed(BaseException):
    """The end of a load by which nothing more is written, as of a process that was killed."""


def _kill_a_load(target: Mysql, data: DataSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    def partial(endpoint: ServerEndpoint) -> int:
        ask(endpoint, "CREATE TABLE sbtest1 (id INTEGER)")
        dead.setattr(Databases, "_contents", Mock(side_effect=TargetError("killed")))
        raise Killed

    with monkeypatch.context() as dead, pytest.raises(Killed):
        target.prepare(data, partial, will_change=False)


def test_of_a_killed_load_in_a_named_database_only_its_tables_are_dropped(
    bench: Bench[Mysql], mariadb_server: MariadbServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    mariadb_server.sql("CREATE DATABASE killed")
    declared = DataSpec(DATA.sections, tables=("sbtest1", "sbtest2"))
    target = _target(bench, mariadb_server, "killed")
    _kill_a_load(target, declared, monkeypatch)
    [(mark,)] = mariadb_server.sql("SELECT mark FROM loadcell_mark", database="killed")
    assert '"loading"' in mark
    mariadb_server.sql("CREATE TABLE precious (id INTEGER)", database="killed")
    with pytest.raises(TargetError, match="did not create: precious"):
        target.prepare(declared, load, will_change=False)
    target.destroy()
    assert ("precious",) in mariadb_server.sql("SHOW TABLES", database="killed")
    mariadb_server.sql("DROP TABLE precious", database="killed")
    again = _target(bench, mariadb_server, "killed")
    assert again.prepare(declared, load, will_change=False).how == "loaded"
    again.destroy()
    assert mariadb_server.sql("SHOW TABLES", database="killed") == []


def test_of_undeclared_tables_those_of_a_failed_load_are_replaced_and_those_of_a_killed_one_stay(
    bench: Bench[Mysql], mariadb_server: MariadbServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(endpoint: ServerEndpoint) -> int:
        ask(endpoint, "CREATE TABLE sbtest1 (id INTEGER)")
        raise RuntimeError("no such column")

    mariadb_server.sql("CREATE DATABASE undeclared")
    target = _target(bench, mariadb_server, "undeclared")
    with pytest.raises(RuntimeError):
        target.prepare(DATA, broken, will_change=False)
    assert target.prepare(DATA, load, will_change=False).how == "loaded"
    _kill_a_load(target, OTHER, monkeypatch)
    with pytest.raises(TargetError, match="did not create: sbtest1"):
        target.prepare(OTHER, load, will_change=False)
    target.destroy()
    assert ("sbtest1",) in mariadb_server.sql("SHOW TABLES", database="undeclared")


def test_a_user_without_rights_learns_what_is_missing(
    bench: Bench[Mysql], mariadb_server: MariadbServer
) -> None:
    mariadb_server.sql("CREATE USER IF NOT EXISTS poor@'%' IDENTIFIED BY 'poor'")
    bench.env["POOR"] = "poor"
    url = f"mysql://poor@{mariadb_server.host}:{mariadb_server.port}"
    target = bench.up(server="external", url=url, password="${env:POOR}")
    with pytest.raises(TargetError, match="not allowed to") as raised:
        target.prepare(DATA, load, will_change=False)
    assert "GRANT" in raised.value.advice


@pytest.mark.parametrize(
    ("change", "finding", "advice"),
    [
        ({"password": "wrong"}, "refused user test", "target.mysql.password"),
        ({"url": "mysql://test@127.0.0.1:1/"}, "no server responds", "host and port"),
        ({"url": "mysql://test@nowhere.invalid/"}, "host name", "target.mysql.url"),
        ({"url": "postgresql://test@127.0.0.1/"}, "not the address", "mysql://"),
        ({"url": "mysql://test@127.0.0.1/d?ssl=1"}, "after the database", "sslmode"),
        ({"sslmode": "require"}, "TLS", "sslmode"),
    ],
)
def test_a_server_that_cannot_be_reached_says_why(
    bench: Bench[Mysql], mariadb_server: MariadbServer, change: dict[str, str], finding: str, advice: str
) -> None:
    options = {"url": mariadb_server.url(), "password": mariadb_server.password, **change}
    with pytest.raises(TargetError) as raised:
        bench.up(server="external", **options)
    assert finding in raised.value.finding, raised.value.finding
    assert advice in raised.value.advice
    assert mariadb_server.password not in raised.value.finding


def test_settings_that_somebody_changed_are_recorded(
    bench: Bench[Mysql], mariadb_server: MariadbServer
) -> None:
    target = _target(bench, mariadb_server)
    [(before,)] = mariadb_server.sql("SELECT @@global.net_retry_count")
    names = {setting["name"] for setting in document(target.describe())["settings"]}
    assert "net_retry_count" not in names
    try:
        mariadb_server.sql(f"SET GLOBAL net_retry_count = {before + 1}")
        settings = {setting["name"]: setting for setting in document(target.describe())["settings"]}
    finally:
        mariadb_server.sql(f"SET GLOBAL net_retry_count = {before}")
    assert settings["net_retry_count"]["value"] == str(before + 1)
    assert not [name for name, setting in settings.items() if setting["value"].startswith("/")]
