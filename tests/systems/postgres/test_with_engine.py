"""Targets, workload and engine together: what one makes the other finds."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from loadcell import _engine
from loadcell.plan.workload import DATA_SEED
from loadcell.systems.base import DataSpec, Endpoint
from loadcell.systems.postgres.target import Postgres
from loadcell.workloads.sysbench import Sysbench, SysbenchOptions
from servers import PostgresServer
from specifications import complete
from systems.bench import Bench

from .conftest import query

External = Callable[..., Postgres]

_SECOND = 1_000_000_000


def spec(target: Endpoint, workload: dict[str, Any], seconds: float, clients: int = 4) -> str:
    load = {"clients": clients, "threads": 1, "duration_ns": int(seconds * _SECOND)}
    return json.dumps(
        complete({"seed": DATA_SEED, "target": target.section(), "workload": workload, "load": load})
    )


def prepare(target: Postgres, workload: Sysbench) -> str:
    def load(endpoint: Endpoint) -> int:
        account = json.loads(_engine.prepare(spec(endpoint, workload.engine(), 1), lambda _: None))
        return int(account["rows"])

    return target.prepare(DataSpec(workload.data()), load, will_change=workload.changes_data).how


def run(target: Postgres, workload: Sysbench, clients: int = 4) -> dict[str, Any]:
    specification = spec(target.endpoint(), workload.engine(), 0.5, clients)
    result: dict[str, Any] = json.loads(_engine.run(specification, lambda _: None))
    assert result["outcome"] == "completed"
    return result


def tables(target: Postgres) -> list[Any]:
    """All that a load could have changed."""
    return query(
        target,
        "SELECT id, k, c, pad FROM sbtest1 UNION ALL SELECT id, k, c, pad FROM sbtest2 ORDER BY 1, 2, 3",
    )


@pytest.mark.parametrize("connect", ["tcp", "socket"])
def test_on_our_own_server(shared: Bench[Postgres], connect: str) -> None:
    target = shared.up(connect=connect)
    workload = Sysbench(SysbenchOptions(tables=2, table_size=200 if connect == "tcp" else 300))
    assert prepare(target, workload) == "loaded"
    loaded = tables(target)
    before = target.counters()
    done = run(
        target, workload, clients=1
    )  # alone: rows of a deadlock's victim would count on the server only
    after = target.counters()
    assert tables(target) != loaded

    changed = sum(after[name] - before[name] for name in ("tup_inserted", "tup_updated", "tup_deleted"))
    assert changed == done["lifetime"]["rows_changed"] > 0
    assert after["xact_commit"] - before["xact_commit"] >= done["lifetime"]["transactions"] > 0

    assert prepare(target, workload) == "restored"
    assert tables(target) == loaded, "the same rows, to the last letter"


@pytest.mark.parametrize("role", ["maker", "plain"])
def test_on_a_server_of_somebody_elses(external: External, standing: PostgresServer, role: str) -> None:
    target = external(role)
    target.up()
    workload = Sysbench(SysbenchOptions(tables=2, table_size=200, delete_inserts=3))
    assert prepare(target, workload) == "loaded"
    loaded = tables(target)
    run(target, workload)
    assert tables(target) != loaded
    assert prepare(target, workload) == "restored"
    assert tables(target) == loaded
    reading = Sysbench(SysbenchOptions(script="oltp_read_only", tables=2, table_size=200))
    assert prepare(target, reading) == ("reused" if role == "maker" else "restored")
    run(target, reading)
    assert prepare(target, reading) == "reused"


def test_a_load_that_breaks_off_leaves_nothing_that_could_be_taken_for_data(shared: Bench[Postgres]) -> None:
    target = shared.up()
    workload = Sysbench(SysbenchOptions(tables=2, table_size=150))

    def broken(endpoint: Endpoint) -> int:
        def stop(_: str) -> None:
            raise KeyboardInterrupt

        return int(json.loads(_engine.prepare(spec(endpoint, workload.engine(), 1), stop))["rows"])

    with pytest.raises(KeyboardInterrupt):
        target.prepare(DataSpec(workload.data()), broken, will_change=False)
    assert prepare(target, workload) == "loaded"
    assert len(tables(target)) == 300
