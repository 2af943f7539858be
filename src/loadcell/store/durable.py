"""Writing so that a kill or a power cut at any instant leaves either the old file or the new one."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def sync_directory(path: Path) -> None:
    """Make names created in or moved into `path` survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_text(path: Path, text: str) -> None:
    """Replace `path` as a whole. Raises OSError; the old content is then still there."""
    new = path.with_name(f".{path.name}.new")
    try:
        with new.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError:
        new.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def json_text(document: Any) -> str:
    """Plain JSON a person can read; NaN is not JSON and is refused."""
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
