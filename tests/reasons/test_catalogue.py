"""The catalogue of reasons held against the code: all that is raised has its sentences, and nothing else has."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import loadcell
from loadcell.execution import error_codes
from loadcell.execution.phases import NAMES
from loadcell.profilers.perf import trouble
from loadcell.reasons import SHORT_OF, ReasonedError, texts
from loadcell.systems.duckdb.load import _trouble
from loadcell.systems.mysql import connection as mysql
from loadcell.systems.postgres import connection as postgres
from loadcell.systems.redis import connection as redis
from loadcell.workloads.pgbench import Pgbench
from loadcell.workloads.tpcc import Tpcc
from report.test_texts import placeholders

SOURCE = Path(loadcell.__file__).parent
ENGINE = Path(__file__).parents[2] / "engine" / "src"
ERRORS = {
    "TargetError",
    "NotItsOutputError",
    "NoFigureError",
    "ProfilerError",
    "GoneError",
    "LoadError",
    "OrderError",
    "PortTakenError",
    "StillHeldError",
}

#: Checks whose verdict can be `broken`, as they are named where they are made.
BROKEN = {
    "values", "percentiles", "counting-identity", "littles-law", "client-limit", "server-counters", "affinity",
    "intervals-complete", "ports", Pgbench.verified, Tpcc.verified, "other",
}  # fmt: skip
#: Codes that code puts together or takes from a table.
TAKEN = {
    *(f"phase.{name}" for name in (*NAMES, "load")),
    *(f"check.{name}" for name in BROKEN),
    *redis.REFUSALS.values(),
    *mysql.REFUSALS.values(), *mysql.SIGNS.values(),
    *postgres.REFUSALS.values(),
    *(code for code in texts() if code.startswith((SHORT_OF, "engine.", "remedy.engine."))),
    "connection.failed", "perf.not-sampled", "perf.unreadable",
    "duckdb.stopped", "duckdb.corrupt", "duckdb.no-memory", "duckdb.failed",
}  # fmt: skip


def calls(*names: str) -> Iterator[tuple[Path, ast.Call]]:
    """Where these are called in loadcell's own Python."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
                yield path.relative_to(SOURCE), node


def raised() -> dict[str, list[set[str]]]:
    """Code -> the arguments it is given at each place that names it."""
    found: dict[str, list[set[str]]] = {}
    for _, call in calls("because"):
        for code in ast.walk(call.args[0]):
            if isinstance(code, ast.Constant):
                found.setdefault(str(code.value), []).append({str(one.arg) for one in call.keywords})
    for _, call in calls("_error"):
        if isinstance(call.args[0], ast.Constant):
            found.setdefault(str(call.args[0].value), []).append({str(one.arg) for one in call.keywords})
    return found


def engines_own() -> set[str]:
    """Every code that the engine names itself: written out, or by a constant."""
    sources = [
        path.read_text(encoding="utf-8").partition("#[cfg(test)]\nmod tests")[0]
        for path in ENGINE.rglob("*.rs")
        if "test" not in path.name and "tests" not in path.parts
    ]
    text = "\n".join(sources)
    constants = dict(re.findall(r'const ([A-Z_]+): &str = "([a-z-]+)";', text))
    named = re.findall(
        r'(?:Problem|Fault|Failure)::(?:new|fatal)\(\s*(?:"([a-z-]+)"|(?:\w+::)*([A-Z_]+)),', text
    )
    written = re.findall(r'(?:Failure|Problem|Fault|Self) \{ code: "([a-z-]+)"', text)
    return {*written, *(word or constants[constant] for word, constant in named)}


def outcomes() -> set[str]:
    """How a load of the engine can end before its time."""
    text = (ENGINE / "load" / "outcome.rs").read_text(encoding="utf-8")
    return set(re.findall(r'name: "([a-z-]+)"', text)) - {"completed"}


def remedies() -> dict[str, str]:
    """What the engine says that is to be done, by the code of the catalogue."""
    arm = re.compile(
        r'^ {8}((?:"[\w.-]+"|(?:\w+::)*[A-Z]{2,}[A-Z_]*)(?: \| (?:"[\w.-]+"|(?:\w+::)*[A-Z]{2,}[A-Z_]*))*) => (?:\{\s*)?"((?:[^"\\]|\\.|\\\n)*)"',
        re.MULTILINE,
    )
    constants = {
        name: value
        for path in ENGINE.rglob("*.rs")
        for name, value in re.findall(
            r'pub const ([A-Z_]+): &str = "([a-z-]+)";', path.read_text(encoding="utf-8")
        )
    }
    found = {}
    for before, file in {
        "postgres.": "protocol/postgres/advice.rs", "mysql.": "protocol/mysql/advice.rs", "resp.": "protocol/resp/advice.rs",
        "http.": "http/mod.rs", "store.": "store/fault.rs", "host.": "probe/mod.rs", "": "limits.rs",
    }.items():  # fmt: skip
        text = (ENGINE / file).read_text(encoding="utf-8").partition("pub fn advice(")[2].partition("\n}")[0]
        for codes, said in arm.findall(text):
            plain = re.sub(r"\\\n\s*", "", said).replace('\\"', '"')
            for code in codes.split(" | "):
                own = code.strip('"') if code[0] == '"' else constants[code.rpartition("::")[2]]
                found[f"remedy.{before}{own}"] = plain
    return found


def test_what_the_engine_advises_is_said_in_every_language() -> None:
    known, said = remedies(), texts()
    own = {code for code in said if code.startswith("remedy.") and not code.startswith("remedy.engine.")}
    assert {code: said[code]["en"] for code in own} == known
    assert len(known) > 100
    for protocol in ("postgres", "mysql", "resp", "http"):
        assert {f"remedy.{protocol}.{code}" for code in ("connection", "timeout", "protocol")} <= own
    assert {"remedy.ports", "remedy.descriptors", "remedy.postgres.53300", "remedy.resp.max-clients"} <= own


def test_the_engines_own_words_are_those_that_it_says() -> None:
    sources = "\n".join(path.read_text(encoding="utf-8") for path in ENGINE.rglob("*.rs"))
    said = {code: text["en"] for code, text in texts().items()}
    whole = [text for code, text in said.items() if code.startswith("remedy.engine.")]
    begun = [text.partition("{")[0].rstrip(": ") for code, text in said.items() if code.startswith("engine.")]
    assert len(whole) > 5 < len(begun)
    assert [words for words in (*whole, *begun) if f'"{words}' not in sources] == []


def test_every_code_that_is_raised_has_its_sentence() -> None:
    codes = {code for code in raised() if re.fullmatch(r"[a-z][\w.-]*[a-z]", code)} | TAKEN
    assert codes - texts().keys() == set()


def test_every_sentence_is_raised_somewhere() -> None:
    whole = {code.removesuffix(".advice") for code in texts()}
    of_engine = {f"load.{code}" for code in (*engines_own(), "other", "other.advice.exact")}
    ends = {end + ending for end in outcomes() for ending in ("", ".exact", ".advice.exact")}
    assert whole - raised().keys() - TAKEN - of_engine - ends - remedies().keys() == set()


def test_every_code_of_the_engine_has_its_sentence() -> None:
    codes, ends = engines_own(), outcomes()
    assert len(codes) > 20
    assert len(ends) > 3
    known = error_codes.KNOWN.keys() | ends | {code.removeprefix("load.") for code in texts()}
    assert codes - known == set()
    assert {end for end in ends if not {end, f"{end}.advice"} <= texts().keys()} == set()


def test_sentences_with_the_engines_figures_name_figures_that_it_gives() -> None:
    given = set(re.findall(r'"([a-z_]+)":', (ENGINE / "load" / "outcome.rs").read_text(encoding="utf-8")))
    exact = {
        name for code, said in texts().items() if code.endswith(".exact") for name in placeholders(said["en"])
    }
    assert exact - given == {"remedy"}, "which is one of the catalogue itself"


def test_every_sentence_gets_its_arguments_wherever_it_is_raised() -> None:
    lacking = {
        (code, name)
        for code, places in raised().items()
        for key in (code, f"{code}.advice")
        for name in placeholders(texts().get(key, {}).get("en", ""))
        for given in places
        if name not in given and "None" not in given
    }
    assert lacking == set()


def test_sentences_take_plain_arguments_alone() -> None:
    """They are filled in by a few lines that know no plurals and no words for what throughput counts."""
    rest = {key for key, said in texts().items() if set("{}") & set(re.sub(r"\{\w+\}", "", said["en"]))}
    assert rest == set()


def test_no_reason_is_written_where_it_is_raised() -> None:
    inline = [
        (str(path), call.lineno)
        for path, call in calls(*ERRORS)
        if isinstance(call.args[0], ast.Constant | ast.JoinedStr | ast.BinOp)
    ]
    assert inline == []


def test_commands_of_make_that_are_advised_are_there() -> None:
    makefile = (Path(__file__).parents[2] / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))
    advised = {
        word
        for said in texts().values()
        for text in said.values()
        for word in re.findall(r"`make ([\w-]+)", text)
    }
    assert advised == {"setup"}
    assert advised <= targets


def test_what_is_done_about_an_error_is_said_of_codes_that_there_are() -> None:
    assert {
        code.removeprefix(SHORT_OF) for code in texts() if code.startswith(SHORT_OF)
    } <= error_codes.KNOWN.keys()


def test_every_check_that_can_break_says_why() -> None:
    """A check is made in a function that knows the verdict, by its name."""
    found = set()
    for path in (SOURCE / "run").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and any(
                isinstance(one, ast.Constant) and one.value == "broken" for one in ast.walk(node)
            ):
                found |= {
                    str(call.args[0].value)
                    for call in ast.walk(node)
                    if isinstance(call, ast.Call)
                    and isinstance(call.func, ast.Name)
                    and call.func.id == "Check"
                    and isinstance(call.args[0], ast.Constant)
                }
    assert found - BROKEN == set()


def test_errors_outside_the_usual_way_are_reasons_too() -> None:
    assert isinstance(trouble("what?"), ReasonedError)
    assert '"args"' in str(_trouble("duckdb.stopped"))
