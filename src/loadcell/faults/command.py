"""`command`: a program of the user causes the fault, another one undoes it, a third one checks that."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Annotated

from pydantic import Field

from loadcell.faults.base import CONNECTION_LOST, NO_ANSWER, SERVER_ENDED, Fault, FaultError
from loadcell.linux.process import plain_environment
from loadcell.model.json import JsonObject
from loadcell.model.message import Bytes, ForeignText, Message, MessageCode, Seconds
from loadcell.plan.parts import SubjectOptions
from loadcell.plan.units import Duration

COMMAND_FAILED = MessageCode("fault.command-failed", command=str, status=int, output=ForeignText)
COMMAND_FAILED_SILENTLY = MessageCode("fault.command-failed.silent", command=str, status=int)
COMMAND_WITHOUT_UNDO = MessageCode("fault.command-without-undo", "caution", subject=str)
PROBE_FAILED = MessageCode("fault.probe-failed", why=Message)
COMMAND_TIMED_OUT = MessageCode("fault.command-timed-out", command=str, limit_s=Seconds)
COMMAND_WROTE_TOO_MUCH = MessageCode("fault.command-wrote-too-much", command=str, limit_bytes=Bytes)

#: Variable of the commands' environment with the process ids of the subject.
PIDS = "LOADCELL_SUBJECT_PIDS"
#: How long a killed shell may take to end.
_KILL_LIMIT_S = 2.0
#: Interval between looks at the size of the output.
_LOOK_S = 0.1
#: Bytes of output, which is in memory, beyond which a command is killed.
_OUTPUT_LIMIT = 16 << 20
#: Bytes of a command's output in an error.
_MOST_OUTPUT = 500


class CommandOptions(SubjectOptions, use_attribute_docstrings=True):
    """Options of a fault by commands, which a shell executes in the directory of the call."""

    run: str = Field(min_length=1)
    """Causes the fault. It has the process ids of the subject in LOADCELL_SUBJECT_PIDS."""
    undo: str | None = Field(default=None, min_length=1)
    """Undoes the fault; it may be executed twice. Without it, the fault ends by itself."""
    probe: str | None = Field(default=None, min_length=1)
    """Succeeds if nothing is left of the fault. Default: the exit status of `undo`."""
    limit: Annotated[Duration, Field(gt=0)] = Duration(30.0)
    """Time limit of each command."""


class Command(Fault[CommandOptions]):
    """Execute the user's commands; how to undo them is in the journal before the first is executed."""

    name = "command"
    synonyms = ("exec", "shell", "script")
    summary = "Execute `run`, later `undo`, and `probe` to see whether it is undone"
    Options = CommandOptions
    external = True
    outlives_boot = True  # the programs of a user may do anything
    expected_errors = (*CONNECTION_LOST, *NO_ANSWER, *SERVER_ENDED)

    @classmethod
    def ends_another(cls, options: CommandOptions, other: CommandOptions) -> bool:
        return options.undo is not None and options.undo == other.undo

    @classmethod
    def remark_on(cls, options: CommandOptions) -> Message | None:
        """`undo: null` states that it ends by itself."""
        return None if "undo" in options.model_fields_set else COMMAND_WITHOUT_UNDO(subject=options.subject)

    def prepare(self) -> JsonObject | None:
        options = self.options
        if options.undo is None:
            return None
        return {
            "undo": options.undo,
            "probe": options.probe,
            "limit_s": float(options.limit),
            "directory": str(Path.cwd()),
        }

    def apply(self) -> None:
        pids = " ".join(map(str, self.subject.processes()))
        _execute(self.options.run, float(self.options.limit), str(Path.cwd()), {PIDS: pids})

    @classmethod
    def undo(cls, arguments: JsonObject) -> None:
        _execute(arguments["undo"], arguments["limit_s"], arguments["directory"], {})

    @classmethod
    def is_undone(cls, arguments: JsonObject) -> bool:
        if arguments["probe"] is None:
            return True
        try:
            _execute(arguments["probe"], arguments["limit_s"], arguments["directory"], {})
        except FaultError as error:
            raise FaultError(PROBE_FAILED(why=error.message)) from None
        return True

    @classmethod
    def undo_steps(cls, arguments: JsonObject) -> tuple[str, ...]:
        return tuple(step for step in (arguments["undo"], arguments["probe"]) if step is not None)


def _execute(command: str, limit_s: float, directory: str, variables: dict[str, str]) -> None:
    """Execute a command line. Raises FaultError if it fails, or does not end in time."""
    # a pipe would stay open with processes in the background, and the fault may have filled the disk
    with os.fdopen(os.memfd_create("output"), "r+b", buffering=0) as output:
        descriptor = output.fileno()
        fcntl.fcntl(descriptor, fcntl.F_SETFL, os.O_APPEND)  # `> /dev/stderr` in a script truncates it
        process = subprocess.Popen(
            ("/bin/sh", "-c", command),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=directory,
            env={**plain_environment(), **variables},
            start_new_session=True,
        )
        _wait(process, command, limit_s, descriptor)
        size = os.fstat(descriptor).st_size
        last = (
            os.pread(descriptor, _MOST_OUTPUT, max(0, size - _MOST_OUTPUT)).decode(errors="replace").strip()
        )
    if process.returncode != 0:
        code = COMMAND_FAILED if last else COMMAND_FAILED_SILENTLY
        raise FaultError(code.pick(command=command, status=process.returncode, output=last))


def _wait(process: subprocess.Popen[bytes], command: str, limit_s: float, output: int) -> None:
    """Wait until the shell ends; processes in the background are neither waited for nor limited afterwards.

    Raises FaultError after its kill, if it takes too long or writes too much.
    """
    deadline = time.monotonic() + limit_s
    while True:
        try:
            process.wait(max(0.0, min(_LOOK_S, deadline - time.monotonic())))
            return
        except subprocess.TimeoutExpired:
            if os.fstat(output).st_size > _OUTPUT_LIMIT:
                problem = COMMAND_WROTE_TOO_MUCH(command=command, limit_bytes=_OUTPUT_LIMIT)
            elif time.monotonic() >= deadline:
                problem = COMMAND_TIMED_OUT(command=command, limit_s=limit_s)
            else:
                continue
        os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):  # one in an uninterruptible call
            process.wait(_KILL_LIMIT_S)
        raise FaultError(problem)


PART = Command
