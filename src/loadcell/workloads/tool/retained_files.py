"""Names of the files that a command leaves in its directory, and that the trial retains."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from loadcell.model.message import MessageCode
from loadcell.plan.problems import SettingError
from loadcell.store import layout

TOOL_FILE_NAME = MessageCode("tool.file-name", name=str)
TOOL_FILE_RESERVED = MessageCode("tool.file-reserved", name=str)
TOOL_FILE_TWICE = MessageCode("tool.file-twice", name=str)

_LONGEST_NAME = 128


def _listed(names: object) -> object:
    """One name is a list of one."""
    return (names,) if isinstance(names, str) else tuple(names) if isinstance(names, list) else names


def _checked(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        is_plain = name.isprintable() and not name.startswith(".") and not {"/", "$", "\\"} & set(name)
        if not is_plain or not 0 < len(name) <= _LONGEST_NAME:
            raise SettingError(TOOL_FILE_NAME(name=repr(name)))
        if layout.is_reserved(name):
            raise SettingError(TOOL_FILE_RESERVED(name=name))
        if names.count(name) > 1:
            raise SettingError(TOOL_FILE_TWICE(name=name))
    return names


#: Names of files in the directory of a command.
FileNames = Annotated[
    tuple[str, ...],
    BeforeValidator(_listed, json_schema_input_type=str | list[str]),
    AfterValidator(_checked),
    Field(
        description="Files that the command writes into `${directory}` and that the trial retains, at most "
        "64 MiB each. `gc.log` is read as the GC log of the trial.",
        examples=["gc.log"],
    ),
]
