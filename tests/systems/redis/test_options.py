"""Options of a plan for Redis, and the remarks on them before anything runs."""

from __future__ import annotations

import resource
from typing import Any

import pytest
from pydantic import ValidationError

from loadcell.plan.model import Load
from loadcell.systems.redis.options import RedisOptions, bytes_of, line
from loadcell.systems.redis.target import Redis


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"settings": {"port": 6379}}, "a free port"),
        ({"settings": {"REQUIREPASS": "x"}}, "a new password at each start"),
        ({"settings": {"no setting": 1}}, "not the name of a setting"),
        ({"settings": {"save": "a\nb"}}, "more than one line"),
        ({"settings": {"max-memory": 1, "max_memory": 2}}, "twice"),
        ({"host": "h"}, "belongs to `server: external`"),
        ({"server": "external"}, "needs a `host`"),
        ({"socket": "/run/redis.sock"}, "belongs to `server: external`"),
        ({"server": "external", "socket": "redis.sock"}, "pattern"),
        ({"server": "external", "socket": "/run/redis.sock", "host": "h"}, "`socket` replaces"),
        ({"server": "external", "socket": "/run/redis.sock", "tls": True}, "`socket` replaces"),
        ({"server": "external", "host": "h", "settings": {"save": ""}}, "never reconfigured"),
        ({"server": "external", "host": "h", "bin": "x"}, "does not start an external"),
        ({"server": "external", "host": "h", "user": "u"}, "needs a `password`"),
        ({"server": "external", "host": "h", "tls_ca": "x"}, "need `tls: true`"),
        ({"server": "external", "host": "h", "port": 0}, "greater than or equal to 1"),
        ({"resp": 1}, "Input should be 2 or 3"),
        ({"url": "redis://h"}, "Extra inputs"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], part: str) -> None:
    with pytest.raises(ValidationError, match=part):
        RedisOptions(**options)


def test_settings_are_written_as_redis_reads_them() -> None:
    for name, value, expected in (
        ("save", "", 'save ""\n'),
        ("save", "3600 1 300 100", "save 3600 1 300 100\n"),
        ("appendonly", True, "appendonly yes\n"),
        ("maxmemory", "64mb", "maxmemory 64mb\n"),
        ("notify-keyspace-events", 'a"b\\', 'notify-keyspace-events "a\\"b\\\\"\n'),
    ):
        assert line(name, value) == expected
    assert bytes_of("64mb") == 64 << 20
    assert bytes_of("1k") == 1000
    assert bytes_of("much") is None


def _paths(options: dict[str, Any], clients: int = 10) -> dict[str, str]:
    return {
        remark.path: remark.message.text
        for remark in Redis.advice(RedisOptions(**options), Load(clients=clients))
    }


def test_what_a_reader_should_know_is_remarked() -> None:
    quiet = {"save": ""}
    assert _paths({"settings": quiet}) == {}
    assert "snapshot" in _paths({})["target.redis.settings.save"]
    assert "10000" in _paths({"settings": quiet}, 10_000)["target.redis.settings.maxclients"]
    lax = {**quiet, "appendonly": "yes", "appendfsync": "no"}
    assert "loses" in _paths({"settings": lax})["target.redis.settings.appendfsync"]
    remarks = _paths({"settings": {**quiet, "maxmemory": "999999gb"}})
    assert "will swap" in remarks["target.redis.settings.maxmemory"]
    assert "noeviction" in remarks["target.redis.settings.maxmemory-policy"]
    assert _paths({"server": "external", "host": "h"}, 10**5) == {}


def test_more_clients_than_the_plan_allows_are_refused() -> None:
    [misfit] = Redis.refusals(RedisOptions(settings={"maxclients": 9}), 9)
    assert (misfit.path, misfit.message.advice) == (
        "settings.maxclients",
        "maxclients of 19 or more, or fewer clients",
    )
    assert list(Redis.refusals(RedisOptions(settings={"maxclients": 10}), 9)) == []
    assert list(Redis.refusals(RedisOptions(), 10_000)) == [], "other products have other defaults"


def test_too_few_file_descriptors_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 1000))
    remarks = _paths({"settings": {"save": "", "maxclients": 5000}}, 1000)["load.clients"]
    assert "1042 file descriptors" in remarks
    assert "may have 1000" in remarks
    assert "ulimit -Hn 1042" in remarks
