"""Files in the user's cache directory: what loadcell can make again, and what takes long to make."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def cache_directory() -> Path:
    """Where loadcell keeps what it can make again: `$XDG_CACHE_HOME/loadcell`, or `~/.cache/loadcell`."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(home) if Path(home).is_absolute() else Path.home() / ".cache") / "loadcell"


def keep(path: Path, text: str) -> None:
    """Write a file by rename, so that a reader sees all of it or nothing. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(name, path)  # noqa: PTH105 - both are names in one directory
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(name)  # noqa: PTH108
        raise
