"""Plans drafted from property files of BenchmarkSQL."""

from __future__ import annotations

from pathlib import Path

import pytest

from drafting.drafted import drafted, init, refused, run
from servers import PostgresServer

PROPS = """\
db=postgres
driver=org.postgresql.Driver
conn=jdbc:postgresql://db.example:5433/bench
user=benchmarksql
password=sesame-17
warehouses=10
loadWorkers=4
terminals=40
runTxnsPerTerminal=0
runMins=5
limitTxnsPerMin=0
terminalWarehouseFixed=true
newOrderWeight=45
paymentWeight=43
orderStatusWeight=4
deliveryWeight=4
stockLevelWeight=4
resultDirectory=my_result
"""


def test_settings_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "props.pg").write_text(PROPS)
    plan = drafted(tmp_path, "props.pg", variables=("PGPASSWORD",))
    assert plan["target"]["postgres"] == {
        "server": "external", "dsn": "postgresql://benchmarksql@db.example:5433/bench",
        "password": "${env:PGPASSWORD}",
    }  # fmt: skip
    assert plan["workload"]["tpcc"] == {
        "warehouses": 10, "load_workers": 4, "limit_txns_per_min": 0, "new_order_weight": 45,
        "payment_weight": 43, "order_status_weight": 4, "delivery_weight": 4, "stock_level_weight": 4,
        "terminal_warehouse_fixed": True,
    }  # fmt: skip
    assert plan["load"] == {"clients": 40, "duration": "5min", "warmup": "5s"}


def test_no_password_is_written(tmp_path: Path) -> None:
    (tmp_path / "props.pg").write_text(PROPS)
    result = init(tmp_path, "props.pg", "--out", "plan.yaml")
    assert result.returncode == 0, result.stderr
    assert "sesame-17" not in (tmp_path / "plan.yaml").read_text() + result.stderr
    assert "resultDirectory" in result.stderr  # without a meaning here


def test_mysql_and_transactions(tmp_path: Path) -> None:
    changed = PROPS.replace("postgresql://db.example:5433", "mysql://db.example").replace(
        "=postgres\n", "=mysql\n"
    )
    changed = changed.replace("runMins=5", "runMins=0").replace("PerTerminal=0", "PerTerminal=100")
    (tmp_path / "props.mysql").write_text(changed)
    plan = drafted(tmp_path, "props.mysql", variables=("MYSQL_PWD",))
    assert plan["target"]["mysql"]["url"] == "mysql://benchmarksql@db.example:3306"
    assert plan["load"]["requests_per_client"] == 100


@pytest.mark.parametrize(
    ("setting", "instead", "message"),
    [("runMins=5", "runMins=soon", "runMins"), ("deliveryWeight=4", "deliveryWeight=40", "136")],
)
def test_a_wrong_file(tmp_path: Path, setting: str, instead: str, message: str) -> None:
    (tmp_path / "props.pg").write_text(PROPS.replace(setting, instead))
    assert message in refused(tmp_path, "props.pg")


def test_it_runs(tmp_path: Path, postgres_server: PostgresServer) -> None:
    where = f"//{postgres_server.host}:{postgres_server.port}/postgres"
    changed = PROPS.replace("//db.example:5433/bench", where).replace("user=benchmarksql", "user=postgres")
    changed = changed.replace("warehouses=10", "warehouses=1").replace("terminals=40", "terminals=2")
    (tmp_path / "props.pg").write_text(changed)
    drafted(tmp_path, "props.pg", variables=("PGPASSWORD",))
    [trial] = run(tmp_path, PGPASSWORD="any-secret")
    assert (trial.status, trial.totals.transactions.failed) == ("ok", 0), trial.reason
