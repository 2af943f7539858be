"""A MariaDB that loadcell runs itself: its settings, its processes, its data sets, its end."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from loadcell.model.json import document
from loadcell.systems.base import ServerEndpoint, TargetError
from loadcell.systems.mysql.target import Mysql
from systems.bench import Bench

from .conftest import DATA, OTHER, ROWS, ask, load


def _count(target_endpoint: ServerEndpoint) -> int:
    return int(ask(target_endpoint, "SELECT count(*) FROM sbtest1")[0][0])


def test_it_comes_up_is_described_and_goes_without_a_trace(bench: Bench[Mysql]) -> None:
    target = bench.up(settings={"innodb_buffer_pool_size": "64M", "innodb-io-capacity": 300})
    assert target.alive()
    [pid] = target.processes()
    assert "mariadbd" in Path(f"/proc/{pid}/comm").read_text()
    if os.geteuid() == 0:
        assert Path(f"/proc/{pid}").stat().st_uid != 0
    made = target.prepare(DATA, load, will_change=False)
    assert (made.how, made.rows) == ("loaded", 2 * ROWS)
    record = document(target.describe())
    assert record["product"] == "MariaDB"
    settings = {setting["name"]: setting for setting in record["settings"]}
    assert settings["innodb_buffer_pool_size"]["value"] == str(64 << 20)
    assert settings["innodb_buffer_pool_size"]["given"] == "64M"
    assert settings["innodb_io_capacity"]["value"] == "300"
    assert record["data"]["type"]
    assert record["database"]["name"] == made.database
    before = target.counters()
    ask(target.endpoint(), "UPDATE sbtest1 SET k = k + 1", "BEGIN", "DELETE FROM sbtest2", "COMMIT")
    after = target.counters()
    assert after["tup_updated"] - before["tup_updated"] == ROWS
    assert after["tup_deleted"] - before["tup_deleted"] == ROWS
    assert after["xact_commit"] - before["xact_commit"] == 1
    assert target.ask("SELECT count(*) FROM sbtest1") == [(ROWS,)]
    target.down()
    assert not target.alive()
    target.destroy()
    assert list(bench.work.iterdir()) == []


def test_the_loads_user_reaches_loadcells_databases_only(bench: Bench[Mysql]) -> None:
    target = bench.up(connect="socket")
    target.prepare(DATA, load, will_change=False)
    endpoint = target.endpoint()
    assert endpoint.socket
    seen = {name for (name,) in ask(endpoint, "SHOW DATABASES")}
    assert seen == {"information_schema", endpoint.database}


def test_what_nobody_changed_is_used_again_and_what_was_changed_is_put_back(bench: Bench[Mysql]) -> None:
    target = bench.up()
    assert target.prepare(DATA, load, will_change=False).how == "loaded"
    assert target.prepare(DATA, load, will_change=False).how == "reused"
    first = target.prepare(DATA, load, will_change=True)
    assert first.how == "reused"
    assert first.kept_copy_s > 0
    ask(target.endpoint(), "DELETE FROM sbtest1 WHERE id > 10")
    for will_change in (True, False):
        again = target.prepare(DATA, load, will_change=will_change)
        assert (again.how, again.method) == ("restored", "data directory copy")
        assert _count(target.endpoint()) == ROWS
        if will_change:
            ask(target.endpoint(), "DELETE FROM sbtest1")
    assert target.prepare(DATA, load, will_change=False).how == "reused"


def test_data_sets_are_put_back_each_by_itself(bench: Bench[Mysql]) -> None:
    target = bench.up()
    for data in (DATA, OTHER):
        assert target.prepare(data, load, will_change=True).how == "loaded"
        ask(target.endpoint(), "DELETE FROM sbtest1")
    for data in (DATA, OTHER):
        assert target.prepare(data, load, will_change=True).how == "restored"
        assert _count(target.endpoint()) == ROWS


def test_another_setting_runs_on_the_same_data(bench: Bench[Mysql]) -> None:
    setting = bench.up()
    setting.prepare(DATA, load, will_change=True)
    ask(setting.endpoint(), "DELETE FROM sbtest1")
    setting.down()
    other = bench.up(settings={"innodb_log_file_size": "32M"})
    assert other.prepare(DATA, load, will_change=True).how == "restored"
    assert _count(other.endpoint()) == ROWS


def test_a_server_that_was_killed_comes_up_again_with_its_data(bench: Bench[Mysql]) -> None:
    target = bench.up(settings={"innodb_flush_log_at_trx_commit": 1})
    target.prepare(DATA, load, will_change=False)
    os.kill(target.processes()[0], signal.SIGKILL)
    deadline = time.monotonic() + 10
    while target.processes() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not target.alive()
    target.up()
    assert target.prepare(DATA, load, will_change=False).how == "reused"
    assert _count(target.endpoint()) == ROWS


def test_data_that_are_kept_are_there_for_the_next_run(bench: Bench[Mysql]) -> None:
    directory = bench.work.parent / "another"
    directory.mkdir(mode=0o755)
    first = bench.up(data=str(directory), keep_data=True)
    first.prepare(DATA, load, will_change=True)
    ask(first.endpoint(), "DELETE FROM sbtest1")
    first.destroy()
    second = bench.up(data=str(directory))
    assert second.prepare(DATA, load, will_change=True).how == "restored"
    assert _count(second.endpoint()) == ROWS
    second.destroy()
    assert list(directory.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "finding", "advice"),
    [
        ({"settings": {"inodb_io_capacity": 5}}, "refused `inodb_io_capacity: 5`", "innodb_io_capacity"),
        ({"binaries": "/nowhere"}, "/nowhere does not contain", "target.mysql.binary"),
        ({"data": "/proc/version"}, "is not a directory", "target.mysql.data"),
    ],
)
def test_what_cannot_come_up_says_why(
    bench: Bench[Mysql], options: dict[str, object], finding: str, advice: str
) -> None:
    with pytest.raises(TargetError) as raised:
        bench.up(**options)
    assert finding in raised.value.finding
    assert advice in raised.value.advice


def test_a_directory_of_somebody_else_is_left_alone(bench: Bench[Mysql]) -> None:
    directory = bench.work.parent / "theirs"
    directory.mkdir()
    (directory / "ibdata1").touch()
    with pytest.raises(TargetError, match="did not create"):
        bench.up(data=str(directory))
    assert (directory / "ibdata1").exists()
