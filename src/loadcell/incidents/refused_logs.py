"""Files among several that are no logs: they are refused, and the others read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from loadcell.incidents.evidence.base import Refused
from loadcell.ingest.base import ImportProblemError
from loadcell.model.message import Message, MessageCode

REFUSED = MessageCode("log-file.refused", "caution", why=Message)

Opened = TypeVar("Opened")


def opened(
    files: Sequence[tuple[Path, str]], open_file: Callable[[Path, str], Opened]
) -> tuple[list[Opened], tuple[Refused, ...]]:
    """Results of `open_file` for the files that are logs, and the other files.

    Raises ImportProblemError of the first file where none is a log.
    """
    logs: list[Opened] = []
    refused: list[Refused] = []
    first: ImportProblemError | None = None
    for path, shown in files:
        try:
            logs.append(open_file(path, shown))
        except ImportProblemError as error:
            first = first or error
            refused.append(Refused(shown, error.message))
    if first is not None and not logs:
        raise first
    return logs, tuple(refused)


def remarks(refused: Sequence[Refused]) -> tuple[Message, ...]:
    """A remark on each of the files, with its remedy."""
    return tuple(REFUSED(why=item.reason) for item in refused)
