"""A directory tree as a walk reads it. Recorded trees are read alike."""

from __future__ import annotations

import os
from collections.abc import Iterator


class DirectoryTree:
    """The file system of this host. All methods but `exists` raise OSError."""

    def names(self, path: str) -> Iterator[str]:
        """Names of a directory, as it is read."""
        with os.scandir(path) as entries:
            for entry in entries:
                yield entry.name

    def status(self, path: str) -> os.stat_result:
        """Status of a name; symbolic links are not followed."""
        return os.lstat(path)

    def exists(self, path: str) -> bool:
        """True if there is such a name."""
        return os.path.lexists(path)

    def attribute(self, path: str, name: str) -> bytes:
        """An extended attribute."""
        return os.getxattr(path, name)
