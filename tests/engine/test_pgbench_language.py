"""The script language against pgbench itself: same values, same statements, same mistakes at the same places.

Each script is run by pgbench on a real server and by the engine's compiler without one
(`bench/pgbench_script.rs`); what they show with `debug()`, what they send and where they stop must agree.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from servers import PostgresServer, debian_postgres

OURS = Path(__file__).resolve().parents[2] / "engine" / "target" / "debug" / "examples" / "pgbench_script"

DEFINED = {
    "foo": "bla",
    "null": "null",
    "true": "true",
    "one": "1",
    "zero": "0.0",
    "badtrue": "trueXXX",
    "maxint": "9223372036854775807",
    "minint": "-9223372036854775808",
}


@dataclass(frozen=True)
class Outcome:
    """0: the script ran; 1: it was refused before; 2: it stopped on the way."""

    status: int
    shown: tuple[str, ...]
    sent: tuple[str, ...]
    output: str


def _blocks(output: str) -> list[str]:
    """Messages of several lines as one: a new one begins where a known prefix stands."""
    return re.split(r"\n(?=pgbench: |debug\(|client \d+ sending |sleep |shell )", output.rstrip("\n"))


def _outcome(result: subprocess.CompletedProcess[bytes]) -> Outcome:
    output = result.stderr.decode(errors="replace")
    blocks = [block.removeprefix("pgbench: ") for block in _blocks(output)]
    shown = tuple(block for block in blocks if block.startswith("debug("))
    sent = tuple(block for block in blocks if re.match(r"client \d+ sending", block))
    return Outcome(result.returncode, shown, sent, output)


Both = Callable[..., tuple[Outcome, Outcome]]


@pytest.fixture
def both(postgres_server: PostgresServer, tmp_path: Path) -> Both:
    """Runs a script by pgbench and by the engine; gives both outcomes."""
    assert OURS.exists(), "build it first: cd engine && cargo build --examples"
    server = postgres_server

    def run(
        script: str, *, seed: int = 5432, mode: str = "simple", clients: int = 1, transactions: int = 1
    ) -> tuple[Outcome, Outcome]:
        # newline="" keeps carriage returns as the case has them.
        with (tmp_path / "case.sql").open("w", newline="") as file:
            file.write(script)
        definitions = [word for name, value in DEFINED.items() for word in ("-D", f"{name}={value}")]
        size = ["-t", str(transactions), *definitions]
        theirs = [str(debian_postgres() / "pgbench"), "-n", "-d", "-M", mode, f"--random-seed={seed}"]
        theirs += ["-c", str(clients), *size, "-h", server.host, "-p", str(server.port), "-U", server.user]
        ours = [str(OURS), "--mode", mode, "--seed", str(seed), "--clients", str(clients), *size]
        outcomes = [
            _outcome(subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60, check=False))
            for command in ([*theirs, "-f", "case.sql", "postgres"], [*ours, "case.sql"])
        ]
        return outcomes[0], outcomes[1]

    return run


VALUES = """\
-4 % 3; 7 / -2; 1 << 62; 1 << 64; -1 >> 70; 5 # 3; 5 & 3 | 8; ~5; ~-1 | 2 & 3; ~1 + 2 * 3; 2 - 3 - 4
100 / 7 / 2; 2 * 3 % 4; - 2 * 3 - -4; +-+5; -(-9223372036854775808 + 1); -9223372036854775808 % -1
abs(-9223372036854775808); -0.0; 0 - 0.0; 1 / 3.0; 1e15; 1e16; 1e-4; 1e-5; 123456789012345678.0; .1 + .2
1.e3; 5.; .5e1; 1E-1; 1.0/0; -1.0/0; 0.0/0; 1e308 * 10; 1e-300 * 1e-300; int(2.5); int(3.5); int(-2.5)
int(1e18); double(3); double(-7) / 2; sqrt(2); sqrt(-1); ln(10); ln(0); exp(1); exp(1000); pi(); pow(2, 0.5)
pow(-8, 1.0 / 3); power(0, -1); pow(-2, 63); mod(-7, 3); mod(7.6, 3); 5.5 % 2; least(1); least(3, 2, 1.5)
greatest(1, 2, 3); greatest(1, 0.0/0); greatest(0.0/0, 1); least(0.0/0, 1); least(1, 0.0/0); least(,1)
greatest(null, 1); least(1, :null); 1 = 1.0; 1 <> 1.5; 1 != 2; 1 < 2; 2 <= 1; 2 > 1; 1 >= 2; 0.0/0 = 0.0/0
9223372036854775807 = 9223372036854775807.0; true and false; null and false; false and null; null or true
true or null; null and 1; not null; not false; not true and false; not 1 = 2; true or 1/0 = 1
false and 1/0 = 1; 1 is null; null is null; null isnull; null notnull; 1 is not null; true is true
1 is true; true is not false; false is false; null is true; 1 is null is null; 1 + 1 is null or true
2 = 2 is true; case when 1 then 2 end; case when 0.0 then 1 when 0.1 then 2 else 3 end
case when null then 1 end; case when 1 = 2 then 1 else null end; case when true then 1 else 1/0 end
1 + case when 1 < 2 then 3 else 4 end * 2; CaSe WhEn TrUe ThEn ABS(-1) EnD; null + 1; null = null; -(null)
abs(null); 1 + null * exp(null); :one + 1; :zero * 2; :true; :null is null; :maxint; :minint; :maxint - 1
:scale; :client_id; :random_seed; :default_seed; hash(10); hash(10, 5432); hash_murmur2(-1); hash_fnv1a(10)
hash_fnv1a(0, 0); hash(:maxint, :minint); hash(1.4); hash(null); permute(0, 1); permute(5, 2)
permute(17, 1000); permute(-3, 1000); permute(:maxint, :maxint); permute(1, 16, 7); permute(3, 5, null)
random(1, 1); random(1, 10); random(:minint, -2); random(1.5, 2.5); random(null, 1)
random(1, 6) > random(1, 6); random(1, 6) - random(1, 6); random_gaussian(1, 100, 2)
random_gaussian(1, 1, 2.5); random_exponential(1, 100, 1); random_exponential(-5, 5, 0.001)
random_zipfian(1, 100, 1.1); random_zipfian(5, 5, 2); random_zipfian(1, 1000000, 3.5)
debug(1 + debug(2)) * debug(3)"""


@pytest.mark.parametrize("row", VALUES.splitlines())
def test_expressions_have_the_same_values(both: Both, row: str) -> None:
    script = "".join(f"\\set x debug({expression.strip()})\n" for expression in row.split(";"))
    theirs, ours = both(script)
    assert theirs.status == 0, theirs.output
    assert (ours.status, ours.shown) == (0, theirs.shown)
    assert len(ours.shown) >= len(row.split(";"))


@pytest.mark.parametrize("seed", [0, 1, 42, 5432, 18446744073709551615])
def test_every_client_draws_the_same_numbers(both: Both, seed: int) -> None:
    ranges = ["1, 6", "1, 1000000", "-5000, 5000", "-9223372036854775806, 0"]
    draws = [f"random({bounds})" for bounds in ranges]
    draws += [f"random_gaussian({bounds}, {p})" for bounds in ranges[:3] for p in ("2.0", "2.5", "20")]
    draws += [f"random_exponential({bounds}, {p})" for bounds in ranges[:3] for p in ("0.1", "5", "50")]
    draws += [f"random_zipfian({bounds}, {p})" for bounds in ranges[:3] for p in ("1.05", "1.5", "10")]
    draws += ["permute(random(1, 1000000), 1000003)", "hash(random(1, 100))", "hash_fnv1a(random(1, 100))"]
    draws += ["random(1, 6) > random(1, 6)", "random(1, 9) - random(1, 9) * random(1, 9)", ":default_seed"]
    theirs, ours = both(
        "".join(f"\\set x debug({draw})\n" for draw in draws), seed=seed, clients=3, transactions=100
    )
    assert (theirs.status, ours.status) == (0, 0)
    # pgbench runs its clients by turns.
    assert sorted(ours.shown) == sorted(theirs.shown)
    assert len(ours.shown) == len(draws) * 300


STATEMENTS = [
    ("semicolons", "select 1; select 2;; ;select 3"),
    ("comments", "-- one;\nselect 1 -- ;\n, 2; /* a; */ select 3 /* b /* ; */ ; */; -- end"),
    ("comment before a meta command", "/* a */ \\set x debug(1)\nselect 1;"),
    ("operators beside comments", "select 2+--;\n3; select 6 /2/* ; */;"),
    ("strings", "select 'a;b', 'c'';d', E'e\\';f', $$g;h$$, $i$j;$$k;$i$, 1 as \"l;\"\"m\";"),
    ("strings of several lines", "select E'a'\n  -- ;\n  '\\';b', 'c\\';select 'd'\n'e;';"),
    ("strings with letters", "select U&'\\0061;', B'01', x'ff', N'a;';"),
    ("dollars in names", "select 1 as a$$, 2 as b$$; select 3;"),
    ("parentheses", "select (1 + (2)); select '(', 3;"),
    ("joined", "select 1 \\; select 2\\; ;"),
    ("before a meta command", "select 1 \\set x debug(2)\n select :x;"),
    ("functions", "create or replace function pg_temp.f() returns int language sql begin atomic select 1; "
     "select case when true then 2 end; end; select pg_temp.f();"),
    ("not a function", "begin; create temp table t (a int); end;"),
    ("casts and times",
        "\\set foo 1\nselect :foo::int, ':foo', '12:34:56', 'a:foob', ':: foo', ':::foo', :foo;"),
    ("unset variables", "select ':nope', 'x:y';"),
    ("values as text",
        "\\set a null\n\\set b 1 = 1\n\\set c -54.21E-2\n\\set d 1e20\nselect ':a', ':b', ':c', ':d';"),
    ("continuation", "\\set x debug(1 + \\\n  2)\n\\if 1 \\\n = 1\nselect 1;\n\\endif\n"),
    ("carriage returns", "\\set x debug(1 + \\\r\n 2)\r\nselect :x;\r\n"),
    ("odd commands", "\\ set x debug(1)\n\\SET y debug(2)\n\\\nselect :x + :y;"),
    ("sleeps", "\\sleep 1 us\n\\sleep 0\n\\sleep -1ms\n\\sleep 1MS\n\\set t 2.5\n\\sleep :t ms\nselect 1;"),
    ("beyond ASCII", "\\set \u00e9t\u00e9 5\nselect '\u4e2d;', :\u00e9t\u00e9;"),
    ("gset names", "select 1 as a \\gset p_\nselect 2 as b \\; select 3 as c \\aset\nselect 4;"),
    ("conditionals",
        "\\if 0\nselect 1;\n\\elif 1\n\\if 0\n\\else\nselect 2;\n\\endif\n\\else\n"
        "select 3;\n\\endif\nselect 4;"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "script"), STATEMENTS, ids=[name for name, _ in STATEMENTS])
def test_statements_are_sent_as_pgbench_sends_them(both: Both, name: str, script: str) -> None:
    theirs, ours = both(script)
    assert theirs.status == 0, theirs.output
    assert ours.sent
    assert (ours.status, ours.sent, ours.shown) == (0, theirs.sent, theirs.shown)


#: Refused by both before anything is sent. Where pgbench tells the line and marks a place, ours must mark it
#: too.
REFUSED = [
    *(f"\\set i {wrong}\n" for wrong in (
        "", "1 +", "1 + * 3", "1 2", "(1", "1)", "1 < 2 = true", "1 = 2 <> 3", "noSuchFunction()",
        "noSuchFunction", "abs", ";",
        "'", "CASE TRUE THEN 1 ELSE 0 END", "CASE WHEN TRUE THEN 1", "CASE 1 END", "1 IS 2", "1 IS NOT",
        "is null",
        "9223372036854775808", "3 - 9223372036854775808", "100000000000000000000", "1.0E309", ".1E310",
        "1e-400", "1.2.3",
        "0x10", "least()", "greatest()", "hash()", "hash(1,2,3)", "permute(1)", "permute(1, 2, 3, 4)",
        "ln(1.0, 2.0)", "pi(1)",
        "random(1)", "random_gaussian(1, 2)", "debug()", "1 and", "or 1", "not", "1 ! 2", "@", ":",
        "least(1,)", "abs(1", "1 \\ 2",
    )),
    "\\if 1", "\\elif 1", "\\else", "\\endif", "\\if 1\n\\else\n\\elif 0\n\\endif",
    "\\if 1\n\\else\n\\else\n\\endif",
    "\\if\n\\endif\n", "\\if 0\n\\elif +\n\\endif\n", "\\if 0\n\\else BAD\n\\endif\n",
    "\\if 0\n\\endif BAD\n",
    "\\set", "\\shell", "\\setshell", "\\setshell var", "\\sleep", "\\sleep too many args", "\\sleep 1 week",
    "\\sleep 1x", "\\sleep abc",
    "\\sleep abc ms", "\\sleep 1a ms", "\\nosuchcommand", "", "-- nothing\n", "\\gset", "\\aset",
    "\\set i +1\n\\gset", "SELECT 1 \\gset a b",
    "SELECT 1 AS i \\gset\n\\gset", "select 1 as a \\gset\\set x 1", "select 1;\n\n\\set i foo(1)\n",
    "\\shell echo " + " ".join(["arg"] * 255), "\\startpipeline x",
]  # fmt: skip


@pytest.mark.parametrize("script", REFUSED, ids=lambda script: script[:40])
def test_mistakes_are_refused_where_pgbench_refuses_them(both: Both, script: str) -> None:
    theirs, ours = both(script, mode="extended")
    assert theirs.status == 1, theirs.output
    assert (ours.status, ours.sent) == (1, ())
    line = re.search(r"case\.sql:(\d+): ", theirs.output)
    position = re.search(r"case\.sql:(\d+):(\d+): ", ours.output)
    assert position, ours.output
    # pgbench counts the end of the script as another line when an \if is left open.
    if line and "without matching \\endif" not in ours.output:
        assert position[1] == line[1], theirs.output + ours.output
    mark = re.search(r"^( *)\^ error found here", theirs.output, re.MULTILINE)
    if mark:
        # pgbench marks the last character of the text it read, the engine all of it.
        column = len(mark[1]) + 1
        width = re.search(r"^ +(\^+)$", ours.output, re.MULTILINE)
        assert width, ours.output
        assert int(position[2]) <= column <= int(position[2]) + len(width[1]), theirs.output + ours.output


#: Stopped by both on the way: the script, and what both must say.
STOPPED = [
    ("\\set i 1/0", "division by zero"),
    ("\\set i mod(1, 0)", "division by zero"),
    ("\\set i :nosuchvariable", 'undefined variable "nosuchvariable"'),
    ("\\set i random(5,3)", "empty range given to random"),
    ("\\set i random(:minint, :maxint)", "random range is too large"),
    ("\\set i random(:minint, -1)", "random range is too large"),
    ("\\set i random_gaussian(0, 10, 1.0)", "gaussian parameter must be at least 2"),
    ("\\set i random_exponential(0, 10, 0.0)", "exponential parameter must be greater than zero"),
    ("\\set i random_zipfian(0, 10, 1)", "zipfian parameter must be in range [1.001, 1000]"),
    ("\\set i random_zipfian(0, 10, 1000000)", "zipfian parameter must be in range [1.001, 1000]"),
    ("\\set i :foo + 1", 'malformed variable "foo" value: "bla"'),
    ("\\set b NOT 0.0", "cannot coerce double to boolean"),
    ("\\set i TRUE + 2", "cannot coerce boolean to int"),
    ("\\set i 2.0 + TRUE", "cannot coerce boolean to double"),
    ("\\set i TRUE = TRUE", "cannot coerce boolean to int"),
    ("\\set d ln(TRUE)", "cannot coerce boolean to double"),
    ("\\set b random(FALSE, TRUE)", "cannot coerce boolean to int"),
    ("\\set b true and 1", "cannot coerce int to boolean"),
    ("\\set b 1 or true", "cannot coerce int to boolean"),
    ("\\set i int(1E32)", "double to int overflow for 100000"),
    ("\\set i 1.5e19 | 1", "double to int overflow for 15000000000000000000"),
    ("\\set i (1<<62) + (1<<62)", "bigint add out of range"),
    ("\\set i 0 - (1<<62) - (1<<62) - (1<<62)", "bigint sub out of range"),
    ("\\set i -:minint", "bigint sub out of range"),
    ("\\set i 2 * (1<<62)", "bigint mul out of range"),
    ("\\set i :minint / -1", "bigint div out of range"),
    ("\\set b :badtrue or true", 'malformed variable "badtrue" value: "trueXXX"'),
    ("\\set i permute(0, 0)", "permute size parameter must be greater than zero"),
    ("\\set i permute(0, -5)", "permute size parameter must be greater than zero"),
    ("\\if :nope is null\n\\endif", 'undefined variable "nope"'),
    ("\\if 0\n\\elif 1/0\n\\endif", "division by zero"),
    ("\\sleep :nosuchvariable", 'sleep: undefined variable "nosuchvariable"'),
    ("\\sleep :foo", 'invalid sleep time "bla" for variable "foo"'),
    ("\\shell echo ::foo :nosuchvariable", 'undefined variable ":nosuchvariable"'),
]


@pytest.mark.parametrize(("script", "finding"), STOPPED, ids=lambda text: text[:40])
def test_mistakes_of_the_run_stop_it_where_pgbench_stops(both: Both, script: str, finding: str) -> None:
    theirs, ours = both(script)
    assert (theirs.status, ours.status) == (2, 2), theirs.output + ours.output
    assert finding in theirs.output
    assert finding in ours.output


#: Refused by ours before anything is sent, though pgbench notices it only on the way.
SOONER = [
    ("\\set . 1", "simple", "invalid variable name"),
    ("\\set 1a 1", "simple", "invalid variable name"),
    ("\\set i least(0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16)", "simple", "too many function arguments"),
    ("\\startpipeline\n\\startpipeline\n\\endpipeline\n", "extended", "already in pipeline mode"),
    ("\\endpipeline\n", "extended", "not in pipeline mode"),
    (
        "\\startpipeline\nselect 1 \\gset f\n\\endpipeline\n",
        "extended",
        "gset is not allowed in pipeline mode",
    ),
    ("\\startpipeline\nselect 1;\n", "extended", "end of script reached with pipeline open"),
    ("\\startpipeline\n\\endpipeline\n", "simple", "cannot use pipeline mode with the simple query protocol"),
]


@pytest.mark.parametrize(("script", "mode", "finding"), SOONER, ids=lambda text: text[:40])
def test_some_mistakes_are_noticed_sooner(both: Both, script: str, mode: str, finding: str) -> None:
    theirs, ours = both(script, mode=mode)
    assert (theirs.status, ours.status) == (2, 1), theirs.output + ours.output
    assert finding in theirs.output
    assert finding in ours.output


def test_a_statement_has_as_many_variables_as_pgbench_allows(both: Both) -> None:
    def script(count: int) -> str:
        return f"\\set i 0\nSELECT LEAST({', '.join([':i'] * count)});"

    assert [outcome.status for outcome in both(script(255), mode="prepared")] == [0, 0]
    refused = both(script(256), mode="prepared")
    assert [outcome.status for outcome in refused] == [1, 1]
    assert all("statement has too many arguments (maximum is 255)" in outcome.output for outcome in refused)
