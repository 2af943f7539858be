"""The catalogue of reasons compared with the code: what is raised has its sentences, and nothing else has."""

from __future__ import annotations

import ast
import importlib
import json
import pkgutil
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

import loadcell
from loadcell import lazy
from loadcell.analysis import error_codes
from loadcell.analysis.finding import FindingCode
from loadcell.execution.checks import BROKEN, broken
from loadcell.model import catalogue
from loadcell.model.catalogue import VARIANTS, placeholders
from loadcell.model.message import Message, MessageCode, MessageError, declared, labelled
from loadcell.model.trial_record import Check
from loadcell.plan.workload import text_of, verifications
from loadcell.profilers.perf import trouble
from loadcell.systems.duckdb.load import DUCKDB_STOPPED, LoadError

SOURCE = Path(loadcell.__file__).parent
ENGINE = Path(__file__).parents[2] / "engine"
#: Codes without a text of their own, of which only `.advice` or `.exact` is worded.
OPEN: set[str] = set()
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

#: Codes that take their texts from the report's catalogue alone.
REPORT = SOURCE / "report"


@cache
def codes() -> Mapping[str, MessageCode]:
    """Every code that is declared anywhere in loadcell."""
    for module in pkgutil.walk_packages(loadcell.__path__, "loadcell."):
        if module.name != "loadcell.__main__":
            lazy.load(importlib.import_module(module.name))
    return declared()


def texts() -> Mapping[str, Mapping[str, str]]:
    """The texts of messages."""
    names = {
        name
        for file in catalogue.files()
        if not file.is_relative_to(REPORT)
        for name in catalogue.flattened(tomllib.loads(file.read_text(encoding="utf-8")))
    }
    return {name: text for name, text in catalogue.texts().items() if name in names}


def calls(*names: str) -> Iterator[tuple[Path, ast.Call]]:
    """Where these are called in loadcell's Python."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
                yield path.relative_to(SOURCE), node


def engine_codes() -> set[str]:
    """Every code that the engine names itself: written out, or by a constant."""
    sources = [
        path.read_text(encoding="utf-8").partition("#[cfg(test)]\nmod tests")[0]
        for path in ENGINE.glob("*/src/**/*.rs")
        if "test" not in path.name and "tests" not in path.relative_to(ENGINE).parts
    ]
    text = "\n".join(sources)
    constants = dict(re.findall(r'const ([A-Z_]+): &str = "([a-z.-]+)";', text))
    named = re.findall(
        r'(?:LoadError|Fault|Failure)::(?:new|fatal|at|with_text)\(\s*(?:"([a-z-]+)"|(?:\w+::)*([A-Z_]+)),',
        text,
    )
    written = re.findall(r'(?:Failure|Fault|Self) \{ code: "([a-z-]+)"', text)
    return {*written, *(word or constants[constant] for word, constant in named)}


def outcomes() -> set[str]:
    """Outcomes by which a load of the engine can end before its time."""
    text = (ENGINE / "load" / "src" / "outcome.rs").read_text(encoding="utf-8")
    return set(re.findall(r'name: "([a-z-]+)"', text)) - {"completed"}


def test_every_message_of_the_engine_is_declared_and_every_declared_one_is_the_engines() -> None:
    sources = "\n".join(path.read_text(encoding="utf-8") for path in ENGINE.glob("*/src/**/*.rs"))
    named = set(re.findall(r'"(engine\.[a-z0-9.-]+)"', sources))
    assert len(named) > 70
    assert {code for code in codes() if code.startswith("engine.")} - {
        "engine.attempts",
        "engine.group",
        "engine.rolled-back",
    } == named


def test_the_remedies_of_each_protocol_cover_its_connections_and_this_machine() -> None:
    remedies = {code for code in texts() if code.startswith("remedy.")}
    assert len(remedies) > 100
    for protocol in ("postgres", "mysql", "resp", "http"):
        assert {f"remedy.{protocol}.{code}" for code in ("connection", "timeout", "protocol")} <= remedies
    registered = {"remedy.ports", "remedy.descriptors", "remedy.postgres.53300", "remedy.resp.max-clients"}
    assert registered <= remedies


def test_every_declared_code_has_its_text_and_every_text_its_code() -> None:
    variants = {code + variant for code in codes() for variant in VARIANTS}
    assert codes().keys() - catalogue.texts().keys() == OPEN
    assert labelled() - catalogue.texts().keys() == set()
    assert texts().keys() - variants - labelled() == set()


def test_texts_take_declared_arguments_alone() -> None:
    undeclared = {
        (code + variant, name)
        for code, declaration in codes().items()
        for variant in VARIANTS
        for text in catalogue.texts().get(code + variant, {}).values()
        for name in placeholders(text)
        if name not in declaration.arguments
    }
    assert undeclared == set()


def test_every_declared_argument_is_in_a_text() -> None:
    unused = {
        (code, name)
        for code, declaration in codes().items()
        for name, kind in declaration.arguments.items()
        # without an advice a message advises what it has as `allowed`
        if not (name == "allowed" and kind is Message)
        and not any(
            name in placeholders(text)
            for variant in VARIANTS
            for text in catalogue.texts().get(code + variant, {}).values()
        )
    }
    assert unused == set()


def test_every_code_of_the_engine_has_its_sentence() -> None:
    codes, ends = engine_codes(), outcomes()
    assert len(codes) > 20
    assert len(ends) > 3
    registered = error_codes.MEANINGS.keys() | ends | {code.removeprefix("load.") for code in texts()}
    assert codes - registered == set()
    assert {end for end in ends if not {end, f"{end}.advice"} <= texts().keys()} == set()


def test_sentences_with_the_engines_values_name_values_that_it_gives() -> None:
    arguments = set(
        re.findall(r'"([a-z_]+)":', (ENGINE / "load" / "src" / "outcome.rs").read_text(encoding="utf-8"))
    )
    exact = {
        name
        for code, message in texts().items()
        if code.endswith(".exact")
        for name in placeholders(message["en"])
    }
    assert exact - arguments == {"remedy"}, "which is one of the catalogue itself"


def test_sentences_take_plain_arguments_alone() -> None:
    """Records are written without the words for what throughput counts."""
    plain = re.compile(r"\{\w+(\|[^|{}]*\|[^|{}]*)?\}")
    findings = {code for code, declaration in codes().items() if isinstance(declaration, FindingCode)}
    marked = {key for key, entry in texts().items() if set("{}") & set(plain.sub("", entry["en"]))}
    assert marked - findings == set()


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
        for message in texts().values()
        for text in message.values()
        for word in re.findall(r"`make ([\w-]+)", text)
    }
    assert advised == {"setup"}
    assert advised <= targets


def test_every_remedy_belongs_to_a_declared_error() -> None:
    assert {
        code.removeprefix("short-of.") for code in texts() if code.startswith("short-of.")
    } <= error_codes.MEANINGS.keys()


def test_every_check_that_can_break_says_why() -> None:
    """A check is made in a function that knows the verdict, by its name."""
    names = set()
    for path in (SOURCE / "execution").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and any(
                isinstance(part, ast.Constant) and part.value == "broken" for part in ast.walk(node)
            ):
                names |= {
                    str(call.args[0].value)
                    for call in ast.walk(node)
                    if isinstance(call, ast.Call)
                    and isinstance(call.func, ast.Name)
                    and call.func.id == "Check"
                    and isinstance(call.args[0], ast.Constant)
                }
    assert len(names) > 5
    assert names == BROKEN.keys()


def test_every_verification_says_why_a_trial_without_it_cannot_be_trusted() -> None:
    codes()
    assert {"pgbench-balances", "tpcc-consistency", "values"} <= verifications().keys()
    for name, declaration in verifications().items():
        reason = broken(Check(name, "broken"))
        assert reason == declaration.reason()
        assert reason.advice
        prefixes = ("check-title", "check-name", "advice", "held")
        assert [text_of(prefix, name) for prefix in prefixes] == [
            Message(f"{prefix}.{name}") for prefix in prefixes
        ]
    assert text_of("held", "littles-law") is None


def test_errors_outside_the_usual_way_are_reasons_too() -> None:
    assert isinstance(trouble("what?"), MessageError)
    stopped = LoadError(DUCKDB_STOPPED())
    assert isinstance(stopped, MessageError)
    assert stopped.message.document().keys() >= {"code", "args"}


def test_a_damaged_or_outdated_cache_of_texts_only_costs_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    read = catalogue.texts.__wrapped__
    expected = read()
    [cache_file] = (tmp_path / "loadcell").iterdir()
    content = cache_file.read_text(encoding="utf-8")
    for damaged in ("", content[:-1], "[{}, {}]"):
        cache_file.write_text(damaged, encoding="utf-8")
        assert read() == expected
        assert cache_file.read_text(encoding="utf-8") == content
    cache_file.write_text(content.replace(f'"en": {json.dumps(expected["mark.list"]["en"])}', '"en": "+"', 1))
    assert read() != expected, "read from the cache"


def test_installations_side_by_side_keep_their_texts_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    read = catalogue.texts.__wrapped__
    for number in range(10):
        file = tmp_path / f"{number}" / "messages.toml"
        file.parent.mkdir()
        file.write_text(f'a.en = "{number}"\na.zh = "{number}"\n')
        monkeypatch.setattr(catalogue, "files", lambda file=file: iter([file]))
        assert read() == {"a": {"en": f"{number}", "zh": f"{number}"}}
        if number == 1:
            written = {path: path.stat().st_mtime_ns for path in (tmp_path / "cache" / "loadcell").iterdir()}
            assert len(written) == 2
            monkeypatch.setattr(catalogue, "files", lambda: iter([tmp_path / "0" / "messages.toml"]))
            assert read()["a"]["en"] == "0"
            assert written == {path: path.stat().st_mtime_ns for path in written}, "read from the cache"
    assert len(list((tmp_path / "cache" / "loadcell").iterdir())) == 8
