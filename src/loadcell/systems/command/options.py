"""Plan options of servers that a command starts, and the message codes of such a target."""

from __future__ import annotations

import os

from pydantic import ConfigDict, Field, field_validator

from loadcell.model.message import MessageCode
from loadcell.plan.parts import WORK
from loadcell.plan.problems import SettingError
from loadcell.profilers.launcher import Under
from loadcell.systems.shared.service_options import (
    COMMAND_LINE_UNREADABLE,
    ServiceOptions,
    words_of,
)

COMMAND_EMPTY = MessageCode("command.empty")
COMMAND_RELATIVE = MessageCode("command.relative", program=str)
COMMAND_ADJACENT_FILE = MessageCode("command.adjacent-file", "caution", file=str)
COMMAND_NO_PROGRAM = MessageCode("command.no-program", program=str)
COMMAND_NO_DATA = MessageCode("command.no-data")


class CommandOptions(ServiceOptions):
    """Command, directory, and the address where it then listens."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="command")

    command: str | tuple[str, ...] = Field(
        description="The program and its arguments: a list, or one line that is taken apart as a shell "
        "would, without running one. It must stay in the foreground. `{port}` is a free port, `{work}` a "
        "directory of the run's own.",
        examples=["python3 -m http.server {port}", ["nginx", "-p", "{work}", "-c", "nginx.conf"]],
    )
    under: Under | None = Field(
        default=None,
        description="Run it under a profiler of memory: `valgrind` accounts for memory lost at its end, "
        "`massif` for the heap over time.",
    )

    @field_validator("command")
    @classmethod
    def _is_a_command(cls, command: str | tuple[str, ...]) -> str | tuple[str, ...]:
        try:
            words = words_of(command)
        except ValueError as error:
            raise SettingError(COMMAND_LINE_UNREADABLE(message=error)) from None
        if not words or not words[0]:
            raise SettingError(COMMAND_EMPTY())
        return command

    @property
    def slowed_by(self) -> str | None:
        return self.under

    @property
    def adjacent_files(self) -> tuple[str, ...]:
        """Arguments that name files from the plan's directory, but not from that in which it is run."""
        return tuple(
            word
            for word in words_of(self.command)[1:]
            if not word.startswith(("/", "-", WORK))
            and os.path.normpath(word) not in self.files
            and os.path.isfile(self._directory / word)  # noqa: PTH113 - a script may be too long for a path
            and not (self.path is not None and os.path.exists(self.path / word))  # noqa: PTH110
        )
