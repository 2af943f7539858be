"""The order of a worker, from a specification: the commands, and their placeholders."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from loadcell.ingest.extract import FigureSource
from loadcell.model.message import MessageError
from loadcell.workloads.tool_runner import placeholders
from loadcell.workloads.tool_runner.messages import (
    TOOL_ITS_ENVIRONMENT,
    TOOL_NO_DIRECTORY,
    TOOL_NO_VALUE,
    TOOL_PASSWORD_IN_SIGHT,
)
from loadcell.workloads.tool_runner.placeholders import Endpoint, LoadSpec
from loadcell.workloads.tool_runner.registry import SECRETS, TOOLS, Setting, Tool

if TYPE_CHECKING:
    from loadcell.model.json import JsonObject

Spec = TypeVar("Spec", LoadSpec, Endpoint)

#: Environment variables that a tool gets: enough to find programs, libraries and a home.
_PASSED = ("PATH", "HOME", "USER", "LANGUAGE", "LD_LIBRARY_PATH", "TMPDIR", "JAVA_HOME")
_SYSTEM = "/usr/sbin:/sbin"


class OrderError(MessageError):
    """An order that cannot be carried out: the finding and the remedy."""


@dataclass(frozen=True)
class ToolSpec:
    """Section `tool` of a workload's specification: a known tool by `name`, or a command.

    `reads` names the tool whose output it prints. `plan` is the plan's directory.
    """

    name: str | None
    program: str | None
    arguments: Sequence[str]
    reads: str | None
    figures: Mapping[str, FigureSource]
    output: str | None
    unit: str | None
    env: Mapping[str, str]
    prepare: Sequence[Sequence[str]]
    before: Sequence[Sequence[str]]
    after: Sequence[Sequence[str]]
    plan: str

    @classmethod
    def of(cls, section: JsonObject) -> ToolSpec:
        """The section, parsed."""
        figures = {name: FigureSource(**source) for name, source in section["figures"].items()}
        return cls(**{**section, "figures": figures})


@dataclass(frozen=True)
class Order:
    """One load of a tool."""

    section: ToolSpec
    load: LoadSpec
    target: Endpoint
    seed: int
    directory: Path

    @classmethod
    def of(cls, spec: JsonObject) -> Order:
        """With a directory of the load's own, which the caller removes. Raises OrderError."""
        target = _picked(Endpoint, spec["target"])
        parent = target.directory
        try:
            directory = Path(tempfile.mkdtemp(prefix="loadcell-tool-", dir=parent))
        except OSError as error:
            raise OrderError(
                TOOL_NO_DIRECTORY(path=parent or tempfile.gettempdir(), said=error.strerror)
            ) from error
        section = ToolSpec.of(spec["workload"]["tool"])
        return cls(section, _picked(LoadSpec, spec["load"]), target, int(spec["seed"]), directory)

    @property
    def tool(self) -> Tool | None:
        """The tool, where it is one that is known."""
        return TOOLS.get(self.section.name or "")

    @property
    def setting(self) -> Setting:
        """The context of its command line."""
        return Setting(self.target.protocol, bool(self.target.socket), self.load.requests is not None)

    def words(self) -> list[str]:
        """The command line of the load, with places in it."""
        arguments, tool = list(self.section.arguments), self.tool
        if tool is None:
            return arguments
        return tool.words(arguments, self.setting, program=self.section.program)

    def other(self, command: Sequence[str]) -> list[str]:
        """A command before or after the load: of a known tool, only the target's address is filled in."""
        words = list(command)
        tool = TOOLS.get(Path(words[0]).name)
        return words if tool is None else [words[0], *tool.connect(words[1:], self.setting), *words[1:]]

    def values(self, duration_ns: int | None = None) -> dict[str, str]:
        """Values of the placeholders; for another duration than the load's."""
        load = self.load if duration_ns is None else replace(self.load, duration_ns=duration_ns)
        return {
            **placeholders.of_load(load, self.seed),
            **placeholders.of_target(self.target),
            "directory": str(self.directory),
            "plan": self.section.plan,
        }

    def filled(self, words: Sequence[str], duration_ns: int | None = None) -> list[str]:
        """The command line as it is run. Raises OrderError."""
        try:
            return placeholders.filled(words, self.values(duration_ns))
        except placeholders.NoValueError as error:
            raise OrderError(TOOL_NO_VALUE(place=f"${{{error}}}")) from None

    def environment(self, duration_ns: int | None = None) -> dict[str, str]:
        """The child's environment: numbers in the C locale, placeholders by name, the target's connection,
        the plan's variables last.
        """
        environment = {name: os.environ[name] for name in _PASSED if name in os.environ}
        values = self.values(duration_ns)
        return {
            **environment,
            "PATH": f"{environment.get('PATH', '/usr/bin:/bin')}:{_SYSTEM}",
            "LC_ALL": "C",
            **values,
            **placeholders.environment(self.target, values),
            **self.section.env,
        }

    def check(self) -> None:
        """Raises OrderError where the target asks for what the tool can only be given in sight of everybody."""
        tool = self.tool
        if tool is not None and not tool.takes_secret and self.target.password:
            reads = SECRETS.get(self.target.protocol) or TOOL_ITS_ENVIRONMENT()
            raise OrderError(TOOL_PASSWORD_IN_SIGHT(program=tool.name, reads=reads))


def _picked(kind: type[Spec], section: JsonObject) -> Spec:
    """A part of the specification; keys that are for the engine alone are ignored."""
    names = {field.name for field in fields(kind)}
    return kind(**{name: value for name, value in section.items() if name in names})
