"""Texts of help pages: one file per command in the folder `help`, in English and Chinese.

A file has the command's description, a text for each parameter, and examples. A parameter without a text in
the file of its command has one in `shared.toml`. These files are not part of the catalogue of messages, so
a help page reads only its own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple, TypeAlias

FOLDER = os.path.join(os.path.dirname(__file__), "help")  # noqa: PTH118, PTH120 - pathlib loads slowly
Text: TypeAlias = Mapping[str, str]
#: A table of texts by name.
Table: TypeAlias = Mapping[str, Text]
#: A line of the files: the head of a table, or a text. All of them are TOML, and a test reads them as such;
#: the standard library's reader would take a third of the time of `loadcell --help`.
_LINE = re.compile(
    r"""^(?:\[+(?P<table>\w+)\]+
    |(?:(?P<name>[\w-]+)\.)?(?P<key>\w+)\ =[ ]
     (?:"{3}\n?(?P<long>(?:.|\n)*?)"{3}|"(?P<short>.*)"|'(?P<plain>.*)'))$""",
    re.MULTILINE | re.VERBOSE,
)
_ESCAPE = re.compile(r'\\(?:\n[ \t\n]*|([\\"nt]))')
_ESCAPED = {"n": "\n", "t": "\t", "": ""}


class Example(NamedTuple):
    """A command line that works as written, and its purpose in each language."""

    command: str
    purpose: Text


class Help(NamedTuple):
    """Texts of one command, each in every language."""

    description: Text
    parameters: Table
    examples: Sequence[Example]

    def parameter(self, name: str) -> Text | None:
        """Text of a parameter, of this command or shared by several; None without one."""
        return self.parameters.get(name) or _read("shared").tables[""].get(name)


class File(NamedTuple):
    """Texts of a file by table and name (`""`: those before the first table), and its examples."""

    tables: Mapping[str, Table]
    examples: Sequence[Text]


@cache
def of(path: Sequence[str]) -> Help:
    """Texts of a command by its path, such as ("baseline", "set"); () is the root command."""
    file = _read("-".join(path) or "loadcell")
    return Help(
        file.tables.get("description", {}).get("", {}),
        file.tables.get("parameters", {}),
        tuple(Example(example["command"], example) for example in file.examples),
    )


def summaries() -> Table:
    """One line for each command, as `loadcell --help` lists them."""
    return _read("commands").tables[""]


def section(name: str) -> Table:
    """A table of the manual page: `environment` or `exit_status`."""
    return _read("loadcell").tables[name]


def heading(name: str) -> Text:
    """Heading of a group of options, or of another part of a help page."""
    return _read("headings").tables[""][name]


def order(name: str) -> int:
    """Position of a group of options on a help page."""
    return [*_read("headings").tables[""]].index(name)


def of_click() -> Table:
    """Sentences of click; the English one is click's own."""
    return _read("click").tables[""]


@cache
def _read(name: str) -> File:
    try:
        with open(os.path.join(FOLDER, f"{name}.toml"), encoding="utf-8") as file:  # noqa: PTH118, PTH123
            return parsed(file.read())
    except FileNotFoundError:
        return File({}, ())


def parsed(text: str) -> File:
    """The texts of a file."""
    tables: dict[str, dict[str, dict[str, str]]] = {"": {}}
    examples: list[dict[str, str]] = []
    table = ""
    for line in _LINE.finditer(text):
        if line["table"]:
            table = line["table"]
            if table == "examples":
                examples.append({})
            continue
        value = line["plain"]
        if value is None:
            value = _ESCAPE.sub(_unescaped, line["short"] if line["long"] is None else line["long"])
        if table == "examples":
            examples[-1][line["key"]] = value
        else:
            tables.setdefault(table, {}).setdefault(line["name"] or "", {})[line["key"]] = value
    return File(tables, examples)


def _unescaped(escape: re.Match[str]) -> str:
    character = escape[1] or ""
    return _ESCAPED.get(character, character)
