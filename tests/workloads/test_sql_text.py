"""SQL texts: where statements end, what is a parameter, and what a statement does."""

from __future__ import annotations

import pytest

from loadcell.workloads.sql.text import (
    Splitter,
    UnclosedError,
    filled,
    kind,
    leaves_block_open,
    leaves_data,
    pieces,
    places,
)


def split(text: str, *, mysql: bool = False) -> list[tuple[int, str]]:
    splitter = Splitter(text, mysql=mysql)
    return [(piece.line, piece.text) for piece in iter(splitter.next, None)]


def test_statements_end_at_semicolons_outside_of_quotes_and_comments() -> None:
    text = """-- first; comment
SELECT 'a;b', "c;d" /* ; */;

  INSERT INTO t VALUES ('it''s;');; SELECT $x$ ; $x$, $$;$$
-- last;
"""
    assert split(text) == [
        (2, "SELECT 'a;b', \"c;d\" /* ; */"),
        (4, "INSERT INTO t VALUES ('it''s;')"),
        (4, "SELECT $x$ ; $x$, $$;$$\n-- last;"),
    ]
    assert split("") == split(" \n;; -- nothing\n") == []


def test_bodies_of_routines_are_one_statement() -> None:
    body = "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END"
    assert split(f"{body}; SELECT 3") == [(1, body), (1, "SELECT 3")]


def test_mysql_has_escapes_hash_comments_and_delimiters() -> None:
    procedure = "CREATE PROCEDURE p() BEGIN SELECT 1; END"
    text = f"SELECT 'it\\'s;' # ;\n;\nDELIMITER //\n{procedure} //\nDELIMITER ;\nSELECT 2;"
    assert split(text, mysql=True) == [
        (1, "SELECT 'it\\'s;' # ;"),
        (4, procedure),
        (6, "SELECT 2"),
    ]
    dumped = "/*M!999999\\- sandbox */\n/*!40101 SET NAMES utf8mb4 */;\n"
    assert split(dumped, mysql=True) == [(2, "/*!40101 SET NAMES utf8mb4 */")]


def test_commands_of_psql_are_pieces() -> None:
    assert split("\\connect shop\nSELECT 1;\n") == [(1, "\\connect shop"), (2, "SELECT 1")]


@pytest.mark.parametrize(("text", "line"), [("SELECT 1;\nSELECT 'a", 2), ("\n/* x", 2), ('"', 1)])
def test_an_unclosed_quote_has_its_line(text: str, line: int) -> None:
    with pytest.raises(UnclosedError) as caught:
        split(text)
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ("SELECT :a, x::int, ':b', \":c\" -- :d", ["a"]),
        ("SELECT (ARRAY[1,2])[1:n], t.x[:m], '12:30:00'::time", ["m"]),
        ("INSERT INTO t VALUES (:a,:b ,:a)", ["a", "b", "a"]),
        ('SELECT \'{"a": ":no"}\'::jsonb WHERE x=:yes AND y IN(:z)', ["yes", "z"]),
        ("SELECT @x := 1, 'it\\'s :no' , :yes", ["yes"]),
        ("SELECT $$ :no $$, E'\\':no', :yes", ["yes"]),
    ],
)
def test_parameters_stand_outside_of_quotes(statement: str, names: list[str]) -> None:
    assert places(statement) == names


def test_values_are_filled_in_as_literals() -> None:
    values: dict[str, str | int | float | bool | None] = {"a": "it's \\", "b": -5, "c": None, "d": True}
    statement = "SELECT :a, 1-:b, :c, :d"
    assert filled(statement, values, mysql=False) == "SELECT 'it''s \\', 1- -5, NULL, true"
    assert filled(statement, values, mysql=True) == "SELECT 'it''s \\\\', 1- -5, NULL, true"


@pytest.mark.parametrize(
    ("statement", "expected", "leaves"),
    [
        ("SELECT 1", "read", True),
        ("/* x */ with a as (select 1) select * from a", "read", True),
        ("WITH a AS (DELETE FROM t RETURNING *) SELECT * FROM a", "write", False),
        ("update t set a = 'select'", "write", False),
        ("BEGIN", "other", True),
        ("VACUUM ANALYZE t", "other", True),
        ("CALL p()", "other", False),
        ("CREATE INDEX i ON t (a)", "other", False),
    ],
)
def test_the_first_word_is_the_kind(statement: str, expected: str, leaves: bool) -> None:
    assert (kind(statement), leaves_data(statement)) == (expected, leaves)


def test_a_block_is_open_until_it_ends() -> None:
    assert leaves_block_open(["BEGIN", "SELECT 1"])
    assert leaves_block_open(["START TRANSACTION", "SAVEPOINT a", "ROLLBACK TO a"])
    assert not leaves_block_open(["BEGIN", "SELECT 1", "COMMIT"])


def test_short_texts_may_have_escapes_of_mysql() -> None:
    assert [piece.text for piece in pieces("SELECT 'it\\'s'; SELECT 2")] == ["SELECT 'it\\'s'", "SELECT 2"]
