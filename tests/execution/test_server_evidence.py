"""A run on a real PostgreSQL, with what the server says of itself in its record."""

from __future__ import annotations

import json
from pathlib import Path

from execution.live import Live, external, loadcell
from frame_values import rows_of, values
from loadcell.store.read import read_run
from servers import PostgresServer

#: Many clients on one branch, which each keeps for a while: they wait for one another, and not for
#: processors.
PLAN = """
target: {postgres: {server: local, settings: {shared_preload_libraries: pg_stat_statements}}}
workload:
  pgbench:
    scale: 1
    scripts: [held]
    inline:
      held: |
        BEGIN;
        UPDATE pgbench_branches SET bbalance = bbalance + 1 WHERE bid = 1;
        UPDATE pgbench_tellers SET tbalance = tbalance + 1 WHERE tid = 1;
        SELECT pg_sleep(0.01);
        END;
load: {clients: 8, warmup: 0s, duration: 4s}
repeats: 1
monitors: [{postgres: {wait_rate: 20/s}}]
"""


def test_what_a_trial_leaves_behind(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN)
    done = loadcell(tmp_path, "run", "plan.yaml", "--out", "run", "--no-report")
    assert done.returncode == 0, done.stderr
    stored = read_run(tmp_path / "run")
    trial = stored.trials[0]
    monitor = trial.monitors["postgres"]
    assert monitor.file == "postgres.csv"
    assert {"waits", "statements"} <= set(monitor.tables)
    assert monitor.connects == 1
    assert monitor.server_cpu_s >= 0
    assert monitor.notes is None
    assert set(monitor.tables.values()) <= set(trial.files)
    waits = stored.samples("postgres.waits")
    assert ("Lock", "transactionid") in set(waits.rows("wait_event_type", "wait_event"))
    assert max(values(waits, "looks")) == 20
    statements = {row["query"]: row for row in rows_of(stored.samples("postgres.statements"))}
    updated = next(row for text, row in statements.items() if text.startswith("UPDATE pgbench_tellers"))
    assert updated["calls"] >= trial.totals.transactions.succeeded
    assert stored.damage == []
    sql = "SELECT monitor, count(*) > 0 AS some FROM samples GROUP BY 1 ORDER BY 1"
    asked = json.loads(loadcell(tmp_path, "query", sql, "run", "--json").stdout)
    assert {"postgres", "postgres.statements", "postgres.waits"} <= {row["monitor"] for row in asked}
    done = loadcell(tmp_path, "report", "run", "--format", "html")
    assert done.returncode == 0, done.stderr
    assert "UPDATE pgbench_tellers" in (tmp_path / "run" / "report.html").read_text()


def test_a_server_lost_in_a_trial_costs_the_monitor_nothing_but_samples(tmp_path: Path) -> None:
    with PostgresServer() as server, Live(tmp_path, external(server.dsn())) as live:
        live.measured()
        server.kill()
        assert live.end() == 3, live.err
        trial = live.stored().trials[0]
    assert trial.status == "failed"
    assert trial.monitors["postgres"].trouble is None
    assert "statements-not-installed" in {note["note"] for note in trial.monitors["postgres"].notes}


def test_a_load_may_have_every_connection_there_is(tmp_path: Path) -> None:
    plan = PLAN.replace(
        "shared_preload_libraries: pg_stat_statements",
        "max_connections: 23, superuser_reserved_connections: 3",
    )
    plan = plan.replace("clients: 8, warmup: 0s, duration: 4s", "clients: 20, warmup: 0s, duration: 1s")
    (tmp_path / "plan.yaml").write_text(plan)
    done = loadcell(tmp_path, "run", "plan.yaml", "--out", "run", "--no-report")
    assert done.returncode == 0, done.stderr
    monitor = read_run(tmp_path / "run").trials[0].monitors["postgres"]
    assert monitor.samples > 0
    assert [note["note"] for note in monitor.notes] == ["statements-not-loaded"]
