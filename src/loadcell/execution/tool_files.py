"""Files that a tool leaves in its directory, copied into the directory of its trial."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from loadcell.model.json import JsonObject
from loadcell.model.load_result import LoadEvent, RetainedFiles
from loadcell.model.trial_record import Check
from loadcell.store.write import TrialWriter

NAME: Final = "tool-files"
#: A larger file is not copied: as of files that plans name.
LARGEST_BYTES: Final = 64 * 1024**2
#: Longer lines are written in pieces.
_LONGEST_LINE: Final = 1 << 20


class ToolFiles:
    """Files of the load of one trial: announced by the worker, copied when the load has ended in any way."""

    def __init__(self, writer: TrialWriter) -> None:
        self._writer = writer
        self._announced: RetainedFiles | None = None

    def take(self, event: LoadEvent) -> None:
        """Note the directory and the names of the files."""
        if isinstance(event, RetainedFiles):
            self._announced = event

    def collect(self) -> list[Check]:
        """Copy the files, and remove the directory. Raises StoreError."""
        announced, self._announced = self._announced, None
        if announced is None:
            return []
        directory = Path(announced.directory)
        try:
            return [self._copied(directory, announced.names)]
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def _copied(self, directory: Path, names: tuple[str, ...]) -> Check:
        detail: JsonObject = {}
        for name in names:
            try:
                file = _opened(directory / name)
            except OSError as error:
                detail.setdefault("missing", []).append(f"{name}: {error.strerror}")
                continue
            if file is None:
                detail.setdefault("not_regular", []).append(name)
                continue
            with file:
                if os.fstat(file.fileno()).st_size > LARGEST_BYTES:
                    detail.setdefault("too_large", []).append(name)
                else:
                    self._writer.copied(name, _lines(file))
        return Check(NAME, "noticed" if detail else "ok", detail)


def _opened(path: Path) -> BinaryIO | None:
    """A regular file; None for a pipe and the like. Raises OSError, also for a symbolic link."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    return os.fdopen(descriptor, "rb")


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Lines up to the largest size: something may still write."""
    left_bytes = LARGEST_BYTES
    while left_bytes > 0 and (line := file.readline(min(_LONGEST_LINE, left_bytes))):
        left_bytes -= len(line)
        yield line
