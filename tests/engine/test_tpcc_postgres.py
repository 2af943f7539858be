"""TPC-C on a real PostgreSQL, one warehouse: what is loaded, what terminals do to it, and that it adds up."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from typing import Any

import psycopg
import pytest

from engine.loads import (
    MS,
    SECOND,
    Event,
    Result,
    assert_counted,
    failure,
    operation,
    prepare,
    run,
    specification,
    until_gone,
)
from loadcell import _engine
from loadcell.workloads.tpcc import check_consistency
from servers import PostgresServer

load_data = partial(prepare, workload="tpcc")
run_terminals = partial(run, workload="tpcc")

TYPES = ("new_order", "payment", "order_status", "delivery", "stock_level")
ROWS = {
    "warehouse": 1,
    "district": 10,
    "customer": 30_000,
    "history": 30_000,
    "oorder": 30_000,
    "new_order": 9_000,
    "item": 100_000,
    "stock": 100_000,
    "config": 4,
}


class Database:
    """One warehouse, loaded once for all tests here: each leaves it changed, and none may leave it
    inconsistent.
    """

    def __init__(self, server: PostgresServer, name: str) -> None:
        self.server = server
        self.name = name
        server.sql(f"CREATE DATABASE {name}")
        server.sql("CREATE EXTENSION pg_stat_statements", database=name)
        self.events: list[Event] = []
        self.account = load_data(self.endpoint(), {"warehouses": 1}, on_event=self.events.append)

    def endpoint(self, **other: Any) -> dict[str, Any]:
        return self.server.endpoint(self.name, **other)

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        return self.server.sql(statement, database=self.name)

    def number(self, statement: str) -> Any:
        return self.sql(statement)[0][0]

    def run(self, tpcc: dict[str, Any], *, target: dict[str, Any] | None = None, **load: Any) -> Result:
        result = run_terminals(
            self.endpoint(**(target or {})), {"warehouses": 1, **tpcc}, **{"duration_ns": 500 * MS, **load}
        )
        until_gone(self.server, self.name)
        return result

    def broken(self) -> list[str]:
        """The conditions that do not hold, by their numbers."""
        return [condition.says[0] for condition in check_consistency(self.sql) if condition.wrong]


@pytest.fixture(scope="module")
def tpcc(postgres_server: PostgresServer) -> Database:
    postgres_server.sql("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
    return Database(postgres_server, "tpcc")


class TestWhatIsLoaded:
    """Before any load: these come first."""

    def test_cardinalities(self, tpcc: Database) -> None:
        counts = {name: tpcc.number(f"SELECT count(*) FROM bmsql_{name}") for name in ROWS}
        assert counts == ROWS
        lines = tpcc.number("SELECT count(*) FROM bmsql_order_line")
        assert abs(lines - 300_000) < 3_000  # 30,000 of 10 lines on average, with a standard deviation of 550
        assert tpcc.account["rows"] == sum(ROWS.values()) + lines
        assert 80e6 < tpcc.account["size_bytes"] < 160e6

    def test_it_is_consistent(self, tpcc: Database) -> None:
        assert tpcc.broken() == []

    def test_progress_is_reported_stage_by_stage(self, tpcc: Database) -> None:
        doing = list(dict.fromkeys(event["doing"] for event in tpcc.events))
        assert doing == ["tables", "rows", "indexes", "vacuum", "foreign keys"]
        assert tpcc.events[-1]["done_rows"] == tpcc.events[-1]["total_rows"] == tpcc.account["rows"]

    def test_keys_and_indexes_are_those_of_benchmarksql(self, tpcc: Database) -> None:
        constraints = tpcc.sql(
            "SELECT conname, contype::text FROM pg_constraint WHERE conname LIKE '%key' ORDER BY 1"
        )
        primary = [name for name, kind in constraints if kind == "p"]
        assert primary == sorted(f"bmsql_{name}_pkey" for name in [*ROWS, "order_line"])
        assert [name for name, kind in constraints if kind == "f"] == [
            "c_district_fkey",
            "d_warehouse_fkey",
            "h_customer_fkey",
            "h_district_fkey",
            "no_order_fkey",
            "o_customer_fkey",
            "ol_order_fkey",
            "ol_stock_fkey",
            "s_item_fkey",
            "s_warehouse_fkey",
        ]
        assert tpcc.number("SELECT bool_and(convalidated) FROM pg_constraint")
        others = tpcc.sql("SELECT indexname FROM pg_indexes WHERE indexname LIKE 'bmsql_%idx1' ORDER BY 1")
        assert others == [("bmsql_customer_idx1",), ("bmsql_oorder_idx1",)]
        assert (
            tpcc.number("SELECT count(*) FROM pg_class WHERE relname LIKE 'bmsql%' AND relkind = 'i'") == 12
        )
        assert tpcc.number("SELECT last_value FROM bmsql_hist_id_seq") == 30_000

    def test_tables_are_vacuumed_and_known_to_the_planner(self, tpcc: Database) -> None:
        # Almost every page: VACUUM passes by one that is being written out at that moment.
        assert tpcc.sql(
            "SELECT reltuples, relallvisible > 0.9 * relpages FROM pg_class WHERE relname = 'bmsql_stock'"
        ) == [(100_000.0, True)]

    def test_values_are_those_of_the_specification(self, tpcc: Database) -> None:
        assert tpcc.number("SELECT count(*) FROM bmsql_oorder WHERE o_carrier_id IS NULL") == 9_000
        assert (
            tpcc.number("SELECT count(*) FROM bmsql_order_line WHERE ol_delivery_d IS NULL AND ol_amount = 0")
            == 0
        )
        assert (
            tpcc.number("SELECT count(*) FROM bmsql_order_line WHERE ol_o_id < 2101 AND ol_amount <> 0") == 0
        )
        assert tpcc.number("SELECT count(DISTINCT (o_d_id, o_c_id)) FROM bmsql_oorder") == 30_000
        assert tpcc.number("SELECT count(DISTINCT c_last) FROM bmsql_customer") == 1_000
        original = tpcc.number("SELECT avg((s_data LIKE '%ORIGINAL%')::int) FROM bmsql_stock")
        assert Decimal("0.095") < original < Decimal("0.105")
        assert tpcc.sql("SELECT cfg_value FROM bmsql_config WHERE cfg_name = 'warehouses'") == [("1",)]


def test_workers_make_no_difference_to_what_is_loaded(tpcc: Database, database: str) -> None:
    load_data(tpcc.server.endpoint(database), {"warehouses": 1, "load_workers": 3})
    for table, key in (
        ("item", "i_id"),
        ("customer", "c_d_id, c_id"),
        ("order_line", "ol_d_id, ol_o_id, ol_number"),
    ):
        digest = f"SELECT md5(string_agg(t::text, '|' ORDER BY {key})) FROM bmsql_{table} t"
        # The other database may have been worked on: of its orders only the first 2,100 stay as they were
        # loaded.
        if table == "order_line":
            digest += " WHERE ol_o_id < 2101"
        if table == "customer":
            digest = digest.replace("t::text", "c_last || c_first || c_street_1 || c_phone || c_since")
        assert tpcc.server.sql(digest, database=database) == tpcc.sql(digest), table


@pytest.mark.parametrize("protocol", ["simple", "extended", "prepared"])
def test_what_terminals_did_is_what_the_server_did(tpcc: Database, protocol: str) -> None:
    def there() -> dict[str, Any]:
        counts = {
            name: tpcc.number(f"SELECT count(*) FROM bmsql_{name}")
            for name in ("oorder", "history", "new_order")
        }
        [sums] = tpcc.sql("SELECT sum(w_ytd), (SELECT sum(h_amount) FROM bmsql_history) FROM bmsql_warehouse")
        return {**counts, "paid": sums[0], "noted": sums[1]}

    def commits() -> tuple[int, int]:
        until_gone(tpcc.server, tpcc.name)
        counted = "SELECT xact_commit, xact_rollback FROM pg_stat_database WHERE datname = 'tpcc'"
        return tpcc.server.sql(counted)[0]  # type: ignore[return-value]

    before = there()
    tpcc.sql("SELECT pg_stat_statements_reset()")
    committed, rolled_back = commits()
    result = tpcc.run({"protocol": protocol}, seed=len(protocol), clients=4, warmup_ns=0)
    committed, rolled_back = (
        now - then for now, then in zip(commits(), (committed, rolled_back), strict=True)
    )
    lifetime, done = result["lifetime"], result["lifetime"]["operations"]

    assert (result["outcome"], result["errors"]) == ("completed", [])
    assert_counted(result)
    assert sum(done[name] for name in TYPES) == done["transaction"] == lifetime["transactions"] > 10
    assert done["rollback"] == done["new_order_rolled_back"] == lifetime["rolled_back"] == rolled_back
    openings = 4 * (2 if protocol == "prepared" else 1)
    assert committed - openings == lifetime["transactions"] - rolled_back

    after = there()
    assert after["oorder"] - before["oorder"] == done["new_order"] - done["new_order_rolled_back"]
    assert after["history"] - before["history"] == done["payment"]
    assert after["paid"] - before["paid"] == after["noted"] - before["noted"]
    skipped = done["delivery_skipped"]
    if not skipped:
        created = after["oorder"] - before["oorder"]
        assert after["new_order"] - before["new_order"] == created - 10 * done["delivery"]
    calls = tpcc.server.sql(
        "SELECT sum(calls)::bigint FROM pg_stat_statements s JOIN pg_database d ON d.oid = dbid "
        "WHERE datname = 'tpcc' AND query NOT LIKE '%count(*) FROM bmsql%' AND query NOT LIKE '%sum(w_ytd)%' "
        "AND query NOT LIKE '%pg_stat_statements_reset%'"
    )[0][0]
    counts = tpcc.server.sql(
        "SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements s JOIN pg_database d ON d.oid = dbid "
        "WHERE datname = 'tpcc' AND query LIKE 'SELECT count(*) FROM bmsql_stock WHERE%'"
    )[0][0]
    assert calls + counts == lifetime["queries"]
    assert tpcc.broken() == []


def test_balances_are_what_was_delivered_less_what_was_paid(tpcc: Database) -> None:
    """Consistency condition 12, which takes every type of transaction that writes: nothing was lost or done
    twice.
    """
    tpcc.run({}, seed=12, clients=8)
    [(balance, delivered, paid)] = tpcc.sql(
        "SELECT sum(c_balance), (SELECT sum(ol_amount) FROM bmsql_order_line WHERE ol_delivery_d "
        "IS NOT NULL), "
        "(SELECT sum(h_amount) FROM bmsql_history) FROM bmsql_customer"
    )
    assert balance == delivered - paid
    # And condition 9: what each district was paid is what history notes of it.
    assert (
        tpcc.sql(
            "SELECT d_id FROM bmsql_district WHERE d_ytd <> "
            "(SELECT sum(h_amount) FROM bmsql_history WHERE h_w_id = d_w_id AND h_d_id = d_id)"
        )
        == []
    )
    # Stock: what was sold is what the lines of new orders hold.
    [(sold, ordered)] = tpcc.sql(
        "SELECT sum(s_ytd), (SELECT sum(ol_quantity) FROM bmsql_order_line WHERE ol_o_id > 3000) "
        "FROM bmsql_stock"
    )
    assert sold == ordered


def test_customers_of_bad_credit_have_what_they_paid_noted(tpcc: Database) -> None:
    tpcc.run({"new_order_weight": 0, "payment_weight": 88}, seed=3, clients=4)
    noted = tpcc.sql(
        "SELECT c_id, c_d_id, c_data, h_amount FROM bmsql_customer JOIN bmsql_history "
        "ON (h_c_w_id, h_c_d_id, h_c_id) = (c_w_id, c_d_id, c_id) "
        "WHERE c_credit = 'BC' AND c_payment_cnt = 2 AND hist_id > 30000"
    )
    assert noted
    for customer, district, data, amount in noted:
        assert data.startswith(f"{customer} {district} 1 ")
        assert f" {amount} | " in data
        assert len(data) <= 500


def test_a_storm_of_serialisation_failures_is_retried_and_leaves_no_trace(tpcc: Database) -> None:
    result = tpcc.run(
        {},
        target={"options": "-c default_transaction_isolation=serializable"},
        clients=8, duration_ns=SECOND, max_retries=1_000, seed=5,
    )  # fmt: skip
    assert_counted(result)
    assert operation(result, "transaction")["retried"] > 0
    retried = sum(operation(result, name)["retried"] for name in TYPES)
    assert retried == operation(result, "transaction")["retried"]
    assert {error["code"] for error in result["errors"]} <= {"40001", "40P01"}
    assert tpcc.broken() == []


class TestPace:
    def test_a_limit_is_for_all_terminals_together(self, tpcc: Database) -> None:
        result = tpcc.run({"limit_txns_per_min": 1_200}, clients=4, warmup_ns=0, duration_ns=1_500 * MS)
        # 20 a second: each terminal starts one every 0.2 s, the first at once.
        assert result["lifetime"]["transactions"] <= 4 * 8
        assert result["lifetime"]["transactions"] >= 4 * 5

    def test_a_limit_below_the_number_of_terminals_is_one(self, tpcc: Database) -> None:
        result = tpcc.run({"limit_txns_per_min": 3}, clients=4, warmup_ns=0)
        assert result["lifetime"]["transactions"] == 4

    def test_terminals_that_type_and_think_rest_and_nothing_of_it_is_response_time(
        self, tpcc: Database
    ) -> None:
        result = tpcc.run(
            {"keying_time": True, "think_time": True}, clients=4, warmup_ns=0, duration_ns=300 * MS
        )
        assert result["outcome"] == "completed"
        assert result["lifetime"]["transactions"] == 0
        resting = result["client"]["resting_ns"]
        assert abs(resting - 4 * 300 * MS) < 4 * 20 * MS

        mix = {"new_order_weight": 0, "payment_weight": 0, "order_status_weight": 0, "delivery_weight": 0}
        result = tpcc.run(
            {**mix, "stock_level_weight": 100, "keying_time": True},
            clients=2,
            warmup_ns=0,
            duration_ns=2_500 * MS,
        )
        assert result["lifetime"]["transactions"] == 2  # typed for 2 s
        assert operation(result, "transaction")["response"]["max_ns"] < SECOND


class TestTrouble:
    @pytest.mark.parametrize(
        ("options", "load", "part"),
        [
            ({"warehouses": 2}, {"clients": 21}, "21 terminals exceed the districts of 2 warehouses"),
            ({"warehouses": 0}, {}, "`workload.tpcc.warehouses` cannot be `0`"),
            ({"warehouse": 1}, {}, "unknown field `warehouse`"),
        ],
    )
    def test_what_cannot_be_is_refused_before_anything_is_done(
        self, tpcc: Database, options: dict[str, Any], load: dict[str, Any], part: str
    ) -> None:
        text = specification(tpcc.endpoint(), options, workload="tpcc", **load)
        problem = failure(lambda: _engine.run(text, lambda line: None))
        assert problem["code"] == "spec"
        assert part in problem["finding"]
        assert problem["advice"]

    def test_data_that_are_not_there_are_a_finding(self, tpcc: Database, database: str) -> None:
        result = run_terminals(tpcc.server.endpoint(database), {"warehouses": 1})
        assert result["outcome"] == "connect-failed"
        assert "bmsql_" in result["reason"]

    def test_data_of_fewer_warehouses_are_a_failure_of_each_transaction_that_misses_them(
        self, tpcc: Database
    ) -> None:
        result = tpcc.run({"warehouses": 2}, clients=2, warmup_ns=0, seed=8)
        [error] = [
            error
            for error in result["errors"]
            if error["operation"] == "transaction" and error["code"] == "no-row"
        ]
        assert error["count"] == operation(result, "transaction")["failed"] > 0
        assert "it is not as it was loaded" in error["message"]
        assert tpcc.broken() == []

    def test_a_server_that_dies_in_copy_is_a_finding(self) -> None:
        with PostgresServer() as server:
            killer = threading.Timer(0.0, server.kill)

            def kill(event: Event) -> None:
                if event["doing"] == "rows" and killer.ident is None:
                    killer.start()

            problem = failure(
                lambda: load_data(server.endpoint(), {"warehouses": 3}, on_event=kill), "postgres"
            )
            killer.join()
        assert problem["code"] in {"connection", "57P01", "57P02"}
        assert problem["advice"]

    def test_a_server_that_dies_under_load_leaves_consistent_data(self, tpcc: Database) -> None:
        settings = {"fsync": "on"}
        with PostgresServer(settings=settings) as server:
            load_data(server.endpoint(), {"warehouses": 1, "load_workers": 2})
            server.sql("CHECKPOINT")
            killer = threading.Timer(0.0, server.kill)

            def kill(event: Event) -> None:
                if event["type"] == "interval" and event["phase"] == "measure" and killer.ident is None:
                    killer.start()

            result = run_terminals(
                server.endpoint(),
                {"warehouses": 1},
                on_event=kill,
                clients=4,
                duration_ns=20 * SECOND,
                lost_ns=SECOND,
            )
            killer.join()
            assert result["outcome"] == "lost"
            assert_counted(result)
            assert result["advice"]
            server.restart()
            assert [condition.says for condition in check_consistency(server.sql) if condition.wrong] == []


@pytest.fixture
def damaged(tpcc: Database) -> Iterator[psycopg.Connection[Any]]:
    """A transaction to do damage in; none of it stays."""
    with psycopg.connect(tpcc.server.dsn(tpcc.name)) as connection:
        yield connection
        connection.rollback()


@pytest.mark.parametrize(
    ("damage", "broken", "example"),
    [
        ("UPDATE bmsql_warehouse SET w_ytd = w_ytd + 0.01", "1", "warehouse 1: w_ytd"),
        ("UPDATE bmsql_district SET d_ytd = NULL WHERE d_id < 11", "1", "sum(d_ytd) None"),
        ("UPDATE bmsql_district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 4", "2",
            "district 4: d_next_o_id - 1"),
        # The last order of a district, lost with its lines.
        (
            "DELETE FROM bmsql_order_line WHERE ol_d_id = 5 AND ol_o_id = (SELECT d_next_o_id - 1 FROM "
            "bmsql_district "
            "WHERE d_id = 5); DELETE FROM bmsql_new_order WHERE no_d_id = 5 AND no_o_id = (SELECT "
            "d_next_o_id - 1 "
            "FROM bmsql_district WHERE d_id = 5); DELETE FROM bmsql_oorder WHERE o_d_id = 5 AND o_id = "
            "(SELECT d_next_o_id - 1 FROM bmsql_district WHERE d_id = 5)",
            "2",
            "district 5",
        ),
        (
            "DELETE FROM bmsql_new_order WHERE no_d_id = 6 AND no_o_id = "
            "(SELECT max(no_o_id) - 5 FROM bmsql_new_order WHERE no_d_id = 6)",
            "3",
            "district 6: max(no_o_id)",
        ),
        (
            "DELETE FROM bmsql_order_line WHERE ol_d_id = 7 AND ol_o_id = 100 AND ol_number = 1",
            "4",
            "district 7: sum(o_ol_cnt)",
        ),
        ("UPDATE bmsql_oorder SET o_ol_cnt = o_ol_cnt + 1 WHERE o_d_id = 8 AND o_id = 100", "4",
            "district 8"),
    ],
)  # fmt: skip
def test_each_condition_finds_its_damage_and_says_where(
    damaged: psycopg.Connection[Any], damage: str, broken: str, example: str
) -> None:
    damaged.execute(damage.encode())
    broken_conditions = [
        condition
        for condition in check_consistency(lambda sql: damaged.execute(sql.encode()).fetchall())
        if condition.wrong
    ]
    assert [condition.says[0] for condition in broken_conditions] == [broken]
    assert broken_conditions[0].wrong == 1
    assert example in broken_conditions[0].example


def test_a_district_without_waiting_orders_meets_the_conditions(damaged: psycopg.Connection[Any]) -> None:
    damaged.execute("DELETE FROM bmsql_new_order WHERE no_d_id = 9")
    assert not any(
        condition.wrong
        for condition in check_consistency(lambda sql: damaged.execute(sql.encode()).fetchall())
    )
