"""A directory whose disk is soon full."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def little_room(directory: Path, size: int) -> Iterator[None]:
    """A directory whose files can hold little: a separate file system, or (not as root) a limit on each
    file.
    """
    directory.mkdir()
    if os.geteuid() == 0:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(directory)], check=True)
        try:
            yield
        finally:
            subprocess.run(["umount", "-l", str(directory)], check=True)
    else:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size // 20, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
