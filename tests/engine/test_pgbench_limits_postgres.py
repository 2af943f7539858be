"""Scripts at their limits: commands of the operating system, latency limits under a rate, statements that
never return.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.loads import MS, SECOND, Result, failure, operation, until_gone
from engine.test_pgbench_postgres import run, script, specification
from loadcell import _engine
from servers import PostgresServer
from specifications import complete, section_of
from truth.loads import paced


@pytest.fixture
def target(postgres_server: PostgresServer, database: str) -> dict[str, Any]:
    return postgres_server.endpoint(database)


def at_rate(
    target: dict[str, Any], pgbench: dict[str, Any], rate: float, seconds: float, **load: Any
) -> Result:
    spec = json.loads(specification(target, pgbench, duration_ns=int(seconds * SECOND), **load))
    spec = paced(spec, (rate, seconds), arrivals="constant")
    result: Result = json.loads(_engine.run(json.dumps(complete(spec)), lambda line: None))
    return result


class TestShell:
    def test_commands_run_and_their_integers_become_variables(
        self, postgres_server: PostgresServer, database: str, target: dict[str, Any], tmp_path: Path
    ) -> None:
        postgres_server.sql("CREATE TABLE seen (n int)", database=database)
        text = (
            f"\\shell echo :client_id ::kept >> {tmp_path}/said\n"
            "\\setshell n echo 42; exit 3\n\\set n :n + 1\nINSERT INTO seen VALUES (:n);\n"
        )
        result = run(target, script(text, allow_shell=True), clients=2, threads=1, duration_ns=500 * MS)
        until_gone(postgres_server, database)
        done = result["lifetime"]["transactions"]
        assert operation(result, "transaction")["failed"] == 0, result["errors"]
        assert postgres_server.sql("SELECT count(*), min(n), max(n) FROM seen", database=database) == [
            (done, 43, 43)
        ]
        lines = (tmp_path / "said").read_text().splitlines()
        assert set(lines) == {"0 :kept", "1 :kept"}
        assert len(lines) == result["lifetime"]["operations"]["own.sql:1:shell"] >= done
        assert result["queries"]["total"] == operation(result, "transaction")["succeeded"], "no statements"
        assert operation(result, "own.sql:2:setshell")["kind"] == "other"

    def test_a_command_holds_up_nobody_else(self, target: dict[str, Any]) -> None:
        """One client in ten runs a command that lasts as long as the load; the others have the thread for
        themselves.
        """
        text = "\\if :client_id = 0\n\\shell sleep 5\n\\endif\nSELECT 1;\n"
        result = run(
            target,
            script(text, allow_shell=True),
            clients=10,
            threads=1,
            duration_ns=500 * MS,
            drain_ns=100 * MS,
        )
        assert operation(result, "transaction")["succeeded"] > 10
        assert operation(result, "own.sql:2:shell")["in_flight"] == 1

    @pytest.mark.parametrize(
        ("line", "part"),
        [
            ("\\shell exit 3", "own.sql:2:1: the shell command ended with status 3"),
            ("\\setshell x true", "own.sql:2:1: the shell command printed nothing"),
            ("\\setshell x echo 1 2", 'shell command must return an integer (not "1 2'),
            ("\\setshell x echo 5000000000", "an integer of 32 bits"),
            ("\\shell echo :nope", 'undefined variable ":nope"'),
        ],
    )
    def test_one_that_fails_fails_its_transaction_which_is_rolled_back(
        self, postgres_server: PostgresServer, database: str, target: dict[str, Any], line: str, part: str
    ) -> None:
        postgres_server.sql("CREATE TABLE seen (n int)", database=database)
        text = f"BEGIN;\n{line}\nINSERT INTO seen VALUES (1);\nEND;\n"
        result = run(target, script(text, allow_shell=True), clients=2, duration_ns=2 * SECOND)
        transaction = operation(result, "transaction")
        assert transaction["succeeded"] == 0
        assert transaction["failed"] > 0, "and the client goes on"
        assert any(part in error["message"] for error in result["errors"] if error["code"] == "script")
        assert postgres_server.sql("SELECT count(*) FROM seen", database=database) == [(0,)]

    def test_without_leave_they_are_refused_and_leave_is_asked_for(self) -> None:
        for line in ("\\shell true", "\\setshell x echo 1"):
            section = {"pgbench": section_of("pgbench", script(f"SELECT 1;\n{line}\n"))}
            refused = failure(lambda section=section: _engine.check(json.dumps(section)))  # type: ignore[misc]
            assert "own.sql:2:1: \\" in refused["finding"]
            assert "runs a command of the operating system, which is not allowed" in refused["finding"]
            assert refused["advice"] == "allow it with `allow_shell: true`"


class TestLatencyLimit:
    SLOW = "\\sleep 40 ms\nSELECT 1;\n"

    def test_what_is_too_late_under_a_rate_is_skipped_and_counted_apart(self, target: dict[str, Any]) -> None:
        """One connection does 25 per second, the schedule has 200: of each eight most are late at
        their turn.
        """
        limit = 100 * MS
        result = at_rate(target, script(self.SLOW, latency_limit_ns=limit), 200, 2, clients=1, threads=1)
        assert result["outcome"] == "completed", "it is no overload when nothing waits for long"
        transaction = operation(result, "transaction")
        [skipped] = [error for error in result["errors"] if error["code"] == "skipped"]
        assert skipped["operation"] == "transaction"
        assert skipped["count"] == transaction["failed"] > transaction["succeeded"] > 0
        assert transaction["attempted"] == sum(
            transaction[how] for how in ("succeeded", "failed", "in_flight")
        )
        assert transaction["failed_response"]["min_ns"] >= limit
        statement = operation(result, "own.sql:2:select")
        assert statement["attempted"] <= transaction["succeeded"] + 1, "what is skipped sends nothing"

    def test_nothing_is_skipped_without_a_limit_or_without_a_rate(self, target: dict[str, Any]) -> None:
        free = at_rate(target, script(self.SLOW), 100, 0.5, clients=1, threads=1, drain_ns=100 * MS)
        closed = run(target, script(self.SLOW, latency_limit_ns=MS), clients=1, threads=1)
        for result in (free, closed):
            assert operation(result, "transaction")["failed"] == 0, result["errors"]
        assert operation(closed, "late")["succeeded"] == operation(closed, "transaction")["succeeded"] > 0

    def test_a_transaction_beyond_it_is_not_tried_again(
        self, postgres_server: PostgresServer, database: str, target: dict[str, Any]
    ) -> None:
        """Every attempt fails by itself, after a time that is more than the limit."""
        text = "\\sleep 20 ms\nDO $$ BEGIN RAISE 'no' USING ERRCODE = '40001'; END $$;\n"
        for limit, retried in ((10 * MS, False), (600 * SECOND, True)):
            result = run(target, script(text, latency_limit_ns=limit, max_tries=3), clients=1, threads=1)
            transaction = operation(result, "transaction")
            assert transaction["succeeded"] == 0
            assert (transaction["retried"] > 0) == retried


class TestNeverReturning:
    TEXT = "SELECT pg_sleep(3600);\n"

    def test_the_load_ends_all_the_same_and_nothing_has_succeeded(self, target: dict[str, Any]) -> None:
        result = run(target, script(self.TEXT), clients=3, duration_ns=200 * MS, drain_ns=100 * MS)
        transaction = operation(result, "transaction")
        assert (transaction["attempted"], transaction["succeeded"], transaction["in_flight"]) == (3, 0, 3)

    def test_the_servers_time_limit_is_a_failure_of_each(
        self, postgres_server: PostgresServer, database: str
    ) -> None:
        target = postgres_server.endpoint(database, options="-c statement_timeout=20ms")
        result = run(target, script(self.TEXT), clients=2, duration_ns=500 * MS)
        transaction = operation(result, "transaction")
        assert transaction["succeeded"] == 0
        assert transaction["failed"] > 1
        assert {error["code"] for error in result["errors"]} == {"57014"}
