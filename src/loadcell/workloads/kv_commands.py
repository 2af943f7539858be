"""Commands of the user's own for Redis: one, several that are sent together (MULTI ... EXEC), or a script."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    Field,
    PrivateAttr,
    ValidationInfo,
    computed_field,
    field_validator,
    model_validator,
)

from loadcell.model.json import JsonObject
from loadcell.model.message import MessageCode
from loadcell.plan.parts import Options
from loadcell.plan.problems import SettingError
from loadcell.workloads.http_requests import decoded_file, read_file

KV_EMPTY_COMMAND = MessageCode("kv.empty-command", example=str)
KV_PLACEHOLDER = MessageCode("kv.placeholder", name=str, names=list)
KV_COMMAND_OR_SCRIPT = MessageCode("kv.command-or-script")
KV_WITHOUT_SCRIPT = MessageCode("kv.without-script", name=str)
KV_EMPTY_SCRIPT = MessageCode("kv.empty-script", example=str)

#: What is put into a command: a key, its number, and a value.
_PLACEHOLDERS = ("key", "number", "value")
_PLACEHOLDER = re.compile(r"\$\{([^}]*)\}?")
#: What calls a script.
SCRIPT_CALL = "evalsha"
#: Longest list of commands of one operation.
_MOST_COMMANDS = 1000
_EXAMPLE = "LPUSH list:${key} ${value}"
_SCRIPT_EXAMPLE = "return redis.call('GET', KEYS[1])"


def _checked(text: str) -> str:
    unknown = [name for name in _PLACEHOLDER.findall(text) if name not in _PLACEHOLDERS]
    if unknown:
        names = [f"${{{name}}}" for name in _PLACEHOLDERS]
        raise SettingError(KV_PLACEHOLDER(name=f"${{{unknown[0]}}}", names=names))
    return text


def _template(text: str) -> str:
    if not text.strip():
        raise SettingError(KV_EMPTY_COMMAND(example=_EXAMPLE))
    return _checked(text)


_Template = Annotated[str, AfterValidator(_template)]
_Word = Annotated[str, AfterValidator(_checked)]


class ScriptFile(Options):
    """A script that is kept in a file."""

    file: str = Field(min_length=1, description="The file with it (UTF-8), relative to the plan.")

    _text: str = PrivateAttr(default="")

    @model_validator(mode="after")
    def _is_read(self, info: ValidationInfo) -> ScriptFile:
        path = Path((info.context or {}).get("directory") or Path()) / self.file
        self._text = decoded_file(read_file(path), path)
        return self

    @computed_field  # type: ignore[prop-decorator]
    @property
    def text(self) -> str:
        """The script: the record holds what was run."""
        return self._text


class CommandOptions(Options, use_attribute_docstrings=True):
    """A user-defined operation: a command, several that are sent together, or a script."""

    command: _Template | Annotated[tuple[_Template, ...], Field(max_length=_MOST_COMMANDS)] | None = None
    """The command with its arguments; `${key}`, `${number}` and `${value}` are filled in. A list is sent
    together and is one operation, such as the transaction `[MULTI, "INCR ${key}:n", EXEC]`."""
    script: str | ScriptFile | None = None
    """A Lua script, or `{file: PATH}`: loaded when a connection is made, called by EVALSHA."""
    keys: tuple[_Word, ...] = Field(default=(), max_length=_MOST_COMMANDS)
    """KEYS of the script, with the same placeholders."""
    arguments: tuple[_Word, ...] = Field(default=(), max_length=_MOST_COMMANDS)
    """ARGV of the script, with the same placeholders."""
    share: Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)] = 1
    """Frequency, besides the shares of `mix` and of other commands."""
    kind: Literal["read", "write"] = "write"
    """Kind of the operation."""

    @field_validator("command")
    @classmethod
    def _has_a_command(cls, command: str | tuple[str, ...] | None) -> str | tuple[str, ...] | None:
        if command == ():
            raise SettingError(KV_EMPTY_COMMAND(example=_EXAMPLE))
        return command

    @model_validator(mode="after")
    def _is_one_thing(self) -> CommandOptions:
        if (self.command is None) == (self.script is None):
            raise SettingError(KV_COMMAND_OR_SCRIPT())
        if self.script is not None and not self.script_text.strip():
            raise SettingError(KV_EMPTY_SCRIPT(example=_SCRIPT_EXAMPLE))
        for name in ("keys", "arguments"):
            if self.script is None and getattr(self, name):
                raise SettingError(KV_WITHOUT_SCRIPT(name=name))
        return self

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands as written; empty for a script."""
        return (self.command,) if isinstance(self.command, str) else self.command or ()

    @property
    def script_text(self) -> str:
        """The text of the script; empty without one."""
        return self.script.text if isinstance(self.script, ScriptFile) else self.script or ""

    @property
    def texts(self) -> Iterator[str]:
        """All texts in which placeholders may stand."""
        yield from (*self.commands, *self.keys, *self.arguments)

    def called(self) -> Iterator[str]:
        """Names of the commands that the server receives for one operation, in small letters."""
        if self.script is not None:
            yield SCRIPT_CALL
        yield from (text.split()[0].lower() for text in self.commands)

    def section(self, name: str) -> JsonObject:
        """The section for the engine; `name` is the operation's, which the script has in messages."""
        script = None
        if self.script is not None:
            label = f"{name} ({self.script.file})" if isinstance(self.script, ScriptFile) else name
            script = {
                "name": label,
                "text": self.script_text,
                "keys": self.keys,
                "arguments": self.arguments,
            }
        return {"commands": self.commands, "script": script, "share": self.share, "kind": self.kind}
