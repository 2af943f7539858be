"""Standbys of a server that loadcell starts: they stream, are promoted, and are made again after that."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import pytest

from execution.live import until
from loadcell.systems.base import TargetError
from loadcell.systems.postgres import binaries
from loadcell.systems.postgres.standbys import check_version
from loadcell.systems.postgres.target import Postgres
from systems.bench import Bench
from systems.postgres.conftest import DATA, load, query

STANDBY = "postgres.standby-1"


@pytest.mark.parametrize("replication", ["asynchronous", "synchronous"])
def test_a_standby_takes_the_place_of_a_killed_primary(bench: Bench[Postgres], replication: str) -> None:
    target = bench.up(standbys={"count": 1, "replication": replication})
    target.prepare(DATA, load, will_change=True)
    primary, standby = target.subject("postgres"), target.subject(STANDBY)
    assert [role.name for role in target.roles()] == ["server", "standby-1"]
    [before], [after] = primary.processes(), standby.processes()
    written = target.numbered_writes()
    written.create()
    written.write(1)

    os.kill(before, signal.SIGKILL)
    assert standby.promote is not None
    assert standby.promote() == target.endpoint()
    assert (primary.processes(), standby.processes()) == ((), (after,))
    assert target.alive()
    assert query(target, "SELECT count(*) FROM sbtest2") == [(500,)]
    with pytest.raises(OSError, match=r"terminat|closed|connection"):
        written.write(2)  # the session ended with the primary
    written.write(3)
    assert 3 in written.numbers()
    if replication == "synchronous":
        assert 1 in written.numbers()
    written.close()
    assert target.counters() == {}, "those of the primary ended with it"
    assert primary.start is not None
    primary.start()
    assert primary.processes() == (), "there is one primary"

    target.up()
    assert [role.name for role in target.roles()] == ["server", "standby-1"]
    assert target.prepare(DATA, load, will_change=True).how == "loaded"
    assert query(target, "SELECT pg_is_in_recovery()") == [(False,)]
    target.destroy()
    assert not list(bench.work.glob("**/pgdata"))


def test_a_primary_that_runs_is_killed_before_a_promotion(bench: Bench[Postgres]) -> None:
    # lower than the default, with which the directory is made
    target = bench.up(standbys={"count": 2}, settings={"max_connections": 30})
    assert [role.name for role in target.roles()] == ["server", "standby-1", "standby-2"]
    [primary] = target.subject("postgres").processes()
    os.kill(primary, signal.SIGSTOP)
    promote = target.subject("postgres.standby-2").promote
    assert promote is not None
    promote()
    assert target.subject("postgres").processes() == ()
    assert query(target, "SELECT pg_is_in_recovery()") == [(False,)]


def test_the_primary_lives_where_the_standby_cannot_take_its_place(bench: Bench[Postgres]) -> None:
    target = bench.up(standbys={"count": 1})
    [pid] = target.subject(STANDBY).processes()
    os.kill(pid, signal.SIGKILL)
    until(lambda: not target.subject(STANDBY).processes(), "the end of the standby")
    promote = target.subject(STANDBY).promote
    assert promote is not None
    with pytest.raises(TargetError):
        promote()
    assert target.alive()
    assert query(target, "SELECT pg_is_in_recovery()") == [(False,)]


def test_a_standby_that_was_killed_streams_again(bench: Bench[Postgres]) -> None:
    target = bench.up(standbys={"count": 1, "replication": "synchronous"})
    standby = target.subject(STANDBY)
    [pid] = standby.processes()
    os.kill(pid, signal.SIGKILL)
    target.down()
    target.up()
    target.prepare(DATA, load, will_change=False)
    assert len(standby.processes()) == 1


def test_a_server_without_standbys_has_none(embedded: Postgres) -> None:
    with pytest.raises(KeyError):
        embedded.subject(STANDBY)


def test_a_version_without_promotion_by_sql_is_refused() -> None:
    programs = binaries.embedded()
    check_version(programs)
    with pytest.raises(TargetError, match="standbys need PostgreSQL 12"):
        check_version(replace(programs, version="11.22"))
