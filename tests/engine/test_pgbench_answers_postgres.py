"""Scripts that use answers, by pgbench and by the engine on one server: the same rows remain, or
both fail.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.loads import MS, SECOND, Result, operation, until_gone
from engine.test_pgbench_postgres import run, script
from servers import PostgresServer, debian_postgres

BOTH = ("simple", "prepared")
SAME: list[tuple[str, tuple[str, ...], str]] = [
    ("a column becomes a variable", BOTH, "SELECT 7 AS a \\gset\nINSERT INTO seen VALUES (:a);\n"),
    ("with a prefix", BOTH, "SELECT 7 AS a, 8 AS b \\gset p_\nINSERT INTO seen VALUES (:p_a), (:p_b);\n"),
    ("beside an older variable", BOTH,
        "\\set a 1\nSELECT 2 AS a \\gset p_\nINSERT INTO seen VALUES (:a), (:p_a);\n"),
    ("of two columns of one name", BOTH, "SELECT 1 AS a, 2 AS a \\gset\nINSERT INTO seen VALUES (:a);\n"),
    ("NULL is an empty text", BOTH, "SELECT NULL AS a, 1 AS b \\gset\nINSERT INTO seen VALUES (:b);\n"),
    ("NULL within quotes", ("simple",), "SELECT NULL AS a \\gset\nINSERT INTO seen VALUES ('<:a>');\n"),
    ("a text as a parameter", ("extended", "prepared"),
        "SELECT 'it''s' AS a \\gset\nINSERT INTO seen VALUES (:a);\n"),
    ("the last of several results", ("simple",),
        "SELECT 1 AS a \\; SELECT 2 AS a \\gset\nINSERT INTO seen VALUES (:a);\n"),
    ("all of several results", ("simple",),
     "SELECT 1 AS a \\; SELECT 2 AS b \\aset\nINSERT INTO seen VALUES (:a), (:b);\n"),
    ("the last of several rows", BOTH,
        "SELECT i FROM generate_series(1, 3) i \\aset\nINSERT INTO seen VALUES (:i);\n"),
    ("no row leaves what was", BOTH,
        "\\set i 9\nSELECT 1 AS i WHERE false \\aset\nINSERT INTO seen VALUES (:i);\n"),
    ("what an INSERT returns", BOTH,
        "INSERT INTO seen VALUES ('5') RETURNING n AS r \\gset\nINSERT INTO seen VALUES (:r);\n"),
    ("an integer to compute with", BOTH,
        "SELECT 20 AS x \\gset\n\\set y :x * 2 + 2\nINSERT INTO seen VALUES (:y);\n"),
    ("a double to compute with", BOTH,
        "SELECT 2.5 AS x \\gset\n\\set y :x * 3\nINSERT INTO seen VALUES (:y);\n"),
    ("a boolean to decide by", BOTH,
        "SELECT true AS t \\gset\n\\if :t\nINSERT INTO seen VALUES ('yes');\n\\else\n"
     "INSERT INTO seen VALUES ('no');\n\\endif\n"),
    ("decisions in a pipeline", ("extended", "prepared"),
        "\\startpipeline\nINSERT INTO seen VALUES ('1');\n\\if 0\n"
     "INSERT INTO seen VALUES ('2');\n\\endif\n\\set x 3\nINSERT INTO seen VALUES (:x);\n\\endpipeline\n"),
    ("a variable before and after a pipeline", ("prepared",), "SELECT 4 AS a \\gset\n\\startpipeline\n"
     "INSERT INTO seen VALUES (:a);\n\\endpipeline\nSELECT 5 AS a \\gset\nINSERT INTO seen VALUES (:a);\n"),
    ("what a command prints", BOTH,
        "\\set two 2\n\\setshell n expr 40 + :two\nINSERT INTO seen VALUES (:n);\n"),
    ("what a command prints round its integer", BOTH,
        "\\setshell n echo ' 42 '; false\nINSERT INTO seen VALUES (:n);\n"),
    ("a command that is well", BOTH, "\\shell true ::x\nINSERT INTO seen VALUES ('well');\n"),
    ("a variable that is not set", ("extended", "prepared"),
        "INSERT INTO seen VALUES (coalesce(:nope, 'NULL'));\n"),
    ("a rolled back transaction", BOTH,
        "BEGIN;\nINSERT INTO seen VALUES ('gone');\nROLLBACK;\nINSERT INTO seen VALUES ('kept');\n"),
]  # fmt: skip

#: What ends pgbench's client with an error is a failure of each transaction here: what both say, and our
#: code.
FAILING: list[tuple[str, str, str, str]] = [
    ("no row", "SELECT 1 AS a WHERE false \\gset\n", "expected one row, got 0", "script"),
    ("several rows", "SELECT i FROM generate_series(1, 2) i \\gset\n", "expected one row, got 2", "script"),
    ("a result without rows", "SELECT 1 AS a \\; CREATE TEMP TABLE x () \\gset\n", "expected one row, got 0",
        "script"),
    ("no name for a variable", 'SELECT 1 AS "bad name!" \\gset\n', "bad name!", "script"),
    ("an error of the server", "SELECT 1 / 0;\n", "division by zero", "22012"),
    ("an answer that is no number", "SELECT 'x' AS a \\gset\n\\set b :a + 1\n",
        'malformed variable "a" value: "x"', "script"),
    ("a command that fails", "\\shell false\n", "shell command", "script"),
    ("a command that prints no integer", "\\setshell n echo abc\n", "must return an integer", "script"),
    ("a command that prints nothing", "\\setshell n true\n", "shell command", "script"),
]  # fmt: skip


@pytest.fixture(scope="module")
def database(postgres_server: PostgresServer) -> Iterator[str]:
    """One for all of these scripts, each of which finds an empty table in it."""
    postgres_server.sql("CREATE DATABASE answers")
    yield "answers"
    postgres_server.sql("DROP DATABASE answers WITH (FORCE)")


@pytest.fixture
def target(postgres_server: PostgresServer, database: str) -> dict[str, Any]:
    until_gone(postgres_server, database)
    postgres_server.sql("DROP TABLE IF EXISTS seen", database=database)
    postgres_server.sql("CREATE TABLE seen (n text)", database=database)
    return postgres_server.endpoint(database)


def pgbench(
    server: PostgresServer, database: str, folder: Path, text: str, mode: str
) -> subprocess.CompletedProcess[str]:
    """One transaction of one client."""
    file = folder / "own.sql"
    file.write_text(text)
    at = ["-h", server.host, "-p", str(server.port), "-U", server.user]
    command = [
        str(debian_postgres() / "pgbench"),
        *at,
        "-n",
        "-t",
        "1",
        "-M",
        mode,
        "-f",
        str(file),
        database,
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def tried(target: dict[str, Any], options: dict[str, Any]) -> Result:
    """A load of one client, long enough for a transaction to end in it, however busy the machine is."""
    for duration in (50 * MS, SECOND, 10 * SECOND):
        result = run(target, options, clients=1, threads=1, duration_ns=duration)
        transaction = operation(result, "transaction")
        if transaction["succeeded"] + transaction["failed"] > 0:
            return result
    raise AssertionError(f"nothing was done: {result}")


@pytest.mark.parametrize(
    ("mode", "text"),
    [pytest.param(mode, text, id=f"{name}, {mode}") for name, modes, text in SAME for mode in modes],
)
def test_the_same_rows_are_left(
    postgres_server: PostgresServer,
    database: str,
    target: dict[str, Any],
    tmp_path: Path,
    mode: str,
    text: str,
) -> None:
    rows = "SELECT DISTINCT n FROM seen ORDER BY n"
    done = pgbench(postgres_server, database, tmp_path, text, mode)
    assert done.returncode == 0, done.stderr
    theirs = postgres_server.sql(rows, database=database)
    postgres_server.sql("TRUNCATE seen", database=database)
    result = tried(target, script(text, protocol=mode, allow_shell=True))
    until_gone(postgres_server, database)
    assert operation(result, "transaction")["failed"] == 0, result["errors"]
    assert postgres_server.sql(rows, database=database) == theirs != []


@pytest.mark.parametrize(
    ("text", "finding", "code"), [pytest.param(*case, id=name) for name, *case in FAILING]
)
def test_the_same_answers_are_failures(
    postgres_server: PostgresServer,
    database: str,
    target: dict[str, Any],
    tmp_path: Path,
    text: str,
    finding: str,
    code: str,
) -> None:
    theirs = pgbench(postgres_server, database, tmp_path, text, "simple")
    assert theirs.returncode == 2, theirs.stderr
    assert finding in theirs.stderr
    result = tried(target, script(text, allow_shell=True))
    assert operation(result, "transaction")["succeeded"] == 0
    assert any(finding in error["message"] for error in result["errors"] if error["code"] == code), result[
        "errors"
    ]
