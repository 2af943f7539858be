"""Servers that loadcell runs itself: brought up, set as the plan says, asked, removed."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from loadcell.model.json import document
from loadcell.systems.base import DataSpec, Secret, TargetError
from loadcell.systems.postgres.target import Postgres
from systems.bench import Bench

from .conftest import DATA, ROWS, load, query, session


@pytest.mark.parametrize("options", [{"server": "embedded"}, {"server": "local"}])
def test_a_server_lives_from_up_to_destroy(bench: Bench[Postgres], options: dict[str, object]) -> None:
    target = bench.up(**options)
    assert target.alive()
    [postmaster] = target.processes()
    assert psutil.Process(postmaster).name() == "postgres"

    done = target.prepare(DATA, load, will_change=False)
    assert (done.how, query(target, "SELECT count(*) FROM sbtest1")) == ("loaded", [(ROWS,)])

    target.up()
    assert target.processes() == [postmaster], "a server that answers is left alone"

    target.down()
    assert not target.alive()
    assert target.processes() == []
    assert not psutil.pid_exists(postmaster)

    target.up()
    assert target.prepare(DATA, load, will_change=False).how == "reused"
    assert query(target, "SELECT count(*) FROM sbtest1") == [(ROWS,)]

    target.destroy()
    assert not target.alive()
    assert list(bench.work.iterdir()) == []
    target.destroy()


def test_root_runs_it_as_another_user_and_a_user_as_itself(embedded: Postgres) -> None:
    owner = psutil.Process(embedded.processes()[0]).uids().real
    assert (owner == os.geteuid()) == (os.geteuid() != 0)
    assert embedded.describe().run_as == psutil.Process(embedded.processes()[0]).username()


def test_the_newest_embedded_version_is_preferred(embedded: Postgres) -> None:
    assert embedded.describe().version_number // 10000 == 18


def test_it_listens_on_the_loopback_interface_only(embedded: Postgres) -> None:
    listening = [
        c.laddr
        for c in psutil.Process(embedded.processes()[0]).net_connections("inet")
        if c.status == "LISTEN"
    ]
    assert listening == [("127.0.0.1", embedded.endpoint().port)]


def test_settings_are_read_back_with_where_they_came_from(embedded: Postgres) -> None:
    settings = {setting["name"]: setting for setting in document(embedded.describe())["settings"]}
    assert settings["shared_buffers"] == {
        "name": "shared_buffers",
        "value": "48MB",
        "setting": "6144",
        "unit": "8kB",
        "source": "configuration file",
        "pending_restart": False,
        "given": "48MB",
    }
    assert (settings["fsync"]["value"], settings["fsync"]["given"]) == ("off", False)
    assert (settings["work_mem"]["source"], settings["work_mem"]["given"]) == ("default", None)
    assert "hba_file" not in settings


def test_a_setting_that_administration_overrides_for_itself_is_read_back_as_the_load_has_it(
    embedded: Postgres,
) -> None:
    settings = {setting["name"]: setting for setting in document(embedded.describe())["settings"]}
    commit = settings["synchronous_commit"]
    assert (commit["value"], commit["source"]) == ("off", "configuration file")


def test_the_record_says_what_the_data_lies_on(embedded: Postgres) -> None:
    embedded.prepare(DATA, load, will_change=False)
    record = document(embedded.describe())
    assert Path(record["data"]["mount"]).is_mount()
    assert record["data"]["type"]
    assert record["data"]["free_bytes"] > 0
    assert record["size_bytes"] > record["database"]["size_bytes"] > 0
    assert (record["database"]["collation"], record["database"]["encoding"]) == ("C", "UTF8")


def test_the_load_is_no_superuser_and_uses_a_password(embedded: Postgres) -> None:
    embedded.prepare(DATA, load, will_change=False)
    assert query(embedded, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user") == [(False,)]
    with pytest.raises(Exception, match="password authentication failed"):
        session(replace(embedded.endpoint(), password=Secret("another")))


def test_the_load_can_use_the_unix_socket(shared: Bench[Postgres]) -> None:
    target = shared.up(connect="socket")
    target.prepare(DATA, load, will_change=False)
    socket = target.endpoint().socket
    assert Path(socket).is_socket()
    assert query(target, "SELECT inet_client_addr()") == [(None,)]


def test_a_work_directory_with_a_long_name_is_no_trouble(bench: Bench[Postgres]) -> None:
    bench.work = bench.work / ("long" * 30)
    bench.work.mkdir(mode=0o755)
    target = bench.up(connect="socket")
    target.prepare(DATA, load, will_change=False)
    assert query(target, "SELECT count(*) FROM sbtest1") == [(ROWS,)]
    directory = Path(target.endpoint().socket).parent
    target.down()
    assert not directory.exists()


def test_one_data_directory_serves_targets_with_other_settings(shared: Bench[Postgres]) -> None:
    first = shared.up(settings={"work_mem": "8MB"})
    first.prepare(DATA, load, will_change=False)
    first.down()
    second = shared.up(settings={"work_mem": "16MB"})
    assert second.prepare(DATA, load, will_change=False).how == "reused"
    assert query(second, "SHOW work_mem") == [("16MB",)]


def test_fresh_restarts_the_server_for_each_trial(shared: Bench[Postgres]) -> None:
    target = shared.up(fresh=True)
    data = DataSpec({"small": "fresh"})
    before = target.processes()
    target.prepare(data, load, will_change=False)
    first = target.processes()
    assert first != before, "loading filled the buffers"
    target.up()
    second = target.processes()
    assert second != first
    assert target.prepare(data, load, will_change=False).how == "reused"
    assert target.processes() == second


def test_a_killed_server_recovers_at_the_next_up(shared: Bench[Postgres]) -> None:
    target = shared.up()
    target.prepare(DATA, load, will_change=True)
    query(target, "DELETE FROM sbtest1")
    os.kill(target.processes()[0], signal.SIGKILL)
    deadline = time.monotonic() + 10
    while target.processes() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not target.alive()

    target.up()
    assert target.alive()
    assert target.prepare(DATA, load, will_change=True).how == "restored"
    assert query(target, "SELECT count(*) FROM sbtest1") == [(ROWS,)]


def test_what_the_server_says_goes_to_the_log(shared: Bench[Postgres]) -> None:
    shared.up().down()
    assert any("database system is ready to accept connections" in line for line in shared.log)
    assert any("database system is shut down" in line for line in shared.log), "a fast shutdown, not a crash"


def test_counters_hold_what_the_load_did(shared: Bench[Postgres]) -> None:
    target = shared.up(server="local")
    target.prepare(DATA, load, will_change=True)
    before = target.counters()
    with session(target.endpoint()) as connection:
        for number in range(7):
            connection.execute("UPDATE sbtest1 SET k = 0 WHERE id = %s", [number + 1])
        connection.execute("DELETE FROM sbtest2 WHERE id <= 5")
        connection.execute("INSERT INTO sbtest1 (k) VALUES (1), (2), (3)")
    after = target.counters()
    grown = {name: after[name] - before[name] for name in after}
    assert (grown["tup_updated"], grown["tup_deleted"], grown["tup_inserted"]) == (7, 5, 3)
    assert grown["xact_commit"] >= 9
    assert grown["wal_bytes"] > 0
    assert {"xact_rollback", "blks_hit", "blks_read", "deadlocks", "temp_bytes", "checkpoints"} <= set(after)


def test_data_go_where_the_plan_says_and_away_again(bench: Bench[Postgres], another_directory: Path) -> None:
    directory = another_directory / "made" / "by-us"
    target = bench.up(data=str(directory))
    assert (directory / "postgres-18" / "pgdata" / "PG_VERSION").exists()
    assert target.describe().data["path"].startswith(str(directory))
    target.destroy()
    assert not directory.exists()


def test_a_directory_that_was_there_stays_when_the_data_goes(
    bench: Bench[Postgres], another_directory: Path
) -> None:
    (another_directory / "other.txt").write_text("not ours")
    target = bench.up(data=str(another_directory))
    target.destroy()
    assert [path.name for path in another_directory.iterdir()] == ["other.txt"]


def test_kept_data_is_there_for_the_next_run(bench: Bench[Postgres], another_directory: Path) -> None:
    target = bench.up(data=str(another_directory), keep_data=True)
    target.prepare(DATA, load, will_change=True)
    target.down()
    target.destroy()

    bench.work = bench.work / "next-run"
    bench.work.mkdir()
    target = bench.up(data=str(another_directory), keep_data=True)
    databases = "SELECT count(*) FROM pg_database WHERE starts_with(datname, 'loadcell_')"
    assert query(target, databases) == [(1,)], "the working copy is not kept"
    assert target.prepare(DATA, load, will_change=False).how == "reused"


def test_the_second_on_one_data_directory_learns_who_uses_it(
    bench: Bench[Postgres], another_directory: Path
) -> None:
    first = bench.up(data=str(another_directory))
    second = bench.target(data=str(another_directory))
    with pytest.raises(TargetError, match=f"in use by the server with process id {first.processes()[0]}"):
        second.up()
    second.destroy()
    assert first.alive(), "and it harms nobody"
