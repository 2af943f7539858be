"""One start of a system's process under a profiler, and the account that the profiler leaves."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from loadcell.plan.parts import Advice
from loadcell.profilers.launcher import (
    PROFILER_MISSING,
    Launcher,
    ProfilerAccount,
    SystemCode,
    UnreadableError,
    launcher,
    names,
    unreadable,
)
from loadcell.systems.base import TargetError

for _name in names():
    launcher(_name)  # declares its metrics, which expectations may name


@dataclass
class Launch:
    """`file` is the account; with `code`, of the part of the process that it describes."""

    profiler: Launcher
    file: Path
    code: SystemCode | None = None
    _began_ns: int = 0

    @classmethod
    def of(cls, name: str | None, work: Path, code: SystemCode | None = None) -> Launch | None:
        """None without a profiler's name."""
        return None if name is None else cls(launcher(name), work / f"{name}.out", code)

    def command(self, words: Sequence[str]) -> list[str]:
        """The command that runs `words` under the profiler, from now on. Raises TargetError."""
        profiler = self.profiler
        program = shutil.which(profiler.program)
        if program is None:
            raise TargetError(PROFILER_MISSING(program=profiler.program, package=profiler.package))
        self.file.unlink(missing_ok=True)
        self._began_ns = time.monotonic_ns()
        return profiler.command(program, words, self.file, self.code)

    def account(self) -> ProfilerAccount:
        """Findings of the profiler in the process, which has ended. Raises TargetError."""
        try:
            account = self.profiler.read(self.file, self.code)
        except UnreadableError as error:
            raise TargetError(unreadable(self.profiler, error), during="verify") from None
        finally:
            self.file.unlink(missing_ok=True)
        return replace(account, began_mono_ns=self._began_ns)


def missing_profiler(path: str, under: str | None) -> Iterator[Advice]:
    """A remark on `under` where its profiler is not installed on this machine."""
    if under is not None and shutil.which((profiler := launcher(under)).program) is None:
        yield Advice(path, PROFILER_MISSING(program=profiler.program, package=profiler.package))
