"""Settings that the programs of a managed server do not know are mistakes of the plan."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

from loadcell.parts import installed
from loadcell.plan.load import load_plan
from loadcell.plan.problems import PlanError
from loadcell.systems.mysql.options import MysqlOptions
from loadcell.systems.mysql.target import Mysql
from loadcell.systems.postgres.options import PostgresOptions
from loadcell.systems.postgres.target import Postgres
from loadcell.systems.redis import settings
from loadcell.systems.redis.options import RedisOptions
from loadcell.systems.redis.target import Redis
from loadcell.systems.server import SETTING_UNKNOWN, SETTING_UNKNOWN_NEAR


def unknown(target: type[Any], options: Any) -> dict[str, str | None]:
    """The names most like the settings that are refused as unknown."""
    return {
        misfit.path.rpartition(".")[2]: misfit.message.arguments.get("nearest")
        for misfit in target.misfits(options)
        if misfit.message.code in (SETTING_UNKNOWN.code, SETTING_UNKNOWN_NEAR.code)
    }


@pytest.mark.parametrize("server", ["embedded", "local"])
def test_misspelt_settings_of_postgres(server: str) -> None:
    wrong = {"shard_buffers": "1GB", "completely_different": "on"}
    right = {"work_mem": "64MB", "auto_explain.log_min_duration": 0}
    developers = {"trace_sort": "on", "debug_discard_caches": 0}
    options = PostgresOptions.model_validate({"server": server, "settings": {**wrong, **right, **developers}})
    assert unknown(Postgres, options) == {"shard_buffers": "shared_buffers", "completely_different": None}


def test_misspelt_settings_of_mariadb() -> None:
    wrong = {"inodb_buffer_pool_size": "1G"}
    right = {
        "innodb_buffer_pool_size": "1G", "innodb-flush-log-at-trx-commit": 2, "skip_external_locking": True,
        "skip_log_bin": True, "hot_cache.key_buffer_size": "1M", "max_connection": 200,
        "thread_cache_size": 8, "performance_schema": "on",
    }  # fmt: skip
    options = MysqlOptions.model_validate({"settings": {**wrong, **right}})
    assert unknown(Mysql, options) == {"inodb_buffer_pool_size": "innodb_buffer_pool_size"}


def test_settings_of_plugins_that_the_plan_loads_are_left_to_the_server() -> None:
    settings = {"plugin_load_add": "ha_rocksdb", "rocksdb_block_cache_size": "1G"}
    assert unknown(Mysql, MysqlOptions.model_validate({"settings": settings})) == {}


def test_misspelt_settings_of_redis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    wrong = {"apendonly": "yes", "completely-different": "on"}
    right = {"maxmemory": "1mb", "save": "", "hash-max-ziplist-entries": 1, "key-load-delay": 0}
    options = RedisOptions.model_validate({"settings": {**wrong, **right}})
    assert unknown(Redis, options) == {"apendonly": "appendonly", "completely-different": None}
    [stored] = (tmp_path / "loadcell" / "settings").iterdir()
    assert "appendonly" in json.loads(stored.read_text())
    assert [path for path in Path(tempfile.gettempdir()).glob("loadcell-*/s") if path.is_socket()] == []


def test_misspelt_settings_of_redis_with_a_long_path_of_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The socket of the server that is asked lies in /tmp, where the usual path is too long for one."""
    long = tmp_path / ("l" * 110)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    settings._asked.cache_clear()
    assert unknown(Redis, RedisOptions.model_validate({"settings": {"maxmemry": "3mb"}})) == {
        "maxmemry": "maxmemory"
    }
    assert list(long.iterdir()) == []


def test_a_damaged_cache_of_names_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    settings._asked.cache_clear()
    assert unknown(Redis, RedisOptions.model_validate({"settings": {"maxmemory": "2mb"}})) == {}
    [stored] = (tmp_path / "loadcell" / "settings").iterdir()
    stored.write_text('{"maxmemory"')
    assert unknown(Redis, RedisOptions.model_validate({"settings": {"maxmemry": "2mb"}})) == {
        "maxmemry": "maxmemory"
    }


def test_settings_of_modules_of_redis_are_left_to_the_server() -> None:
    options = {"loadmodule": "/lib/search.so", "search-threads": 4}
    assert unknown(Redis, RedisOptions.model_validate({"settings": options})) == {}


def test_a_misspelt_setting_is_a_mistake_at_its_line_and_column(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "target:\n  postgres:\n    settings: {shared_bufers: 64MB}\n"
        "workload: {pgbench: {}}\nload: {clients: 1, duration: 1s}\n"
    )
    with pytest.raises(PlanError) as caught:
        load_plan(plan, installed())
    [problem] = caught.value.problems
    assert (problem.mark.line, problem.mark.column) == (3, 16)
    assert problem.finding.endswith("did you mean `shared_buffers`?")


def test_nothing_is_refused_where_the_settings_cannot_be_known() -> None:
    of_nowhere = {"bin": "/nowhere/redis-server", "settings": {"maxmemry": "1mb"}}
    assert unknown(Redis, RedisOptions.model_validate(of_nowhere)) == {}
    foreign = {"bin": "/bin/true", "settings": {"maxmemry": "1mb"}}
    assert unknown(Redis, RedisOptions.model_validate(foreign)) == {}
    missing = PostgresOptions.model_validate(
        {"server": "local", "binaries": "/nowhere", "settings": {"shard_buffers": "1GB"}}
    )
    assert unknown(Postgres, missing) == {}
    external = {"server": "external", "dsn": "postgresql://me@host/db"}
    assert unknown(Postgres, PostgresOptions.model_validate(external)) == {}
