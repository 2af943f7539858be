"""Errors of run directories."""

from __future__ import annotations

import errno
from pathlib import Path

from loadcell.model.message import MessageError
from loadcell.store.layout import resume_command
from loadcell.store.messages import (
    UNWRITABLE,
    UNWRITABLE_NO_PERMISSION,
    UNWRITABLE_NO_SPACE,
    UNWRITABLE_NOT_A_DIRECTORY,
    UNWRITABLE_QUOTA,
    UNWRITABLE_READ_ONLY,
)


class StoreError(MessageError):
    """A run directory could not be written, found or read."""

    def __str__(self) -> str:
        return f"{self.finding}. {self.advice}"


_UNWRITABLE = {
    errno.ENOSPC: UNWRITABLE_NO_SPACE,
    errno.EDQUOT: UNWRITABLE_QUOTA,
    errno.EROFS: UNWRITABLE_READ_ONLY,
    errno.EACCES: UNWRITABLE_NO_PERMISSION,
    errno.EPERM: UNWRITABLE_NO_PERMISSION,
    errno.ENOTDIR: UNWRITABLE_NOT_A_DIRECTORY,
}


def cannot_write(path: Path, error: OSError, run: Path | None = None) -> StoreError:
    """The error for a failed write to `path`; `run` is the directory a later --resume would name."""
    code = _UNWRITABLE.get(error.errno or 0, UNWRITABLE)
    command = "--resume" if run is None else resume_command(run)
    return StoreError(code.pick(path=path, said=error.strerror or error, resume=command))
