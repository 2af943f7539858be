"""Help pages in both languages: complete, grouped, no wider than the terminal, with examples that parse."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import click
import pytest

from lines import CliRunner
from loadcell.cli import help_page, help_texts, main, manual
from loadcell.cli.command import GENERAL, Context, described
from loadcell.ingest.readers import names as reader_names
from loadcell.parts import installed
from loadcell.plan.load import load_plan

ROOT = Path(__file__).parents[2]
FILES = sorted(Path(help_texts.FOLDER).glob("*.toml"))
CHINESE = re.compile(r"[\u4e00-\u9fff]")
#: Four words of plain English in a row, which no name, value or command is.
ENGLISH_SENTENCE = re.compile(r"(?:\b[A-Za-z][a-z]+ ){3}[a-z]+\b")
#: Code, and the names of options with their values, are the same in every language.
CODE = re.compile(
    r"`[^`]*`|'[^']*'|\"[^\"]*\"|^ +loadcell .*$|^        .*$|^ +(-\w, )?--[^ ]+( \S+)*", re.MULTILINE
)


@cache
def entries(language: str, width: int = 80) -> list[manual.Entry]:
    return list(manual.entries(language, width))


def commands() -> list[tuple[str, ...]]:
    return [tuple(entry.path) for entry in entries("en")]


def in_context(path: tuple[str, ...]) -> Context:
    """The context of a command."""
    context = Context(main, info_name="loadcell")
    for name in path:
        group = context.command
        assert isinstance(group, click.Group)
        command = group.get_command(context, name)
        assert command is not None
        context = Context(command, context, name)
    return context


@pytest.mark.parametrize("path", commands(), ids=" ".join)
def test_every_option_has_a_text_in_both_languages(path: tuple[str, ...]) -> None:
    context = in_context(path)
    texts = {parameter.opts[-1]: text for parameter, text in described(context.command, context)}
    assert {name for name, text in texts.items() if not text.get("en")} == set()
    assert {name for name, text in texts.items() if not CHINESE.search(text.get("zh", ""))} == set()


@pytest.mark.parametrize("path", commands(), ids=" ".join)
def test_every_text_belongs_to_a_parameter(path: tuple[str, ...]) -> None:
    context = in_context(path)
    parameters = context.command.get_params(context)
    names = {str(parameter.name) for parameter in parameters}
    names |= {max(parameter.opts, key=len).lstrip("-").replace("-", "_") for parameter in parameters}
    assert help_texts.of(path).parameters.keys() - names == set()


def test_every_file_belongs_to_a_command() -> None:
    pages = {"-".join(path) or "loadcell" for path in commands()}
    assert {file.stem for file in FILES} == pages | {"shared", "commands", "headings", "click"}


@pytest.mark.parametrize("entry", entries("zh"), ids=lambda entry: " ".join(entry.path))
def test_no_sentence_of_a_chinese_page_is_english(entry: manual.Entry) -> None:
    assert ENGLISH_SENTENCE.findall(CODE.sub("", entry.page)) == []
    assert CHINESE.search(entry.summary or entry.description)
    for heading in re.findall(r"^\S.*", entry.page, re.MULTILINE):
        assert CHINESE.search(heading)


def test_the_scan_finds_english_sentences() -> None:
    assert ENGLISH_SENTENCE.search(CODE.sub("", "Show this page and exit."))
    assert any(ENGLISH_SENTENCE.search(CODE.sub("", entry.page)) for entry in entries("en"))


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("width", [40, 80])
def test_pages_are_as_wide_as_the_terminal(language: str, width: int) -> None:
    wide = [
        line
        for entry in entries(language, width)
        for line in entry.page.splitlines()
        if help_page.columns(line) > width
        and " " in line.strip()
        # the longest words of names and commands cannot be broken
        and not re.match(r"\s+(-|loadcell |# )", line)
        and not re.search(r"['\"]", line)
    ]
    assert wide == []


@pytest.mark.parametrize("entry", entries("en"), ids=lambda entry: " ".join(entry.path))
def test_a_page_ends_with_examples(entry: manual.Entry) -> None:
    assert entry.examples
    folded = " ".join(entry.page.split("Examples:\n")[1].replace("\\\n", " ").split())
    for example in entry.examples:
        assert " ".join(example.command.split()) in folded


def examples() -> list[tuple[str, str]]:
    return [
        (" ".join(entry.path) or "loadcell", example.command)
        for entry in entries("en")
        for example in entry.examples
    ]


@pytest.mark.parametrize(("page", "line"), examples())
def test_an_example_is_a_right_command_line(page: str, line: str) -> None:
    """Parsed by the commands themselves, up to what the shell does with their output."""
    program, *words = shlex.split(re.split(r" [>|] ", line)[0])
    assert program == "loadcell"
    context = in_context(())
    command: click.Command = main
    while isinstance(command, click.Group):
        child = command.get_command(context, words[0])
        assert child is not None, line
        context = Context(child, context, words[0])
        command, words = child, words[1:]
        if isinstance(command, click.Group) and (not words or words[0].startswith("-")):
            break
    command.make_context(str(context.info_name), words, context.parent)


def test_numbers_have_no_intervals() -> None:
    pages = "\n".join(entry.page for language in ("en", "zh") for entry in entries(language))
    assert not re.search(r"<=x|x>=|x<|\bx>", pages)


def test_the_error_of_a_number_names_its_bounds() -> None:
    call = ["http", "http://127.0.0.1:1/", "--threads", "5000", "--save-plan", "-"]
    english = CliRunner().invoke(main, call)
    assert english.exit_code == 2
    assert "'5000' is not a whole number from 1 to 1024" in english.stderr
    chinese = CliRunner().invoke(main, [*call, "--lang", "zh"])
    assert "'5000' 不是 1 到 1024 之间的整数" in chinese.stderr


def test_options_of_long_pages_are_in_groups() -> None:
    for entry in entries("en"):
        special = {group: rows for group, rows in entry.options.items() if group != GENERAL}
        if sum(map(len, special.values())) > 8:
            assert len(special) >= 2, entry.path
            assert "options" not in special, entry.path


@pytest.mark.parametrize(
    "words", [("http", "http://h/"), ("redis", "h:1"), ("sql", "embedded"), ("stream", "h:1")], ids=" ".join
)
@pytest.mark.parametrize(("language", "unlimited"), [("en", "Default: no limit."), ("zh", "默认不限。")])
def test_the_time_limit_is_that_of_the_plan(
    words: tuple[str, ...], language: str, unlimited: str, tmp_path: Path
) -> None:
    """The default of `--timeout` in the page of a command is the limit of the plan that the command runs."""
    done = CliRunner().invoke(main, [*words, "--save-plan", str(tmp_path / "plan.yaml")])
    assert done.exit_code == 0, done.output
    limit = load_plan(tmp_path / "plan.yaml", installed()).treatment(0).resolved.load.timeout
    context = in_context(words[:1])
    [text] = (text for parameter, text in described(context.command, context) if parameter.name == "timeout")
    assert text[language].endswith(unlimited if limit is None else f"{limit.text}{unlimited[-1]}")


def test_the_page_of_import_names_every_reader() -> None:
    (entry,) = (entry for entry in entries("zh") if entry.path == ("import",))
    assert all(name in entry.page for name in reader_names())


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_files_are_read_as_toml_is(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    document = tomllib.loads(text)
    examples = document.pop("examples") if isinstance(document.get("examples"), list) else []
    tables = {name: table for name, table in document.items() if not _is_text(table)}
    outside = {
        name: table
        for name, table in document.items()
        if _is_text(table) and (name != "description" or file.stem == "headings")
    }
    expected = {"": outside, **tables}
    if "description" in document and file.stem != "headings":
        expected["description"] = {"": document["description"]}
    read = help_texts.parsed(text)
    assert {name: table for name, table in read.tables.items() if table or name} == {
        name: table for name, table in expected.items() if table or name
    }
    assert list(read.examples) == examples


def _is_text(table: dict[str, object]) -> bool:
    return any(isinstance(value, str) for value in table.values())


def test_every_sentence_of_click_is_translated() -> None:
    """Those for programmers excepted."""
    sentences = set()
    for module in ("core", "decorators", "exceptions", "formatting", "parser", "termui", "types"):
        path = Path(click.__file__).with_name(f"{module}.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("_", "ngettext"):
                sentences |= {
                    argument.value
                    for argument in node.args
                    if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
                }
    for_programmers = {
        sentence
        for sentence in sentences
        if re.match(
            r"DeprecationWarning|Could not determine|No options defined|Arguments take|Name '\{", sentence
        )
        or sentence.startswith(("Boolean option", "Unknown color", "Choice("))
    }
    texts = help_texts.of_click().values()
    assert sentences - for_programmers - {text["en"] for text in texts} == set()
    for text in texts:
        english, chinese = (re.findall(r"\{\w+(?:!r)?\}|%\(\w+\)s", text[code]) for code in ("en", "zh"))
        assert english == chinese


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_manual_page_has_all_commands_and_no_warning(language: str) -> None:
    script = [sys.executable, str(ROOT / "scripts" / "man-page"), language]
    page = subprocess.run(script, capture_output=True, text=True, check=True).stdout
    assert page.startswith(".TH LOADCELL 1")
    for path in commands():
        assert not path or f'.SS "loadcell {" ".join(path)} ' in page
    formatted = subprocess.run(
        ["groff", "-K", "utf8", "-t", "-man", "-ww", "-Tutf8"],
        input=page,
        capture_output=True,
        text=True,
        check=True,
    )
    assert formatted.stderr == ""
    assert "results/<plan>/<time>-<id>" in formatted.stdout or language == "zh"
