"""Start of a server with the library for faults of its processes, and with the file that controls them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from loadcell import _engine
from loadcell.linux.fault_control import VARIABLE, FaultControl
from loadcell.model.message import ForeignText, MessageCode
from loadcell.systems.base import TargetError
from loadcell.systems.shared.account import Account

PRELOAD_NO_LIBRARY = MessageCode("preload.no-library")
PRELOAD_UNUSABLE = MessageCode("preload.unusable", path=str)
PRELOAD_NOT_WRITTEN = MessageCode("preload.not-written", path=str, error=ForeignText)

_LIBRARY = "faults.so"
_CONTROL = "control"
_PRELOAD = "LD_PRELOAD"
#: What separates libraries in LD_PRELOAD, and cannot be escaped.
_SEPARATORS = " :"


@dataclass(frozen=True)
class Preload:
    """The library and its control file, in a directory that only loadcell can write."""

    directory: Path

    @classmethod
    def install(cls, work: Path, account: Account) -> Preload:
        """Write both below `work`, for processes of that user. Raises TargetError."""
        library = _engine.preload_library()
        if not library:
            raise TargetError(PRELOAD_NO_LIBRARY())
        try:
            preload = cls(Path(tempfile.mkdtemp(prefix="preload-", dir=work)).resolve())
            is_executable = not os.statvfs(preload.directory).f_flag & os.ST_NOEXEC
            if not is_executable or any(sign in str(preload.directory) for sign in _SEPARATORS):
                raise TargetError(PRELOAD_UNUSABLE(path=preload.directory))
            preload.directory.chmod(0o755)
            preload.library.write_bytes(library)
            preload.library.chmod(0o755)
            FaultControl(preload.control).create()
            account.give(preload.control)
        except OSError as error:
            raise TargetError(PRELOAD_NOT_WRITTEN(path=work, error=error.strerror or str(error))) from error
        return preload

    @property
    def library(self) -> Path:
        return self.directory / _LIBRARY

    @property
    def control(self) -> Path:
        return self.directory / _CONTROL

    def variables(self, environment: Mapping[str, str]) -> dict[str, str]:
        """An environment with the library, before those that it preloads already."""
        preloaded = [str(self.library), *filter(None, [environment.get(_PRELOAD)])]
        return {**environment, _PRELOAD: ":".join(preloaded), VARIABLE: str(self.control)}
