"""Options of a tool: its arguments as on the command line, or a command and its metrics. Command lines are
taken apart, with placeholders that there are, and no secret in them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    field_validator,
    model_serializer,
    model_validator,
)

from loadcell.ingest import extract
from loadcell.ingest import extract as figures
from loadcell.ingest.readers import names as reader_names
from loadcell.model.json import JsonObject
from loadcell.model.message import Count, ForeignText, MessageCode
from loadcell.model.metrics import find
from loadcell.plan.files import PlanFiles, files_of
from loadcell.plan.parts import Options
from loadcell.plan.problems import SettingError, nearest
from loadcell.workloads.tool.retained_files import FileNames
from loadcell.workloads.tool_runner import registry
from loadcell.workloads.tool_runner.registry import TOOLS, Setting, Tool, placeholders
from loadcell.workloads.tool_runner.spec import ToolSpec, placeholder_names

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


def placed(tool: Tool, arguments: list[str], files: PlanFiles) -> list[str]:
    """The arguments with the files among them found from the plan's directory.

    Raises SettingError for one that is not there.
    """
    words = list(arguments)
    for index, before, name in registry.files(tool, arguments):
        if "${" in name or name == "-":
            continue
        file, at, weight = name.partition("@") if tool.weighted_files else (name, "", "")
        path = files.find(file).absolute()
        if not path.is_file():
            raise SettingError(tool.missing_file(path=path))
        words[index] = f"{before}{path}{at}{weight}"
    return words


def program(words: list[str], files: PlanFiles) -> list[str]:
    """A command whose program is named by a path, found from the plan's directory.

    Raises SettingError where it is not there.
    """
    first = words[0]
    if "/" not in first or "${" in first:
        return words
    path = files.program(first).absolute()
    if not path.is_file():
        raise SettingError(TOOL_MISSING_PROGRAM(path=path))
    if not os.access(path, os.X_OK):
        raise SettingError(TOOL_NOT_EXECUTABLE(path=path))
    return [str(path), *words[1:]]


Take = Literal["last", "first", "min", "max", "mean", "median", "sum"]


class Figure(Options):
    """Where one figure stands. One of `pattern`, `json` and `csv`."""

    pattern: str | None = Field(
        default=None,
        min_length=1,
        description="A regular expression (Python's, `^` and `$` of a line) whose first group is the figure.",
        examples=[r"tps = ([\d.]+)"],
    )
    json_path: str | None = Field(
        default=None,
        alias="json",
        min_length=1,
        description='A path into the JSON of the output: keys and indices, `[*]` for every one, `["a.b"]` '
        "for odd keys.",
        examples=["jobs[0].read.iops"],
    )
    csv: str | None = Field(
        default=None, min_length=1, description="A column's name in the CSV of the output."
    )
    take: Take = Field(default="last", description="Which of several values it is.")
    times: float = Field(
        default=1.0,
        description="What it is multiplied by: latencies are in ms, so 1000 if the command prints seconds.",
    )

    @model_validator(mode="after")
    def _one_place(self) -> Figure:
        ways = [way for way in (self.pattern, self.json_path, self.csv) if way is not None]
        if len(ways) != 1:
            raise SettingError(FIGURE_NO_SOURCE())
        if self.pattern is not None:
            try:
                groups = re.compile(self.pattern).groups
            except re.error as error:
                raise SettingError(FIGURE_PATTERN(reason=error)) from None
            if groups == 0:
                raise SettingError(FIGURE_NO_GROUP())
        if self.json_path is not None:
            try:
                extract.path_of(self.json_path)
            except extract.NoFigureError as error:
                raise SettingError(error.message) from None
        return self

    def source(self) -> extract.FigureSource:
        """The position, for the worker."""
        return extract.FigureSource(self.pattern, self.json_path, self.csv, self.take, self.times)


#: What throughput can count: what there is a word for in a report.
Unit = Literal["transaction", "request", "operation", "MiB"]
if TYPE_CHECKING:
    ReadAs = str
else:
    ReadAs = Literal[reader_names()]

TOOL_VARIABLE_NAME = MessageCode("tool.variable-name", name=str)
TOOL_FIGURE_NAME = MessageCode("tool.figure-name", name=str, names=list)
TOOL_SEVERAL = MessageCode("tool.several", count=Count, names=list, tools=list)
TOOL_NONE = MessageCode("tool.none", tools=list)
TOOL_PROGRAM_OF_COMMAND = MessageCode("tool.program-of-command")
TOOL_READ_AS_OF_TOOL = MessageCode("tool.read-as-of-tool")
FIGURE_NO_SOURCE = MessageCode("figure-source.missing")
FIGURE_PATTERN = MessageCode("figure-source.pattern", reason=ForeignText)
FIGURE_NO_GROUP = MessageCode("figure-source.no-group")
_FIGURE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.%-]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
COMMAND = "command"


def _arguments(example: str, more: str = "") -> Any:
    return Field(
        default=None, description=f"Its arguments, as on the command line{more}.", examples=[example]
    )


def _hyphened(alias: str, example: str) -> Any:
    return Field(
        default=None, alias=alias, description="Its arguments, as on the command line.", examples=[example]
    )


def _one_or_more(description: str) -> Any:
    return Field(default=(), description=description)


class ToolOptions(Options):
    """One tool that people know, or any command."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="tool")

    sysbench: Arguments | None = _arguments("cpu run")
    fio: Arguments | None = _arguments("job.fio", ": a job file, unchanged, or a job of options")
    pgbench: Arguments | None = _arguments("-S -M prepared")
    ab: Arguments | None = _arguments("-k ${url}/index.html")
    wrk: Arguments | None = _arguments("${url}/index.html")
    redis_benchmark: Arguments | None = _hyphened("redis-benchmark", "-t get -d 100")
    iperf3: Arguments | None = _arguments("-c 10.0.0.2")
    netperf: Arguments | None = _arguments("-H 10.0.0.2 -t TCP_RR")
    mbw: Arguments | None = _arguments("256")
    dd: Arguments | None = _arguments("if=/dev/zero of=${directory}/file bs=1M count=1024 oflag=direct")
    stress_ng: Arguments | None = _hyphened("stress-ng", "--cpu ${clients}")
    command: Command | None = Field(
        default=None,
        description="Any program and its arguments: a list, or one line that is taken apart as a shell "
        "would, without running one. "
        "A program named by a path is looked for from the plan's directory.",
        examples=["./bench --threads ${clients} --seconds ${duration_s}"],
    )
    program: str | None = Field(
        default=None, min_length=1, description="The tool's program, where it is not the one on PATH."
    )
    read_as: ReadAs | None = Field(
        default=None,
        description="The tool whose output a `command` prints: a script that calls sysbench, for one.",
    )
    figures: dict[str, Figure] = Field(
        default_factory=dict,
        description="Metrics by name, and the position of each in the output. `throughput`, `succeeded`, "
        "`failed`, `duration` and `latency.mean` ... `latency.p99.99` (ms) have their places in "
        "every trial; other names are "
        "the command's own.",
    )
    output: str | None = Field(
        default=None,
        min_length=1,
        description="The file that the metrics are in, if they are not printed; relative to `${directory}`.",
    )
    unit: Unit | None = Field(
        default=None,
        description="What its throughput counts. Default: what the tool counts; of a command `operation`.",
    )
    files: FileNames = ()
    env: dict[str, str] = Field(
        default_factory=dict, description="Environment variables of all commands; secrets as `${env:NAME}`."
    )
    prepare: Commands = _one_or_more(
        "Commands that make the data, on a database that loadcell makes: once, and put back for each trial."
    )
    before: Commands = _one_or_more("Commands before each trial, not measured.")
    after: Commands = _one_or_more("Commands after each trial, not measured.")

    _files: PlanFiles = PrivateAttr(default_factory=PlanFiles)
    _given: list[str] = PrivateAttr(default_factory=list)

    @field_validator("sysbench", "fio", "pgbench", "ab", "wrk", "command", "prepare", "before", "after")
    @classmethod
    def _files_are_there(cls, value: Any, info: ValidationInfo) -> Any:
        files, name = files_of(info), str(info.field_name)
        if value is None:
            return value
        if name in TOOLS:
            placed(TOOLS[name], registry.split(value), files)
        else:
            for text in [value] if name == COMMAND else value:
                program(registry.split(text), files)
        return value

    @field_validator("output")
    @classmethod
    def _names_places(cls, file: str | None) -> str | None:
        check_places([file or ""])
        return file

    @field_validator("env")
    @classmethod
    def _names_are_names(cls, env: dict[str, str]) -> dict[str, str]:
        for name in env:
            if not _VARIABLE.fullmatch(name):
                raise SettingError(TOOL_VARIABLE_NAME(name=repr(name)))
        return env

    @field_validator("figures")
    @classmethod
    def _figures_have_names_of_their_own(cls, named: dict[str, Figure]) -> dict[str, Figure]:
        for name in named:
            if name in figures.PLACED:
                continue
            if find(name) is not None or name.startswith("latency.") or not _FIGURE_NAME.fullmatch(name):
                meant = {"errors": "failed", "latency": "latency.mean"}.get(name) or nearest(
                    name, figures.PLACED
                )
                raise SettingError(TOOL_FIGURE_NAME(name=repr(name), names=list(figures.PLACED)), meant)
        return named

    @property
    def home(self) -> Path:
        """The plan's directory."""
        return self._files.directory.absolute()

    @model_validator(mode="after")
    def _is_consistent(self, info: ValidationInfo) -> ToolOptions:
        self._files = files_of(info)
        named = [name for name in (*TOOLS, COMMAND) if self._of(name) is not None]
        if len(named) != 1:
            code = TOOL_SEVERAL if named else TOOL_NONE
            raise SettingError(code.pick(count=len(named), names=named, tools=[*TOOLS, COMMAND]))
        if self.name is None:
            if self.program is not None:
                raise SettingError(TOOL_PROGRAM_OF_COMMAND())
            self._given = program(registry.split(self.command or ()), self._files)
        else:
            if self.read_as is not None:
                raise SettingError(TOOL_READ_AS_OF_TOOL())
            self._given = placed(TOOLS[self.name], registry.split(self._of(self.name) or ()), self._files)
        return self

    @model_serializer(mode="wrap")
    def _without_what_is_not_given(self, handler: SerializerFunctionWrapHandler) -> JsonObject:
        return {key: value for key, value in handler(self).items() if value not in (None, (), [], {})}

    def _of(self, name: str) -> str | tuple[str, ...] | None:
        words: str | tuple[str, ...] | None = getattr(self, name.replace("-", "_"))
        return words

    @property
    def name(self) -> str | None:
        """The tool's, where it is one that is known."""
        return next((name for name in TOOLS if self._of(name) is not None), None)

    @property
    def reads(self) -> str | None:
        """The tool whose output it is; None if only `figures` describe it."""
        return self.name or self.read_as

    def words(self, setting: Setting) -> list[str]:
        """The whole command line, with places still in it."""
        if self.name is None:
            return self._given
        return TOOLS[self.name].words(self._given, setting, program=self.program)

    def others(self, which: str) -> list[list[str]]:
        """The commands under `prepare`, `before` or `after`; programs named by a path are the plan's."""
        return [program(registry.split(command), self._files) for command in getattr(self, which)]

    def section(self) -> JsonObject:
        """The section for the worker."""
        section = ToolSpec(
            name=self.name,
            program=self.program,
            arguments=self._given,
            reads=self.reads,
            figures={name: figure.source() for name, figure in self.figures.items()},
            output=self.output,
            files=list(self.files),
            unit=self.unit,
            env=dict(self.env),
            prepare=self.others("prepare"),
            before=self.others("before"),
            after=self.others("after"),
            plan=str(self.home),
        )
        return asdict(section)
