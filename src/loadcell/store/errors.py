"""What can go wrong with a run directory, said once, with its remedy."""

from __future__ import annotations

import errno
from pathlib import Path

from loadcell.store.commands import resume


class StoreError(Exception):
    """A run directory could not be written, found or read: what was found, and what to do about it."""

    def __init__(self, finding: str, *, advice: str) -> None:
        super().__init__(finding)
        self.finding = finding
        self.advice = advice

    def __str__(self) -> str:
        return f"{self.finding}. {self.advice}"


_ADVICE = {
    errno.ENOSPC: "Free some space there, then go on with `{resume}`: finished trials are safe.",
    errno.EDQUOT: "The disk quota is used up: free some space, then go on with `{resume}`.",
    errno.EROFS: "That file system is mounted read-only: name another place with --out.",
    errno.EACCES: "Give yourself write permission there, or name another place with --out.",
    errno.EPERM: "Give yourself write permission there, or name another place with --out.",
    errno.ENOTDIR: "A part of that path is a file: name another place with --out.",
}


def cannot_write(path: Path, error: OSError, run: Path | None = None) -> StoreError:
    """The error for a failed write to `path`; `run` is the directory a later --resume would name."""
    advice = _ADVICE.get(error.errno or 0, "Look at that file system, or name another place with --out.")
    finding = f"cannot write {path}: {error.strerror or error}"
    return StoreError(finding, advice=advice.format(resume="--resume" if run is None else resume(run)))
