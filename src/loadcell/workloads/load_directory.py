"""The directory of a load that is made by other programs, which a process of loadcell removes."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

from loadcell.linux import procfs
from loadcell.model.message import ForeignText, MessageCode, MessageError

TOOL_NO_DIRECTORY = MessageCode("tool.no-directory", path=str, said=ForeignText)

#: Prefix of the names of loads' directories; process and start of the worker follow.
_PREFIX = "loadcell-tool-"


class OrderError(MessageError):
    """An order that cannot be carried out: the finding and the remedy."""


def load_directory(parent: str | None, owner: int) -> Path:
    """Make the directory of a load, with the process that removes it in its name; and remove those of
    processes that are gone. Raises OrderError.
    """
    _sweep(Path(parent or tempfile.gettempdir()))
    prefix = f"{_PREFIX}{owner}-{procfs.started(owner)}-"
    try:
        return Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    except OSError as error:
        raise OrderError(
            TOOL_NO_DIRECTORY(path=parent or tempfile.gettempdir(), said=error.strerror)
        ) from error


def _sweep(parent: Path) -> None:
    """Remove the directories of loads whose workers were killed."""
    for leftover in parent.glob(f"{_PREFIX}*-*-*"):
        with contextlib.suppress(OSError, ValueError):
            pid, started, _ = leftover.name.removeprefix(_PREFIX).split("-", 2)
            if leftover.lstat().st_uid == os.geteuid() and procfs.started(int(pid)) != int(started):
                shutil.rmtree(leftover, ignore_errors=True)
