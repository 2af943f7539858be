"""Client groups on a real PostgreSQL: what each group's account says is what the server counted of its
statements.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.loads import MS, Result, assert_counted, failure, operation, prepare, until_gone
from loadcell import _engine
from loadcell.model.engine_messages import load_outcome
from servers import PostgresServer
from specifications import complete
from stalls import StallWatch
from truth.loads import undisturbed

SYSBENCH = {"tables": 2, "table_size": 500}
RO, RW = {**SYSBENCH, "script": "oltp_read_only"}, {**SYSBENCH, "script": "oltp_write_only"}


def specification(
    target: dict[str, Any], *groups: tuple[str, dict[str, Any], dict[str, Any]], **load: Any
) -> str:
    window = {"warmup_ns": 100 * MS, "duration_ns": 400 * MS, "interval_ns": 100 * MS, **load}
    sections = [
        {"name": name, "workload": workload, "load": group_load} for name, workload, group_load in groups
    ]
    return json.dumps(complete({"seed": 7, "target": target, "load": window, "groups": sections}))


def run(text: str, events: list[dict[str, Any]] | None = None) -> Result:
    received = [] if events is None else events
    result: Result = json.loads(_engine.run(text, lambda line: received.append(json.loads(line))))
    return result


@pytest.fixture
def loaded(postgres_server: PostgresServer, database: str) -> str:
    """A database with the data of sysbench and of pgbench, and counters of statements."""
    target = postgres_server.endpoint(database)
    prepare(target, SYSBENCH)
    prepare(target, {}, workload="pgbench")
    postgres_server.sql("CREATE EXTENSION pg_stat_statements", database=database)
    return database


def calls(server: PostgresServer, database: str, pattern: str) -> int:
    """Number of executions of statements with this text in the database, by the server."""
    [(count,)] = server.sql(
        "SELECT coalesce(sum(s.calls), 0)::bigint FROM pg_stat_statements s JOIN pg_database d ON "
        "d.oid = s.dbid "
        f"WHERE d.datname = '{database}' AND s.query LIKE '{pattern}'",
        database=database,
    )
    return int(count)


def test_each_groups_counts_are_the_servers_and_add_up(postgres_server: PostgresServer, loaded: str) -> None:
    server = postgres_server
    until_gone(server, loaded)
    server.sql("SELECT pg_stat_statements_reset()", database=loaded)
    events: list[dict[str, Any]] = []
    result = run(
        specification(
            server.endpoint(loaded),
            ("reader", {"sysbench": RO}, {"clients": 3, "threads": 2}),
            ("writer", {"sysbench": RW}, {"clients": 2}),
            ("looker", {"pgbench": {"scripts": [{"name": "select-only"}]}}, {"clients": 2}),
        ),
        events,
    )
    assert result["outcome"] == "completed", result
    assert_counted(result)
    until_gone(server, loaded)
    lifetime = result["lifetime"]["operations"]
    for name, pattern in (
        ("reader:point_select", "SELECT c FROM sbtest_ WHERE id=$_"),
        ("reader:sum_range", "SELECT SUM(k) FROM sbtest_ WHERE id BETWEEN $_ AND $_"),
        ("writer:index_update", "UPDATE sbtest_ SET k=k+$_ WHERE id=$_"),
        ("writer:delete", "DELETE FROM sbtest_ WHERE id=$_"),
        ("looker", "SELECT abalance FROM pgbench_accounts%"),
    ):
        assert lifetime[name] > 0
        assert lifetime[name] == calls(server, loaded, pattern), name

    total, groups = operation(result, "transaction"), {group["name"]: group for group in result["groups"]}
    for count in ("attempted", "succeeded", "failed", "in_flight"):
        assert total[count] == sum(operation(result, name)[count] for name in groups)
    for name, group in groups.items():
        assert_counted(group)
        assert operation(group, "transaction")["response"] == operation(result, name)["response"]
    # Of these scripts each transaction has a fixed number of statements.
    statements = {"reader": 16, "writer": 6, "looker": 1}
    for name, count in statements.items():
        assert groups[name]["queries"]["total"] == count * operation(result, name)["succeeded"]
    assert result["queries"]["total"] == sum(group["queries"]["total"] for group in groups.values())
    rows = [operation for event in events if event["type"] == "interval" for operation in event["operations"]]
    assert [row["name"] for row in rows[: len(result["operations"])]] == [
        operation["name"] for operation in result["operations"]
    ]


def test_open_and_closed_groups_keep_their_own_time(postgres_server: PostgresServer, loaded: str) -> None:
    stretch = {"from_per_s": 100, "to_per_s": 100, "for_ns": 1_000 * MS}
    text = specification(
        postgres_server.endpoint(loaded),
        ("closed", {"sysbench": RO}, {"clients": 2}),
        (
            "open",
            {"pgbench": {"scripts": [{"name": "select-only"}]}},
            {"clients": 2, "schedule": {"rate": [stretch]}},
        ),
        duration_ns=1_000 * MS,
    )

    def check() -> None:
        with StallWatch() as stalls:
            result = run(text)
        assert result["outcome"] == "completed", result
        closed, paced = result["groups"]
        assert (closed["schedule"], result["schedule"]) == (None, None)
        assert paced["schedule"]["offered"] == 100
        transaction = operation(closed, "transaction")
        spent = transaction["response"]["count"] * transaction["response"]["mean_ns"]
        available = 2 * result["window"]["duration_ns"]
        # Between two transactions a client can lose what the machine stalled, and no more.
        lost = 2 * stalls.total_s * 1e9
        assert spent - available <= 2 * transaction["response"]["max_ns"] + 0.01 * available
        assert available - spent <= 2 * transaction["response"]["max_ns"] + 0.01 * available + lost

    undisturbed(check)


def test_errors_say_of_which_group_they_are(postgres_server: PostgresServer, loaded: str) -> None:
    missing = {"pgbench": {"scripts": [{"name": "gone", "source": "SELECT * FROM nowhere;"}]}}
    result = run(
        specification(
            postgres_server.endpoint(loaded),
            ("well", {"sysbench": RO}, {"clients": 1}),
            ("ill", missing, {"clients": 1}),
        )
    )
    assert {error["group"] for error in result["errors"]} == {"ill"}
    [total] = [error for error in result["errors"] if error["operation"] == "transaction"]
    assert total["code"] == "42P01"
    assert total["count"] == operation(result, "ill")["failed"] > 0
    assert operation(result, "well")["failed"] == 0


def test_a_mistake_in_a_group_is_reported_with_its_name(
    postgres_server: PostgresServer, database: str
) -> None:
    target = postgres_server.endpoint(database)
    for workload, finding in (
        ({"sysbench": {"script": "nothing"}}, "client group a: "),
        ({"nothing": {}}, "client group a: the engine has no workload `nothing`"),
    ):
        text = specification(target, ("a", workload, {"clients": 1}))
        problem = failure(lambda text=text: _engine.run(text, print))  # type: ignore[misc]
        assert problem["code"] == "spec"
        assert problem["finding"].startswith(finding)


def test_a_group_whose_connections_are_cut_comes_back_and_the_other_notices_nothing(
    postgres_server: PostgresServer, loaded: str
) -> None:
    events: list[dict[str, Any]] = []

    def on_event(line: str) -> None:
        event = json.loads(line)
        events.append(event)
        if event["type"] != "interval" or event["phase"] != "measure":
            return
        if event["index"] == 2:
            postgres_server.sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                f"WHERE datname = '{loaded}' AND query LIKE '%pgbench_accounts%'"
            )
        back = any(event.get("code") == "reconnected" for event in events)
        if back and event["groups"][1]["connected"] == 2:
            _engine.stop()

    text = specification(
        postgres_server.endpoint(loaded),
        ("reader", {"sysbench": RO}, {"clients": 2}),
        ("looker", {"pgbench": {"scripts": [{"name": "select-only"}]}}, {"clients": 2}),
        duration_ns=60_000 * MS,
    )
    result: Result = json.loads(_engine.run(text, on_event))
    assert result["outcome"] == "stopped", "once they were back"
    assert_counted(result)
    reader, looker = result["groups"]
    # A connection that is cut between two transactions costs none of them.
    assert operation(looker, "transaction")["failed"] <= looker["client"]["reconnects"] in (1, 2)
    assert reader["client"]["reconnects"] == operation(reader, "transaction")["failed"] == 0
    troubles = [event for event in events if event["type"] == "trouble"]
    assert {event["group"] for event in troubles} == {"looker"}
    assert "reconnected" in {event["code"] for event in troubles}


def test_an_overloaded_group_ends_the_load_for_all(postgres_server: PostgresServer, loaded: str) -> None:
    stretch = {"from_per_s": 1_000_000, "to_per_s": 1_000_000, "for_ns": 1_000 * MS}
    flood = {"clients": 1, "schedule": {"rate": [stretch], "most_overdue_ns": 200 * MS}}
    result = run(
        specification(
            postgres_server.endpoint(loaded),
            ("calm", {"sysbench": RO}, {"clients": 1}),
            ("flood", {"pgbench": {"scripts": [{"name": "select-only"}]}}, flood),
            duration_ns=60_000 * MS,
        )
    )
    assert result["outcome"] == "overloaded"
    assert load_outcome(result["outcome"], result["reason_args"], "postgres").text.startswith(
        "client group flood: "
    )
    assert operation(result, "calm")["succeeded"] > 0
    assert_counted(result)
