"""A Redis that loadcell runs itself: its settings, its processes, its data sets, its end."""

from __future__ import annotations

import os
import signal
import socket
import time
from dataclasses import replace
from pathlib import Path

import pytest

from loadcell.model.json import document
from loadcell.systems.base import TargetError
from loadcell.systems.redis.target import Redis
from systems.bench import Bench

from .conftest import DATA, KEYS, OTHER, ask, load, loader


def test_it_comes_up_is_described_and_goes_without_a_trace(bench: Bench[Redis]) -> None:
    target = bench.up(settings={"save": "", "maxmemory": "64mb", "maxmemory_policy": "allkeys-lru"})
    assert target.alive()
    [pid] = target.processes()
    assert "redis" in Path(f"/proc/{pid}/comm").read_text()
    if os.geteuid() == 0:
        assert Path(f"/proc/{pid}").stat().st_uid != 0
    made = target.prepare(DATA, load, will_change=False)
    assert (made.how, made.rows) == ("loaded", KEYS)
    record = document(target.describe())
    assert (record["product"], record["server"], record["role"]) == ("Redis", "local", "master")
    settings = {setting["name"]: (setting["value"], setting["given"]) for setting in record["settings"]}
    assert settings["maxmemory"] == (str(64 << 20), "64mb")
    assert settings["maxmemory-policy"] == ("allkeys-lru", "allkeys-lru")
    assert settings["save"] == ("", "")
    assert settings["appendonly"] == ("no", None)
    assert record["memory"]["maxmemory"] == 64 << 20
    assert record["database"]["keys"] == KEYS
    assert record["data"]["type"]
    before = target.counters()
    for _ in range(5):
        ask(target.endpoint(), "GET", "key:1")
    after = target.counters()
    assert after["calls_get"] - before.get("calls_get", 0) == 5
    target.down()
    assert not target.alive()
    target.destroy()
    assert list(bench.work.iterdir()) == []


def test_nobody_else_comes_in(bench: Bench[Redis]) -> None:
    target = bench.up()
    endpoint = target.endpoint()
    with pytest.raises(TargetError, match="requires a password"):
        ask(replace(endpoint, password=None), "PING")
    for address in ("127.0.0.1", socket.gethostbyname(socket.gethostname())):
        if not address.startswith("127."):
            with pytest.raises(OSError, match="refused"):
                socket.create_connection((address, endpoint.port), timeout=5)
    [pid] = target.processes()
    assert endpoint.password.get_secret_value() not in Path(f"/proc/{pid}/cmdline").read_text()
    assert endpoint.password.get_secret_value() not in "\n".join(bench.log)


def test_what_nobody_changed_is_used_again_and_what_was_changed_is_loaded_again(bench: Bench[Redis]) -> None:
    target = bench.up()
    assert target.prepare(DATA, load, will_change=False).how == "loaded"
    assert target.prepare(DATA, load, will_change=False).how == "reused"
    assert target.prepare(DATA, load, will_change=True).how == "reused"
    ask(target.endpoint(), "SET", "another", "key")
    assert target.prepare(DATA, load, will_change=False).how == "restored"
    assert ask(target.endpoint(), "EXISTS", "another") == 0
    ask(target.endpoint(), "DEL", "key:7")
    assert target.prepare(DATA, load, will_change=False).how == "loaded", "a key has gone"
    assert target.prepare(OTHER, loader("other:"), will_change=False).how == "loaded"
    assert ask(target.endpoint(), "DBSIZE") == KEYS + 1
    assert ask(target.endpoint(), "EXISTS", "key:7") == 0


def test_a_socket_and_resp2(bench: Bench[Redis]) -> None:
    target = bench.up(connect="socket", resp=2)
    endpoint = target.endpoint()
    assert (Path(endpoint.socket).is_socket(), endpoint.resp) == (True, 2)
    target.prepare(DATA, load, will_change=False)


def test_what_is_persisted_is_there_after_a_restart(bench: Bench[Redis]) -> None:
    persistent = bench.up(settings={"save": "", "appendonly": True, "appendfsync": "always"})
    persistent.prepare(DATA, load, will_change=False)
    os.kill(persistent.processes()[0], signal.SIGKILL)
    deadline = time.monotonic() + 30
    while persistent.alive():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    persistent.up()
    assert persistent.prepare(DATA, load, will_change=False).how == "reused"
    other = bench.target(settings={"save": ""})
    persistent.down()
    other.up()
    assert other.prepare(DATA, load, will_change=False).how == "loaded"


def test_a_directory_is_taken_and_given_back(bench: Bench[Redis]) -> None:
    directory = bench.work / "store age"
    target = bench.up(data=str(directory), settings={"save": ""})
    target.prepare(DATA, load, will_change=False)
    assert target.describe().data["path"].startswith(str(directory))
    target.destroy()
    assert not directory.exists()
    directory.mkdir()
    (directory / "dump.rdb").write_text("theirs")
    with pytest.raises(TargetError, match="data directory of a server that loadcell did not create"):
        bench.up(data=str(directory))
    assert (directory / "dump.rdb").read_text() == "theirs"


@pytest.mark.parametrize(
    ("options", "finding", "advice"),
    [
        (
            {"settings": {"maxmemory-polcy": "noeviction"}},
            "maxmemory-polcy: noeviction",
            "`maxmemory-policy`",
        ),
        ({"settings": {"maxmemory": "much"}}, "maxmemory: much", "target.redis.settings.maxmemory"),
        ({"bin": "/bin/true"}, "does not report its version", "target.redis.bin"),
        ({"bin": "/no/such/redis"}, "is not a program", "target.redis.bin"),
    ],
)
def test_a_server_that_does_not_come_up_says_why(
    bench: Bench[Redis], options: dict[str, object], finding: str, advice: str
) -> None:
    with pytest.raises(TargetError) as raised:
        bench.up(**options)
    assert finding in raised.value.finding, raised.value.finding
    assert advice in raised.value.advice, raised.value.advice


def test_no_server_on_the_machine(bench: Bench[Redis], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("loadcell.systems.redis.server._PLACES", ("/nowhere",))
    with pytest.raises(TargetError, match="no Redis server found") as raised:
        bench.up()
    assert "apt-get install redis-server" in raised.value.advice
