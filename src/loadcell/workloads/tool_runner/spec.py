"""The order of a worker, from a specification: the commands, and their placeholders."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadcell.model.message import MessageError
from loadcell.workloads.tool_runner import placeholders
from loadcell.workloads.tool_runner.messages import (
    TOOL_ITS_ENVIRONMENT,
    TOOL_NO_DIRECTORY,
    TOOL_NO_VALUE,
    TOOL_PASSWORD_IN_SIGHT,
)
from loadcell.workloads.tool_runner.registry import SECRETS, TOOLS, Setting, Tool, split

#: Environment variables that a tool gets: enough to find programs, libraries and a home.
_PASSED = ("PATH", "HOME", "USER", "LANGUAGE", "LD_LIBRARY_PATH", "TMPDIR", "JAVA_HOME")
_SYSTEM = "/usr/sbin:/sbin"


class OrderError(MessageError):
    """An order that cannot be carried out: the finding and the remedy."""


@dataclass(frozen=True)
class Order:
    """One load. `section` is the `tool` of the specification's workload, see `loadcell.workloads.tool`."""

    section: Mapping[str, Any]
    load: Mapping[str, Any]
    target: Mapping[str, Any]
    seed: int
    directory: Path

    @classmethod
    def of(cls, spec: Mapping[str, Any]) -> Order:
        """With a directory of the load's own, which the caller removes. Raises OrderError."""
        target = spec["target"]
        parent = target.get("directory")
        try:
            directory = Path(tempfile.mkdtemp(prefix="loadcell-tool-", dir=parent))
        except OSError as error:
            raise OrderError(
                TOOL_NO_DIRECTORY(path=parent or tempfile.gettempdir(), said=error.strerror)
            ) from error
        return cls(spec["workload"]["tool"], spec["load"], target, int(spec["seed"]), directory)

    @property
    def tool(self) -> Tool | None:
        """The tool, where it is one that is known."""
        name = self.section.get("name")
        return TOOLS.get(name) if name else None

    @property
    def setting(self) -> Setting:
        """The context of its command line."""
        return Setting(
            self.target["protocol"], bool(self.target.get("socket")), self.load.get("requests") is not None
        )

    def words(self) -> list[str]:
        """The command line of the load, with places in it."""
        arguments = split(self.section["arguments"])
        tool = self.tool
        return (
            arguments
            if tool is None
            else tool.words(arguments, self.setting, program=self.section.get("program"))
        )

    def other(self, command: str | Sequence[str]) -> list[str]:
        """A command beside the load: of a tool that is known, only the way to the target is filled in."""
        words = split(command)
        tool = TOOLS.get(Path(words[0]).name)
        return words if tool is None else [words[0], *tool.connect(words[1:], self.setting), *words[1:]]

    def values(self, duration_ns: int | None = None) -> dict[str, str]:
        """Values of the placeholders; for another duration than the load's."""
        load = self.load if duration_ns is None else {**self.load, "duration_ns": duration_ns}
        return {
            **placeholders.of_load(load, self.seed),
            **placeholders.of_target(self.target),
            "directory": str(self.directory),
            "plan": self.section["plan"],
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
            **self.section["env"],
        }

    def check(self) -> None:
        """Raises OrderError where the target asks for what the tool can only be given in sight of everybody."""
        tool = self.tool
        if tool is not None and not tool.takes_secret and self.target.get("password"):
            reads = SECRETS.get(self.target["protocol"]) or TOOL_ITS_ENVIRONMENT()
            raise OrderError(TOOL_PASSWORD_IN_SIGHT(program=tool.name, reads=reads))
