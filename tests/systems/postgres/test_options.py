"""Options of a plan for PostgreSQL, and the remarks on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psutil
import pytest
from pydantic import ValidationError

from loadcell.parts import installed
from loadcell.plan.load import load_text
from loadcell.plan.model import Load
from loadcell.plan.parts import Misfit
from loadcell.plan.problems import PlanError
from loadcell.systems.postgres.options import PostgresOptions, bytes_of, is_off, line
from loadcell.systems.postgres.target import Postgres


def mistakes(**options: Any) -> list[tuple[str, str]]:
    with pytest.raises(ValidationError) as caught:
        PostgresOptions(**options)
    return [(".".join(map(str, error["loc"])), error["msg"]) for error in caught.value.errors()]


def test_a_server_without_a_dsn_and_levels_of_a_setting_are_two_mistakes_at_once(tmp_path: Path) -> None:
    plan = """
target: {postgres: {server: external}}
workload: {sysbench: {}}
load: {clients: 1}
factors: {target.postgres.settings.synchronous_commit: [on, off]}
"""
    with pytest.raises(PlanError) as caught:
        load_text(plan, tmp_path / "plan.yaml", installed(), env={})
    no_dsn, settings = caught.value.problems
    assert "needs a `dsn`" in no_dsn.finding
    assert (settings.path, settings.mark.line) == ("target.postgres.settings", 5)


def test_everything_has_a_default() -> None:
    options = PostgresOptions()
    assert (options.server, options.settings, options.connect, options.fresh) == (
        "embedded",
        {},
        "tcp",
        False,
    )


_IMAGE = {"image": "/var/tmp", "size": "1GiB"}
EXTERNAL = {"server": "external", "dsn": "postgresql://me@db/bench"}


@pytest.mark.parametrize(
    ("options", "path", "part"),
    [
        ({**EXTERNAL, "settings": {"fsync": "off"}}, "settings", "never reconfigured"),
        ({**EXTERNAL, "data": "/x"}, "data", "does not start an external"),
        ({**EXTERNAL, "version": 15}, "version", "does not start an external"),
        ({**EXTERNAL, "fresh": True}, "fresh", "does not start an external"),
        ({"server": "external"}, "dsn", "needs a `dsn`"),
        ({"dsn": "postgresql://me@db/bench"}, "dsn", "belongs to `server: external`"),
        ({"server": "local", "password": "${env:X}"}, "password", "belongs to `server: external`"),
        ({"binaries": "/usr/lib"}, "binaries", "use `binary`"),
        ({"keep_data": True}, "", "`keep_data` needs `data`"),
        ({"keep_data": True, "data": _IMAGE}, "", "an image is deleted with the run"),
        ({**EXTERNAL, "data": _IMAGE}, "data", "does not start an external"),
        ({"settings": {"port": 5433}}, "settings", "a free port is taken at each start"),
        ({"settings": {"Listen_Addresses": "*"}}, "settings", "loadcell itself sets"),
        ({"settings": {"shared buffers": "1GB"}}, "settings", "not the name of a PostgreSQL setting"),
        ({"settings": {"work_mem": "1MB\nfsync = off"}}, "settings", "more than one line"),
        ({"settings": {"work_mem": "1MB", "WORK_MEM": "2MB"}}, "settings", "given twice"),
        ({"version": 10}, "version", "version 10 is too old"),
        ({"version": 17.1}, "version", "`17.1` is not a version"),
        ({"version": "newest"}, "version", "`newest` is not a version"),
        ({"server": "local", "binary": "/a", "binaries": "/b"}, "binaries", "both name the server"),
        ({**EXTERNAL, "binary": "/a"}, "binary", "does not start an external"),
        ({**EXTERNAL, "standbys": {"count": 1}}, "standbys", "does not start an external"),
        ({"standbys": {"count": 0}}, "standbys.count", "greater than or equal to 1"),
        ({"standbys": {"count": 5}}, "standbys.count", "less than or equal to 4"),
        ({"standbys": {"replication": "sync"}}, "standbys.replication", "'synchronous'"),
        ({"standbys": {}, "data": "/x", "keep_data": True}, "", "cannot keep its data"),
        (
            {"standbys": {}, "settings": {"synchronous_standby_names": "*"}},
            "",
            "decides the setting `synchronous_standby_names`",
        ),
        ({"standbys": {}, "settings": {"wal_level": "minimal"}}, "", "cannot replicate"),
        ({"servr": "local"}, "servr", "Extra inputs"),
        ({**EXTERNAL, "sslmode": "maybe"}, "sslmode", "verify-full"),
    ],
)
def test_what_does_not_go_together_is_a_mistake_at_its_place(
    options: dict[str, Any], path: str, part: str
) -> None:
    [(position, message)] = mistakes(**options)
    assert position == path
    assert part in message


def test_no_settings_at_all_are_no_mistake_on_an_external_server() -> None:
    assert PostgresOptions(**EXTERNAL, settings={}).settings == {}


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("512MB", "x = '512MB'\n"),
        (True, "x = 'on'\n"),
        (False, "x = 'off'\n"),
        (0.5, "x = '0.5'\n"),
        ("it's", "x = 'it''s'\n"),
        (r"a\b", "x = 'a\\\\b'\n"),
    ],
)
def test_values_are_quoted_as_the_server_reads_them(value: Any, written: str) -> None:
    assert line("x", value) == written


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ("512MB", 512 << 20),
        ("1GB", 1 << 30),
        ("8kB", 8192),
        (16384, 16384 * 8192),
        ("1.5 GB", 3 << 29),
        ("lots", None),
        ("1gb", None),
    ],
)
def test_memory_is_read_as_the_server_reads_it(value: Any, size: int | None) -> None:
    assert bytes_of(value) == size


def test_off_has_many_spellings() -> None:
    assert all(is_off(word) for word in ("off", "no", "false", "0", 0, "OFF"))
    assert not any(is_off(word) for word in ("on", 1, "yes", "o", "remote_apply"))


def remarks(clients: int = 8, **options: Any) -> dict[str, str]:
    return {
        remark.path: remark.message.text
        for remark in Postgres.advice(PostgresOptions(**options), Load(clients=clients))
    }


def refusals(clients: int, **options: Any) -> list[Misfit]:
    return list(Postgres.refusals(PostgresOptions(**options), clients))


def test_more_clients_than_connections_are_refused() -> None:
    assert refusals(97) == []
    [misfit] = refusals(98)
    assert misfit.path == "settings.max_connections"
    assert "98 clients" in misfit.message.text
    assert misfit.message.advice == "max_connections of 101 or more, or fewer clients"
    assert refusals(160, settings={"max_connections": 163}) == []
    assert refusals(160, settings={"max_connections": "163", "reserved_connections": 1})
    assert refusals(1000, **EXTERNAL) == [], "of an external server's settings nothing is known"


def test_what_is_not_durable_is_noted() -> None:
    messages = remarks(settings={"fsync": False, "synchronous_commit": "off", "full_page_writes": "no"})
    assert sorted(messages) == [
        "target.postgres.settings.fsync",
        "target.postgres.settings.full_page_writes",
        "target.postgres.settings.synchronous_commit",
    ]
    assert remarks(settings={"fsync": "on", "synchronous_commit": "remote_write"}) == {}


def test_more_shared_buffers_than_memory_are_remarked_upon() -> None:
    too_much = psutil.virtual_memory().total // 2**20 + 1
    assert "target.postgres.settings.shared_buffers" in remarks(settings={"shared_buffers": f"{too_much}MB"})
    assert remarks(settings={"shared_buffers": "128MB"}) == {}
