"""Sentences that users see are messages of the catalogue: none stands inline in Python.

Scanned are all strings of the commands, and elsewhere the arguments of calls that print, raise or show.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import loadcell

SOURCE = Path(loadcell.__file__).parent
#: Two words, the second in lower case; a value of an f-string counts as a word.
_SENTENCE = re.compile(r"[A-Za-z]{2,}[,:;.]? [a-z]{2,}")
#: What a user may type is no sentence.
_COMMAND = re.compile(r"loadcell [a-z]+\b[^.:;]*")
#: Calls whose arguments users see, besides those of exceptions.
_SHOWN = {
    "echo", "secho", "print", "confirm", "prompt", "fail", "say", "note", "noted", "add_note",
    "Advice", "Misfit", "Problem", "Paragraph", "Remark", "Sentences", "Section", "Column", "Cell", "Tile",
    "Definitions", "Table",
    "option", "argument", "command", "group", "Details", "Link", "Report", "declare", "as_written", "Ended",
}  # fmt: skip
#: Arguments for usage lines and the schema of plans, which are the same in every language.
_METAVARS = {"metavar", "description"}
#: Exceptions for mistakes in Python code, which users do not see.
_OF_PROGRAMMERS = {
    "AssertionError", "AttributeError", "LookupError", "ModuleNotFoundError", "NotImplementedError",
    "TypeError",
}  # fmt: skip
#: Symbol with inline sentences -> reason.
_ALLOWED: Mapping[str, str] = {
    "cli/completion.py:_NO_SPACE": "a script for a shell",
    "execution/executor.py:WorkerExecutor.start_at": "a wrong order of calls",
    "ingest/csv_table.py:_measured": "caught by the reader",
    "linux/launcher.py:pin": "printed by the started process, and shown as the output of a program",
    "model/catalogue.py:_read": "a mistake in a catalogue",
    "model/tools.py:ClientPrograms.__post_init__": "a mistake in a declaration",
    "model/tools.py:declare": "a mistake in a declaration",
    "model/message.py:MessageCode.__init__": "a mistake in a declaration",
    "model/metrics.py:declare": "a mistake in a declaration",
    "model/panels.py:SampleTable.__post_init__": "a mistake in a declaration",
    "report/publish.py:publish": "refused by click before",
    "report/texts.py:Texts.__init__": "refused by click before",
    "stats/two_samples.py:Samples.effect": "an empty argument",
    "stats/two_samples.py:_walsh": "an empty argument",
    "store/interval_histograms.py:read": "shown by the message of its caller",
    "store/trial_files.py:_payload": "shown by the message of its caller",
    "store/trial_files.py:decode": "shown by the message of its caller",
    "systems/duckdb/load.py:Client._page": "the text of an error, which servers have in English, too",
    "systems/duckdb/load.py:_expect": "the text of an error, which servers have in English, too",
    "systems/mysql/connection.py:_CachingSha2.authenticate": "shown by the message of its caller",
    "systems/postgres/monitor/queries.py:Link._await": "recorded with a note that the report words",
    "systems/redis/client.py:_plain_error": "the text of an error of the operating system",
}


@pytest.mark.parametrize(
    "code",
    [
        'click.echo("No runs are here.")',
        'click.echo(f"{count} of them are left", err=True)',
        'click.option("--yes", help="Do not ask for it.")',
        'raise click.UsageError("give " + "a plan that is there")',
        'raise TargetError(f"{server} did not answer")',
        'raise ValueError("score 1 is no mapping" if index else "")',
        'blocks.Paragraph("It only profiles.")',
        'log(f"x") or console.print(", ".join(["one of", "two of them"]))',
        'TITLE = "the embedded PostgreSQL"',
    ],
)
def test_the_scan_finds_sentences(code: str) -> None:
    assert list(_sentences(ast.parse(code), everywhere=code.startswith("TITLE")))


@pytest.mark.parametrize(
    "code",
    [
        '"""Print what is there."""',
        'click.option("--yes", metavar="yes or no")',
        "click.echo(language.written(messages.NO_RUNS(results=results)))",
        'raise TypeError("this is for a programmer")',
        'click.echo(f"{name}: {path}")',
        'run = f"loadcell run {path}"',
    ],
)
def test_the_scan_leaves_metavars_and_messages_alone(code: str) -> None:
    assert list(_sentences(ast.parse(code), everywhere=True)) == []


def test_no_sentence_stands_inline() -> None:
    inline, used = [], set()
    for path in sorted(SOURCE.rglob("*.py")):
        file = str(path.relative_to(SOURCE))
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for line, text in _sentences(tree, everywhere=file.startswith("cli/")):
            symbol = f"{file}:{_symbol(tree, line)}"
            if symbol in _ALLOWED:
                used.add(symbol)
            else:
                inline.append(f"{symbol}, line {line}: {text}")
    assert not inline, "declare them as messages: " + "\n".join(inline)
    assert _ALLOWED.keys() - used == set(), "no longer needed"


def _sentences(tree: ast.Module, *, everywhere: bool) -> Iterator[tuple[int, str]]:
    """Lines and texts of sentences that users see; `everywhere`: of all strings but help."""
    ignored = {id(part) for node in ast.walk(tree) for part in _ignored(node)}
    scanned: list[ast.AST] = [tree] if everywhere else [node for node in ast.walk(tree) if _shows(node)]
    texts: dict[int, tuple[int, str]] = {}
    for root in scanned:
        for node in ast.walk(root):
            text = _text(node)
            if text is not None and id(node) not in ignored and _SENTENCE.search(_COMMAND.sub("", text)):
                texts[id(node)] = (node.lineno, text)
    yield from sorted(texts.values())


def _symbol(tree: ast.Module, line: int) -> str:
    """Dotted name of the innermost function, class or constant of the module that has a line."""
    names: list[str] = []
    inner: list[ast.stmt] = tree.body
    while statement := next((item for item in inner if item.lineno <= line <= (item.end_lineno or 0)), None):
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            names.append(statement.name)
            inner = statement.body
        elif isinstance(statement, ast.Assign | ast.AnnAssign) and not names:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            return ast.unparse(targets[0])
        else:
            break
    return ".".join(names)


def _shows(node: ast.AST) -> bool:
    """True for a call whose arguments users see."""
    if not isinstance(node, ast.Call):
        return False
    return (name := _name(node)) in _SHOWN or name.endswith(("Error", "Exception", "BadParameter"))


def _ignored(node: ast.AST) -> Iterator[ast.AST]:
    """Parts of a node that users do not see."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield from (part for part in node.values if isinstance(part, ast.Constant))
    elif isinstance(node, ast.Call) and _name(node) in _OF_PROGRAMMERS:
        yield from ast.walk(node)
    elif isinstance(node, ast.Call):
        for keyword in node.keywords:
            if keyword.arg in _METAVARS:
                yield from ast.walk(keyword.value)


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _text(node: ast.AST) -> str | None:
    """The text of a string; None for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "Value" for part in node.values)
    return None
