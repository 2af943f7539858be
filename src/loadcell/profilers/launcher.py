"""Contract of profilers that a process is started under, and their registry: the modules of `launched`.

The process runs many times slower, so its trial has no throughput that counts. The account of such a profiler
is read after the process has ended.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Protocol

from pydantic import AfterValidator, WithJsonSchema

from loadcell.model.message import ForeignText, Message, MessageCode, MessageError
from loadcell.model.profile_record import HeapRecord, MemoryRecord
from loadcell.plan.problems import SettingError
from loadcell.profilers import launched

PROFILER_UNKNOWN = MessageCode("launcher.unknown", name=str, names=list)
PROFILER_MISSING = MessageCode("launcher.missing", program=str, package=str)
PROFILER_UNREADABLE = MessageCode("launcher.unreadable", program=str, reason=Message)
NO_ACCOUNT = MessageCode("launcher.no-account", error=ForeignText)

#: How much longer a process may take to begin: memcheck slows programs 10 to 50 times (valgrind manual, 1.1).
SLOWER = 20
#: At the end all memory is searched, which takes its time.
END_WITHIN_S = 120.0


class UnreadableError(MessageError):
    """The account is incomplete, or missing."""


@dataclass(frozen=True)
class SystemCode:
    """Marks of the code of a system in the client's process.

    `functions`: beginnings of names of functions, also after `<` or a blank. `objects`: beginnings of names
    of library files.
    """

    functions: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()

    def has(self, function: str, file: str = "") -> bool:
        """True if a frame is of the system: by its function, or by the library that holds it."""
        name = Path(file).name
        if any(name.startswith(beginning) for beginning in self.objects):
            return True
        bare = function.lstrip("<&")
        return any(bare.startswith(part) or f" {part}" in function for part in self.functions)


@dataclass(frozen=True)
class HeapSample:
    """Size of the heap at `t_s` since the process began; `client_bytes` are those of the client."""

    t_s: float
    heap_bytes: int
    overhead_bytes: int | None = None
    client_bytes: int | None = None


@dataclass(frozen=True)
class ProfilerAccount:
    """Findings of a profiler: lost memory, or the heap with samples that count from the process's start."""

    memory: MemoryRecord | None = None
    heap: HeapRecord | None = None
    samples: tuple[HeapSample, ...] = ()
    began_mono_ns: int = 0


class Launcher(Protocol):
    """A profiler that runs a process. `program` is its command, `package` the one of Debian."""

    name: str
    program: str
    package: str

    def command(
        self, program: str, words: Sequence[str], account: Path, code: SystemCode | None
    ) -> list[str]:
        """The command that runs `words` under the profiler, which writes `account`.

        `code`: only the part of the process that it describes is of interest.
        """
        ...

    def read(self, account: Path, code: SystemCode | None) -> ProfilerAccount:
        """The account that it left. Raises UnreadableError."""
        ...


def names() -> list[str]:
    """Names of all of them: those of their modules."""
    return sorted(module.name for module in pkgutil.iter_modules(launched.__path__))


def launcher(name: str) -> Launcher:
    """The one of this name."""
    module = importlib.import_module(f"{launched.__name__}.{name}")
    made: Launcher = module.LAUNCHER
    return made


def _registered(name: str) -> str:
    if name not in names():
        raise SettingError(PROFILER_UNKNOWN(name=name, names=names()))
    return name


#: Option of a system that can be started under a profiler.
Under = Annotated[str, AfterValidator(_registered), WithJsonSchema({"enum": names(), "type": "string"})]


def unreadable(profiler: Launcher, error: UnreadableError) -> Message:
    """The error of an account as that of a trial."""
    return PROFILER_UNREADABLE(program=profiler.name, reason=error.message)
