"""TPC-C as a person runs it: trials on fresh data, their verdict on consistency, and what happens when the
server goes.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from execution.live import Live, loadcell, until
from servers import PostgresServer
from workloads.test_benchmarksql import PROPS

PLAN = """
target: {{postgres: {{server: external, dsn: "{dsn}"}}}}
workload: {{tpcc: {{warehouses: 1}}}}
load: {{clients: 2, {pace}warmup: 0s, duration: {duration}, interval: 250ms}}
repeats: {repeats}
monitors: []
expect: [errors == 0, tpmC > 0, tpmTotal > 0]
"""

#: The same at once.
SMALL = """
target: {{postgres: {{server: external, dsn: "{dsn}"}}}}
workload: {{sysbench: {{script: oltp_read_write, tables: 1, table_size: 1000}}}}
load: {{clients: 2, rate: 50/s, max_backlog: 1min, warmup: 0s, duration: 500ms, interval: 250ms}}
repeats: 1
monitors: []
expect: [errors == 0]
"""

CHECK = "tpcc-consistency"
#: A load under which a machine has time for others, too.
PACE = "rate: 50/s, max_backlog: 1min, "


def plan(server: PostgresServer, duration: str = "1s", repeats: int = 1, pace: str = PACE) -> str:
    return PLAN.format(dsn=server.dsn(), duration=duration, repeats=repeats, pace=pace)


def working_copy(server: PostgresServer) -> str | None:
    """The database that a trial works on, once it is there."""
    rows = server.sql("SELECT datname FROM pg_database WHERE datname ~ '^loadcell_[0-9a-f]{12}_[0-9a-f]{6}$'")
    return str(rows[0][0]) if rows else None


def test_trials_begin_on_fresh_data_and_end_consistent(
    tmp_path: Path, postgres_server: PostgresServer
) -> None:
    (tmp_path / "props.pg").write_text(
        PROPS.replace("warehouses=10", "warehouses=1").replace("terminals=50", "terminals=3")
        .replace("limitTxnsPerMin=300", "limitTxnsPerMin=0").replace("loadWorkers=100", "loadWorkers=2")
    )  # fmt: skip
    text = plan(postgres_server, repeats=2, pace="").replace(
        "{tpcc: {warehouses: 1}}", "{benchmarksql: {properties: props.pg}}"
    )
    (tmp_path / "plan.yaml").write_text(text.replace("clients: 2, ", ""))
    done = loadcell(tmp_path, "run", "plan.yaml", "--out", "run", "--no-report")
    assert done.returncode == 0, done.stderr
    trials = [
        json.loads(path.read_text()) for path in sorted((tmp_path / "run" / "trials").glob("*/trial.json"))
    ]
    assert [trial["status"] for trial in trials] == ["ok", "ok"]
    assert [trial["data_set"]["how"] for trial in trials] == ["loaded", "restored"]
    for trial in trials:
        assert trial["settings"]["load"]["clients"] == 3
        [check] = [item for item in trial["checks"] if item["name"] == CHECK]
        assert check["verdict"] == "ok"
        assert len(check["detail"]) == 4
        values, operations = trial["totals"]["figures"], trial["operations"]
        seconds = trial["measure"]["duration_s"]
        assert values["tpmC"] == pytest.approx(operations["new_order"]["succeeded"] * 60 / seconds)
        assert values["tpmTotal"] == pytest.approx(trial["totals"]["throughput_per_s"] * 60)
        types = [operation for operation in operations.values() if operation["kind"] == "type"]
        assert sum(item["succeeded"] for item in types) == trial["totals"]["transactions"]["succeeded"]
    assert loadcell(tmp_path, "report", "run", "--format", "md").returncode == 0
    page = (tmp_path / "run" / "report.md").read_text()
    for word in (
        "tpmC",
        "tpmTotal",
        "`new_order`",
        "`stock_level`",
        "3.3.2",
        "not an audited TPC-C",
        "keying or think",
    ):
        assert word in page, word
    assert loadcell(tmp_path, "report", "run", "--lang", "zh", "--format", "md").returncode == 0
    page = (tmp_path / "run" / "report.md").read_text()
    for word in ("tpmC", "各类事务", "一致性条件", "并非经过审计", "思考时间"):
        assert word in page, word
    assert "PWbmsql" not in "".join(
        path.read_text(errors="replace") for path in (tmp_path / "run").rglob("*") if path.is_file()
    )


def test_damage_to_the_data_makes_the_trial_invalid(tmp_path: Path, postgres_server: PostgresServer) -> None:
    with Live(tmp_path, plan(postgres_server, "3s")) as live:
        live.measured()
        name = working_copy(postgres_server)
        assert name is not None
        # As a target would that lost a committed order: its lines are gone.
        postgres_server.sql("DELETE FROM bmsql_order_line WHERE ol_d_id = 3 AND ol_o_id = 1", database=name)
        assert live.end() == 3
        [trial] = live.stored().trials
    assert trial.status == "invalid"
    assert "consistency conditions" in trial.reason
    [check] = [item for item in trial.checks if item.name == CHECK]
    assert check.verdict == "broken"
    assert [count for count in check.detail.values() if isinstance(count, int)] == [0, 0, 0, 1]
    assert check.detail["first"].startswith("warehouse 1 district 3: sum(o_ol_cnt)")


def test_a_server_lost_in_copy_fails_the_trial_with_what_happened(tmp_path: Path) -> None:
    with PostgresServer() as server, Live(tmp_path, plan(server)) as live:
        live.in_phase("prepare")
        until(
            lambda: server.sql("SELECT 1 FROM pg_stat_progress_copy WHERE tuples_processed > 1000 LIMIT 1"),
            "rows on their way",
        )
        server.kill()
        assert live.end() == 3
        [trial] = live.stored().trials
    assert trial.status == "failed"
    assert "exited during prepare" in trial.reason
    assert trial.advice
    assert "Traceback" not in live.err


def test_a_server_lost_under_load_fails_the_trial_with_what_happened(tmp_path: Path) -> None:
    with PostgresServer() as server, Live(tmp_path, plan(server, "60s")) as live:
        live.measured()
        server.kill()
        assert live.end() == 3
        [trial] = live.stored().trials
    assert trial.status == "failed"
    assert "exited during the load" in trial.reason
    assert trial.totals.figures["tpmC"] > 0
    assert not any(check.name == CHECK for check in trial.checks), "there was nobody to ask"


def test_a_server_lost_at_clean_up_costs_nothing_that_was_measured(tmp_path: Path) -> None:
    with PostgresServer() as server, Live(tmp_path, SMALL.format(dsn=server.dsn())) as live:
        until(lambda: list(live.path.glob("trials/001-*/trial.json")), "the finished trial")
        server.kill()
        assert live.end() == 0, live.err
        assert live.statuses() == ["ok"]
    assert "Traceback" not in live.err
