"""Any server that a command starts."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from loadcell.plan.parts import WORK, Advice, Misfit, Options
from loadcell.systems.base import TargetError
from loadcell.systems.command.options import (
    COMMAND_ADJACENT_FILE,
    COMMAND_NO_DATA,
    COMMAND_NO_PROGRAM,
    COMMAND_RELATIVE,
    CommandOptions,
)
from loadcell.systems.shared.launch import missing_profiler
from loadcell.systems.shared.service import ServiceFacts, StartedService
from loadcell.systems.shared.service_options import words_of

if TYPE_CHECKING:
    from loadcell.plan.model import Load


class Command(StartedService[CommandOptions]):
    """A server of HTTP or of a stream that a command starts."""

    name: ClassVar[str] = "command"
    summary: ClassVar[str] = "any server of HTTP or of a stream that a command starts"
    Options: ClassVar[type[Options]] = CommandOptions
    no_data = COMMAND_NO_DATA

    @classmethod
    def misfits(cls, options: CommandOptions) -> Iterator[Misfit]:
        if options.path is not None:
            yield from super().misfits(options)
            return
        program = words_of(options.command)[0]
        relative = "/" in program and not program.startswith(("/", WORK))
        if relative and str(Path(program)) not in options.files:
            yield Misfit("command", COMMAND_RELATIVE(program=repr(program)))

    @classmethod
    def advice(cls, options: CommandOptions, load: Load) -> list[Advice]:
        remarks = [
            Advice("target.command.command", COMMAND_ADJACENT_FILE(file=word), subject=word)
            for word in options.adjacent_files
        ]
        remarks += missing_profiler("target.command.under", options.under)
        return [*super().advice(options, load), *remarks]

    @property
    def program(self) -> str:
        return words_of(self.options.command)[0]

    def command(self, directory: Path, path: str) -> list[str]:
        program, *arguments = [self.filled(word) for word in words_of(self.options.command)]
        return [self._program_path(program, directory, path), *arguments]

    def _program_path(self, program: str, directory: Path, path: str) -> str:
        if "/" in program:
            path = str((directory / program).absolute())
            executable = path if os.access(path, os.X_OK) else None
        else:
            executable = shutil.which(program, path=f"{path}:/usr/sbin:/sbin")
        if executable is None:
            raise TargetError(COMMAND_NO_PROGRAM(program=repr(program)))
        return executable

    def describe(self) -> ServiceFacts:
        command = self.options.command
        return ServiceFacts(
            server="command",
            command=command if isinstance(command, str) else shlex.join(command),
            url=self.options.url,
            directory=str(self.options.path or self.context.work),
            files=self._files,
        )


PART = Command
