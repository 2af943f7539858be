"""Size, time and hash of the files that a command line starts: the program, and files among its arguments,
such as a script or a jar.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from loadcell.model.numbers import utc_text

#: Size of the largest file that is hashed: a data file among the arguments must not delay every start.
MOST_HASHED_BYTES = 4 * 2**30


@dataclass(frozen=True)
class FileFacts:
    """A file as it was when it was started; `sha256` in hexadecimal, None of a very large file."""

    path: str
    size_bytes: int
    modified_utc: str
    sha256: str | None


def files_of(words: Sequence[str], directory: Path) -> dict[str, FileFacts]:
    """The program (`program`, the first word) and the arguments (`argument 1` ...) that are regular files.

    Relative names start in `directory`. A file that cannot be read is left out.
    """
    return dict(_files(words, directory))


def _files(words: Sequence[str], directory: Path) -> Iterator[tuple[str, FileFacts]]:
    for position, word in enumerate(words):
        try:
            path = (directory / word).resolve()
            if not path.is_file():
                continue
            status = path.stat()
            digest = (
                _sha256(path, status.st_mtime_ns, status.st_size)
                if status.st_size <= MOST_HASHED_BYTES
                else None
            )
        except (OSError, ValueError):
            continue
        name = f"argument {position}" if position else "program"
        yield name, FileFacts(str(path), status.st_size, utc_text(status.st_mtime_ns), digest)


@lru_cache(maxsize=64)
def _sha256(path: Path, mtime_ns: int, size: int) -> str:  # noqa: ARG001 - a changed file is read again
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
