"""Templates in the user's cache once they are compiled, which takes a sixth of a second."""

from __future__ import annotations

import contextlib
import pickle
from pathlib import Path

from jinja2 import FileSystemBytecodeCache
from jinja2.bccache import Bucket

from loadcell.model.user_cache import cache_directory


class Compiled(FileSystemBytecodeCache):
    """A cache that cannot be read or written, or that is damaged, only costs time.

    Jinja knows a template that has changed.
    """

    def load_bytecode(self, bucket: Bucket) -> None:
        """Take what is kept of a template."""
        try:
            super().load_bytecode(bucket)
        except (OSError, EOFError, ValueError, TypeError, pickle.UnpicklingError):
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a template, by rename."""
        with contextlib.suppress(OSError):
            Path(self.directory).mkdir(parents=True, exist_ok=True)
            super().dump_bytecode(bucket)


def compiled() -> Compiled | None:
    """None where the user has no home."""
    try:
        return Compiled(str(cache_directory() / "templates"))
    except RuntimeError:
        return None
