"""Command lines of a plan: taken apart, with places that there are, and no secret in them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from loadcell.model.message import ForeignText, MessageCode
from loadcell.plan.problems import SettingError, nearest
from loadcell.workloads.tool_runner import registry
from loadcell.workloads.tool_runner.registry import Tool, placeholders
from loadcell.workloads.tool_runner.spec import placeholder_names

TOOL_UNKNOWN_PLACEHOLDER = MessageCode("tool.unknown-placeholder", name=str, names=list)
TOOL_NOT_SPLIT = MessageCode("tool.not-split", reason=ForeignText)
TOOL_SECRET_ARGUMENT = MessageCode("tool.secret-argument", example=str)
TOOL_EMPTY_COMMAND = MessageCode("tool.empty-command")
TOOL_MISSING_PROGRAM = MessageCode("tool.missing-program", path=str)
TOOL_NOT_EXECUTABLE = MessageCode("tool.not-executable", path=str)


def check_places(texts: Iterable[str]) -> None:
    """Raises SettingError for a placeholder that is never replaced."""
    for name in placeholder_names(texts):
        if name not in placeholders():
            near = nearest(name, placeholders())
            message = TOOL_UNKNOWN_PLACEHOLDER(
                name=f"${{{name}}}", names=[f"${{{placeholder}}}" for placeholder in placeholders()]
            )
            raise SettingError(message, f"${{{near}}}" if near else None)


def _right(command: Any) -> Any:
    try:
        words = registry.split(command)
    except ValueError as error:
        raise SettingError(TOOL_NOT_SPLIT(reason=error)) from None
    if any("${env:" in word for word in words):
        raise SettingError(TOOL_SECRET_ARGUMENT(example="env: {NAME: '${env:NAME}'}"))
    check_places(words)
    return command


def _not_empty(command: Any) -> Any:
    if not registry.split(command):
        raise SettingError(TOOL_EMPTY_COMMAND())
    return command


def _as_written(command: object) -> object:
    """A value that YAML reads as a number (`mbw: 64`), and a list as it comes from JSON."""
    if isinstance(command, int | float) and not isinstance(command, bool):
        return str(command)
    return tuple(str(word) for word in command) if isinstance(command, list) else command


def _several(commands: object) -> object:
    """One command line is one command."""
    return (
        (commands,)
        if isinstance(commands, str)
        else tuple(commands)
        if isinstance(commands, list)
        else commands
    )


#: One line that is taken apart as a shell would, without running one; or a list of words.
Arguments = Annotated[
    str | tuple[str, ...],
    BeforeValidator(_as_written, json_schema_input_type=str | int | list[str]),
    AfterValidator(_right),
]
Command = Annotated[Arguments, AfterValidator(_not_empty)]
#: One command line, or a list of several.
Commands = Annotated[
    tuple[Annotated[str, AfterValidator(_right), AfterValidator(_not_empty)], ...],
    BeforeValidator(_several, json_schema_input_type=str | list[str]),
]


def placed(tool: Tool, arguments: list[str], plan: Path) -> list[str]:
    """The arguments with the files among them found from the plan's directory.

    Raises SettingError for one that is not there.
    """
    words = list(arguments)
    for index, before, name in registry.files(tool, arguments):
        if "${" in name or name == "-":
            continue
        file, at, weight = name.partition("@") if tool.weighted_files else (name, "", "")
        path = (plan / Path(file).expanduser()).absolute()
        if not path.is_file():
            raise SettingError(tool.missing_file(path=path))
        words[index] = f"{before}{path}{at}{weight}"
    return words


def program(words: list[str], plan: Path) -> list[str]:
    """A command whose program is named by a path, found from the plan's directory.

    Raises SettingError where it is not there.
    """
    first = words[0]
    if "/" not in first or "${" in first:
        return words
    path = (plan / Path(first).expanduser()).absolute()
    if not path.is_file():
        raise SettingError(TOOL_MISSING_PROGRAM(path=path))
    if not os.access(path, os.X_OK):
        raise SettingError(TOOL_NOT_EXECUTABLE(path=path))
    return [str(path), *words[1:]]
