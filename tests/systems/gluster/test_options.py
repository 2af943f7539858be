"""Options of GlusterFS as storage, and the checks of a plan with it."""

from __future__ import annotations

import os
from typing import Any

import pytest
from pydantic import ValidationError

from loadcell.systems.embedded.target import Store, StoreOptions
from loadcell.systems.gluster.options import GlusterOptions
from loadcell.systems.gluster.subjects import abilities
from loadcell.systems.redis.options import RedisOptions
from loadcell.systems.redis.target import Redis


def test_options_become_those_of_the_volume() -> None:
    options = GlusterOptions.model_validate(
        {"ping-timeout": "3s", "shards": "64MiB", "options": {"performance.quick-read": False}}
    )
    assert options.volume_options() == {
        "network.ping-timeout": "3",
        "features.shard": "on",
        "features.shard-block-size": "67108864B",
        "performance.quick-read": "off",
    }
    assert GlusterOptions.model_validate(options.model_dump(mode="json")) == options


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"hosts": 2}, "3 replicas on 2 hosts"),
        ({"hosts": 4}, "4 bricks are no multiple of 3"),
        ({"ping_timeout": "1500ms"}, "whole seconds"),
    ],
)
def test_impossible_volumes_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        GlusterOptions.model_validate(settings)


@pytest.mark.parametrize("settings", [{"data": "/var/tmp"}, {"server": "external", "host": "127.0.0.1"}])
def test_storage_excludes_other_places(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="storage"):
        RedisOptions.model_validate({"server": "local", "storage": {"gluster": {}}, **settings})


def test_parts_of_the_storage_are_subjects_of_servers_and_stores() -> None:
    storage = {"gluster": {"hosts": 4, "replica": 2}}
    server = Redis.subject_abilities(RedisOptions.model_validate({"storage": storage}))
    assert {"redis", "storage.brick", "storage.host-4", "storage.management"} <= set(server)
    assert "storage.brick-5" not in server
    store = Store.subject_abilities(StoreOptions.model_validate({"storage": storage}))
    assert set(server) - set(store) == {"redis", "network"}


def test_subjects_have_several_names_and_contain_others() -> None:
    parts = {
        name.removeprefix("storage."): part.parts
        for name, part in abilities(GlusterOptions(hosts=3, bricks=2, replica=3)).items()
    }
    assert parts["brick"] == parts["brick-1"] == {"brick-1"}
    assert parts["bricks"] == parts["volume"] > parts["brick-6"]
    assert parts["host"] == parts["host-1"] == {"host-1", "management-1", "brick-1", "brick-4"}
    assert parts["hosts"] == parts["host-1"] | parts["host-2"] | parts["host-3"]
    assert parts["management"] == parts["management-1"] | parts["management-2"] | parts["management-3"]


def test_check_reports_that_only_root_can(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    [misfit] = Store.misfits(StoreOptions.model_validate({"storage": {"gluster": {}}}))
    assert (misfit.path, misfit.message.code) == ("storage", "gluster.needs-root")
