"""The order of a worker: the specification of a tool and its load, and the values of placeholders in
commands.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, TypeVar

from loadcell.ingest.extract import FigureSource
from loadcell.model.message import MessageCode
from loadcell.model.tools import of_protocol
from loadcell.workloads.load_directory import OrderError, load_directory
from loadcell.workloads.tool_runner.registry import TOOLS, Setting, Tool

if TYPE_CHECKING:
    from loadcell.model.json import JsonObject

TOOL_NO_VALUE = MessageCode("tool.no-value", place=str)
TOOL_PASSWORD_IN_SIGHT = MessageCode("tool.password-in-sight", program=str, reads=str)
TOOL_ITS_ENVIRONMENT = MessageCode("tool.its-environment")

PLACE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True)
class LoadSpec:
    """Intensity and duration of a load, from its specification."""

    clients: int
    threads: int
    warmup_ns: int
    duration_ns: int
    requests: int | None = None


@dataclass(frozen=True)
class Endpoint:
    """Address of the target, from the load's specification. Holds secrets: never to be written anywhere."""

    protocol: str
    host: str | None = None
    port: int | None = None
    socket: str | None = None
    user: str | None = None
    password: str | None = None
    database: str | int | None = None
    sslmode: str | None = None
    sslrootcert: str | None = None
    options: str | None = None
    directory: str | None = None


class NoValueError(ValueError):
    """A place for which this trial has nothing; the argument is its name."""


def placeholder_names(texts: Iterable[str]) -> list[str]:
    """The names of all places in these texts, each once."""
    return list(dict.fromkeys(match[1] for text in texts for match in PLACE.finditer(text)))


def fill(words: Sequence[str], values: Mapping[str, str]) -> list[str]:
    """These words with every place filled in. Raises NoValueError."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise NoValueError(match[1])
        return values[match[1]]

    return [PLACE.sub(value, word) for word in words]


def seconds(nanoseconds: int) -> str:
    """`30`, `1.5`: what tools take."""
    return f"{nanoseconds / 1e9:.9f}".rstrip("0").rstrip(".")


def of_load(load: LoadSpec, seed: int) -> dict[str, str]:
    """Placeholders of the load: intensity and duration."""
    values = {
        "clients": str(load.clients),
        "threads": str(load.threads),
        "duration_s": seconds(load.duration_ns),
        "seed": str(seed % 2**31),
    }
    if load.requests is not None:
        values["requests"] = str(load.requests)
    return values


def of_target(endpoint: Endpoint) -> dict[str, str]:
    """Where it is; never a secret."""
    programs = of_protocol(endpoint.protocol)
    values: dict[str, str] = {
        name: str(value)
        for name in programs.placeholders
        if (value := getattr(endpoint, name, None)) not in (None, "")
    }
    if programs.socket_as_host and "socket" in values:
        values["host"] = str(PurePath(values["socket"]).parent)
    if "host" in values and "port" in values and "url" in programs.placeholders:
        values["url"] = programs.url(values, tls=endpoint.sslmode != "disable")
    return values


def client_environment(endpoint: Endpoint, values: Mapping[str, str]) -> dict[str, str]:
    """Environment of clients of the target, its password included: never to be written anywhere."""
    programs = of_protocol(endpoint.protocol)
    variables = {
        variable: str(value)
        for variable, name in programs.variables.items()
        if (value := values.get(name) or getattr(endpoint, name, None))
    }
    if endpoint.password and programs.password_variable:
        variables[programs.password_variable] = endpoint.password
    return variables


Spec = TypeVar("Spec", LoadSpec, Endpoint)

#: Environment variables that a tool gets: enough to find programs, libraries and a home.
_PASSED = ("PATH", "HOME", "USER", "LANGUAGE", "LD_LIBRARY_PATH", "TMPDIR", "JAVA_HOME")
_SYSTEM = "/usr/sbin:/sbin"


@dataclass(frozen=True)
class ToolSpec:
    """Section `tool` of a workload's specification: a known tool by `name`, or a command.

    `reads` names the tool whose output it prints. `files` are left in the directory of the load, which the
    receiver of the result removes. `plan` is the plan's directory.
    """

    name: str | None
    program: str | None
    arguments: Sequence[str]
    reads: str | None
    figures: Mapping[str, FigureSource]
    output: str | None
    files: Sequence[str]
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
        """With a directory of the load's own, which the caller removes. Raises OrderError.

        The directory of files for the receiver of the result has the name of that process.
        """
        section = ToolSpec.of(spec["workload"]["tool"])
        target = _picked(Endpoint, spec["target"])
        directory = load_directory(target.directory, os.getppid() if section.files else os.getpid())
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
            **of_load(load, self.seed),
            **of_target(self.target),
            "directory": str(self.directory),
            "plan": self.section.plan,
        }

    def filled(self, words: Sequence[str], duration_ns: int | None = None) -> list[str]:
        """The command line as it is run. Raises OrderError."""
        try:
            return fill(words, self.values(duration_ns))
        except NoValueError as error:
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
            **client_environment(self.target, values),
            **self.section.env,
        }

    def check(self) -> None:
        """Raises OrderError where the tool takes a password only in sight of everybody."""
        tool = self.tool
        if tool is not None and not tool.takes_secret and self.target.password:
            reads = of_protocol(self.target.protocol).password_variable or TOOL_ITS_ENVIRONMENT()
            raise OrderError(TOOL_PASSWORD_IN_SIGHT(program=tool.name, reads=reads))


def _picked(kind: type[Spec], section: JsonObject) -> Spec:
    """A part of the specification; keys that are for the engine alone are ignored."""
    names = {field.name for field in fields(kind)}
    return kind(**{name: value for name, value in section.items() if name in names})
