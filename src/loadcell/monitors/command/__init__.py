"""Numbers that any program prints: one program that prints lines for as long as the load runs, or one that is
started for each sample.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import shlex
import shutil
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

from pydantic import ConfigDict, Field, PrivateAttr, ValidationInfo, field_validator, model_validator

from loadcell.linux.process import plain_environment
from loadcell.model import trial_record
from loadcell.model.message import ForeignText, Message, MessageCode, Seconds
from loadcell.monitors.base import MonitorContext, Row
from loadcell.monitors.command.output import LONGEST_LINE, OutputReader
from loadcell.monitors.command.program import MOST_BYTES, Program, TooMuchOutputError
from loadcell.monitors.series import (
    Choice,
    Reading,
    Series,
    SeriesMonitor,
    SeriesOptions,
    series_table,
)
from loadcell.plan.files import files_of
from loadcell.plan.problems import SettingError

COMMAND_EMPTY = MessageCode("command-monitor.empty")
COMMAND_SECRET = MessageCode("command-monitor.secret", example=str)
COMMAND_MISSING = MessageCode("command-monitor.missing", path=str)
COMMAND_VARIABLE = MessageCode("command-monitor.variable", name=str)
COMMAND_NOT_STARTED = MessageCode("command-monitor.not-started", "caution", program=str, said=ForeignText)
COMMAND_TEXT = MessageCode("command-monitor.text", "caution", program=str, line=str)
COMMAND_LONG_LINE = MessageCode("command-monitor.long-line", "caution", program=str, limit_kib=int)
COMMAND_SILENT = MessageCode("command-monitor.silent", "caution", program=str)
COMMAND_TOO_MUCH = MessageCode("command-monitor.too-much", "caution", program=str, limit_kib=int)
COMMAND_SLOW = MessageCode("command-monitor.slow", "caution", program=str, limit_s=Seconds)
COMMAND_FAILED = MessageCode("command-monitor.failed", "caution", program=str, status=str, said=ForeignText)
COMMAND_ENDED = MessageCode("command-monitor.ended", "caution", program=str, status=str, after_s=Seconds)
COMMAND_NO_NUMBERS = MessageCode("command-monitor.no-numbers", "caution", program=str, name=str)

_LINE_SHOWN, _PROGRAM_SHOWN = 60, 60
#: Series of one program that are kept in mind; a program that makes up names must not fill the memory.
_MOST_CACHED: Final = 10_000
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class CommandOptions(SeriesOptions):
    """A program, and when it is started."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="command")

    run: tuple[str, ...] = Field(
        description="The program and its arguments, without a shell. A program named by a path is looked for "
        "from the plan's directory, where it runs.",
        examples=[["./queue-depth", "--json"]],
    )
    start: Literal["once", "each-interval"] = Field(
        default="once",
        description="`once`: one program that prints lines until the load is over; `each-interval`: one for "
        "each sample, killed after `timeout`.",
    )
    env: dict[str, str] = Field(
        default_factory=dict, description="Environment variables; secrets as `${env:NAME}`."
    )

    _words: tuple[str, ...] = PrivateAttr(default=())
    _directory: Path = PrivateAttr(default_factory=Path)

    @field_validator("run")
    @classmethod
    def _names_a_program(cls, run: tuple[str, ...]) -> tuple[str, ...]:
        if not run or not run[0].strip():
            raise SettingError(COMMAND_EMPTY())
        if any("${env:" in word for word in run):
            raise SettingError(COMMAND_SECRET(example="env: {NAME: '${env:NAME}'}"))
        return run

    @field_validator("env")
    @classmethod
    def _names_are_names(cls, env: dict[str, str]) -> dict[str, str]:
        for name in env:
            if not _VARIABLE.fullmatch(name):
                raise SettingError(COMMAND_VARIABLE(name=repr(name)))
        return env

    @model_validator(mode="after")
    def _finds_program(self, info: ValidationInfo) -> CommandOptions:
        files = files_of(info)
        first = self.run[0]
        if "/" in first:
            path = files.program(first).absolute()
            if not path.is_file():
                raise SettingError(COMMAND_MISSING(path=path))
            first = str(path)
        self._words = (first, *self.run[1:])
        self._directory = files.directory.absolute()
        return self

    @property
    def words(self) -> tuple[str, ...]:
        """The command, with the path of its program where the plan names one."""
        return self._words or self.run

    @property
    def directory(self) -> Path:
        """The directory that it runs in."""
        return self._directory

    @property
    def shown(self) -> str:
        """The command in messages."""
        text = shlex.join(self.run)
        return text if len(text) <= _PROGRAM_SHOWN else f"{text[: _PROGRAM_SHOWN - 3]}..."


class Command(SeriesMonitor[CommandOptions]):
    """Reads the numbers that a program printed since the last sample; of several with one name the last."""

    name = "command"
    summary = "any program that prints numbers: lines of names and values, JSON or CSV"
    Options = CommandOptions
    table = series_table(name)

    def __init__(self, options: CommandOptions, context: MonitorContext) -> None:
        super().__init__(options, context)
        self._program: Program | None = None
        self._output = OutputReader(context.redact)
        self._choices: dict[Series, Choice] = {}
        self._is_over = False
        self._started_s = 0.0
        self._cpu_s = 0.0
        self._statuses: dict[str, int] = {}
        self._numbers = 0
        self._samples = 0

    def sample(self, elapsed_s: float) -> list[Row]:  # noqa: ARG002 - values only, no rates
        """A row for each series with a new value."""
        if self._is_over:
            return []
        self._samples += 1
        if self.options.start == "each-interval":
            return self._one_each()
        if self._program is None:
            self._program = self._started()
            return []
        return self._read_on(self._program)

    def finish(self, elapsed_s: float) -> list[Row]:  # noqa: ARG002 - as in `sample`
        if self._program is None or self._is_over:
            return []
        return self._read_on(self._program)

    def account(self) -> trial_record.MonitorRecord:
        """CPU time of the program, and how often it ended with which status."""
        return replace(super().account(), program_cpu_s=self._cpu_s, exit_statuses=self._statuses or None)

    def close(self) -> None:
        if self._program is not None:
            self._end(self._program)
            self._program = None
        if self._samples and not self._numbers and not self.has_remarks:
            self.remark(COMMAND_SILENT(program=self.options.shown))

    def _started(self) -> Program | None:
        """None, after a remark, where the program cannot be started: it is not tried again."""
        options = self.options
        environment = plain_environment() | {
            name: self.context.secret(value) for name, value in options.env.items()
        }
        first, *others = options.words
        try:
            path = shutil.which(first, path=environment.get("PATH", os.defpath))
            if path is None:
                raise (
                    PermissionError(13, os.strerror(13))
                    if Path(first).is_file()
                    else FileNotFoundError(2, os.strerror(2))
                )
            self._started_s = time.monotonic()
            return Program([path, *others], options.directory, environment, self.context.redact)
        except OSError as error:
            self._is_over = True
            self.remark(COMMAND_NOT_STARTED(program=options.shown, said=error.strerror or error))
            return None

    def _one_each(self) -> list[Row]:
        """Run the program once."""
        program = self._started()
        if program is None:
            return []
        limit_s = float(self.options.timeout)
        try:
            rows = self._rows(program.wait(limit_s))
        except TooMuchOutputError:
            self._too_much(program)
            return []
        except BaseException:
            program.close(ask=False)
            raise
        if program.status is None:
            self.remark(COMMAND_SLOW(program=self.options.shown, limit_s=limit_s))
        self._end(program)
        return rows

    def _read_on(self, program: Program) -> list[Row]:
        """Rows of the output of the one program since the last sample, and its end."""
        try:
            rows = self._rows(program.lines())
        except TooMuchOutputError:
            self._too_much(program)
            return []
        if program.status is not None:
            self._is_over = True
            after_s = time.monotonic() - self._started_s
            if not program.status:
                message = COMMAND_ENDED(program=self.options.shown, status="0", after_s=after_s)
                self.remark(message)
        return rows

    def _too_much(self, program: Program) -> None:
        """End the program, with all that it started: it would take CPU time from the load."""
        self._is_over = True
        self._program = None
        self._end(program)
        self.remark(COMMAND_TOO_MUCH(program=self.options.shown, limit_kib=MOST_BYTES >> 10))

    def _end(self, program: Program) -> None:
        """Take its exit status, unless it is ended here, and its CPU time."""
        if program.status is not None:
            status = _written(program.status)
            self._statuses[status] = self._statuses.get(status, 0) + 1
            if program.status:
                self.remark(self._failure(program, status))
        program.close(ask=self.options.start == "once")
        self._cpu_s += program.cpu_s

    def _failure(self, program: Program, status: str) -> Message:
        output = program.errors.strip() or self._output.first_unread or "-"
        return COMMAND_FAILED(program=self.options.shown, status=status, said=output)

    def _rows(self, lines: list[str]) -> list[Row]:
        unread, too_long = self._output.unread, self._output.too_long
        values: dict[Series, float] = {}
        for line in lines:
            for series, value in self._output.read(line):
                if self.is_too_long(series):
                    continue
                if math.isfinite(value):
                    values[series] = value
                else:
                    self.remark(COMMAND_NO_NUMBERS(program=self.options.shown, name=series.name))
        if self._output.too_long > too_long:
            self.remark(COMMAND_LONG_LINE(program=self.options.shown, limit_kib=LONGEST_LINE >> 10))
        if self._output.unread > unread:
            line = self._output.first_unread[:_LINE_SHOWN]
            self.remark(COMMAND_TEXT(program=self.options.shown, line=repr(line)))
        self._numbers += len(values)
        return self.rows(
            (Reading(series, "value", value), self._choice(series)) for series, value in values.items()
        )

    def _choice(self, series: Series) -> Choice:
        choice = self._choices.get(series)
        if choice is None:
            if len(self._choices) > _MOST_CACHED:
                self._choices.clear()
            choice = self._choices[series] = self.selection.choose(series)
        return choice


def _written(status: int) -> str:
    """An exit status, or the name of the signal that ended the program."""
    with contextlib.suppress(ValueError):
        if status < 0:
            return signal.Signals(-status).name
    return str(status)


PART = Command
