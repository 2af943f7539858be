"""Servers that are not as expected: a reason for each, within the plan's limits, and never a fault."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from execution.live import Live
from hostile import Hostile, never
from mariadb import MariadbServer
from proxy import Proxy, Replaced, silent_after
from redis_server import RedisServer
from servers import PostgresServer

#: Each phase may take so long; none does with a server that answers.
LIMITS = "limits: {up: 2s, prepare: 2s, load_slack: 1s, collect: 2s, verify: 2s, cleanup: 2s}\n"
#: As long as a busy machine needs, where a limit is not what is tested.
PATIENT = LIMITS.replace("2s", "30s").replace("1s", "30s")
LOAD = "load: {clients: 2, warmup: 0s, duration: 500ms, interval: 100ms}\nrepeats: 1\nmonitors: []\n"
POSTGRES = """
target: {{postgres: {{server: external, dsn: 'postgresql://postgres@127.0.0.1:{port}/postgres'}}}}
workload: {{sysbench: {{script: oltp_read_only, tables: 1, table_size: 100}}}}
"""
MYSQL = """
target: {{mysql: {{server: external, url: 'mysql://test@127.0.0.1:{port}', password: '${{env:SECRET}}'}}}}
workload: {{sysbench: {{script: oltp_read_only, tables: 1, table_size: 100}}}}
"""
REDIS = """
target: {{redis: {{server: external, host: 127.0.0.1, port: {port}, password: '${{env:SECRET}}'}}}}
workload: {{kv: {{value_size: 40B, keys: 100}}}}
"""
HTTP = """
target: {{http: {{url: 'http://127.0.0.1:{port}/'}}}}
workload: {{http: {{}}}}
"""
#: An answer to a query that has no rows.
OK = b"\x07\0\0\1\0\0\0\2\0\0\0"
#: Five columns, of which the first is no definition.
BROKEN = b"\1\0\0\1\5" + b"\1\0\0\2\xfb"


def ended(home: Path, plan: str, port: int, limits: str = LIMITS) -> tuple[Any, float]:
    """The one trial's record, and how long the run went on after it, in seconds."""
    with Live(home, plan.format(port=port) + LOAD + limits, env={"SECRET": "secret"}) as live:
        live.end()
        stored = live.stored()
    [trial] = stored.trials
    assert "fault in loadcell" not in (trial.reason or ""), trial.reason
    instants = [datetime.fromisoformat(text) for text in (trial.ended_utc, stored.run.ended_utc)]
    return trial, (instants[1] - instants[0]).total_seconds()


def test_a_database_cluster_without_an_encoding_is_measured_as_any_other(tmp_path: Path) -> None:
    with PostgresServer(encoding="SQL_ASCII") as server:
        trial, _ = ended(tmp_path, POSTGRES, server.port, PATIENT)
    assert trial.status == "ok", trial.reason


@pytest.mark.parametrize(
    ("word", "answer", "status"),
    [
        (b"CONFIG", b"+OK\r\n", "ok"),
        (b"DBSIZE", b"+OK\r\n", "failed"),
        (b"commandstats", b"*1\r\n:3\r\n", "ok"),
    ],
)
def test_a_redis_that_answers_with_another_type(
    tmp_path: Path, redis_server: RedisServer, word: bytes, answer: bytes, status: str
) -> None:
    replaced = Replaced(word, answer)
    with Proxy(("127.0.0.1", redis_server.port), replaced.asked, replaced.answered) as proxy:
        trial, _ = ended(tmp_path, REDIS, proxy.port, PATIENT)
    assert trial.status == status
    assert trial.reason_code == (None if status == "ok" else "server.not-understood")


@pytest.mark.parametrize(("word", "answer"), [(b"SELECT", OK), (b"STATUS", BROKEN)])
def test_a_mysql_whose_answers_are_none(
    tmp_path: Path, mariadb_server: MariadbServer, word: bytes, answer: bytes
) -> None:
    replaced = Replaced(word, answer)
    with Proxy(("127.0.0.1", mariadb_server.port), replaced.asked, replaced.answered) as proxy:
        trial, _ = ended(tmp_path, MYSQL, proxy.port, PATIENT)
    assert (trial.status, trial.reason_code) == ("failed", "server.not-understood")


@pytest.mark.parametrize(
    ("plan", "word", "phase"),
    [
        (REDIS, b"commandstats", "warmup"),
        (MYSQL, b"CREATE", "prepare"),
        (POSTGRES, b"pg_stat_database", "warmup"),
    ],
)
def test_a_server_that_falls_silent_ends_a_trial_by_its_limit(
    tmp_path: Path, request: pytest.FixtureRequest, plan: str, word: bytes, phase: str
) -> None:
    kind = {REDIS: "redis_server", MYSQL: "mariadb_server", POSTGRES: "postgres_server"}[plan]
    limits = LIMITS if phase == "prepare" else LIMITS.replace("prepare: 2s", "prepare: 30s")
    with Proxy(("127.0.0.1", request.getfixturevalue(kind).port), silent_after(word)) as proxy:
        trial, after_s = ended(tmp_path, plan, proxy.port, limits)
    assert trial.status == "timed-out", trial.reason
    late = next(item for item in trial.phases if item.status == "timed-out")
    assert late.name == phase
    assert late.duration_s < 2 + 5
    assert after_s < 2 + 5, "the target is put away within its limit, too"


@pytest.mark.parametrize("count", [2, 3])
def test_a_server_that_no_longer_tells_its_processes(
    tmp_path: Path, redis_server: RedisServer, count: int
) -> None:
    """Swallow all answers from the given one about the server itself on."""
    asked = 0

    def change(data: bytes) -> bytes | None:
        nonlocal asked
        asked += b"# Server" in data
        return None if asked >= count else data

    with Proxy(("127.0.0.1", redis_server.port), answered=change) as proxy:
        trial, after_s = ended(tmp_path, REDIS, proxy.port)
    assert trial.status in ("timed-out", "failed"), trial.reason
    assert all((phase.duration_s or 0) < 2 + 5 for phase in trial.phases)
    assert after_s < 2 + 5


def test_a_server_that_never_answers_a_request(tmp_path: Path) -> None:
    with Hostile(never) as server:
        longer = LIMITS.replace("1s", "10s").replace("2s", "10s")
        trial, _ = ended(tmp_path, HTTP, server.port, longer)
    assert (trial.status, trial.reason_code) == ("failed", "nothing-ended")
    assert sum(phase.duration_s or 0 for phase in trial.phases) < 0.5 + 5 + 5, "window, drain and five more"
