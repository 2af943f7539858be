"""When imported executions were measured: as the user says, as their text prints, or as their file's time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from loadcell.ingest.base import ImportProblemError, Source
from loadcell.model.message import Message, MessageCode
from loadcell.model.numbers import utc_text

if TYPE_CHECKING:
    from loadcell.ingest.read import Execution

IMPORT_DATE = MessageCode("import.date", text=str)
IMPORT_DATE_IN_FUTURE = MessageCode("import.date-in-future", text=str, now=str)
IMPORT_DATED_OPTION = MessageCode("import.dated-option", "info", source=str, when=str)
IMPORT_DATED_TEXT = MessageCode("import.dated-text", "info", source=str, when=str)
IMPORT_DATED_FILE = MessageCode("import.dated-file", "info", source=str, when=str)
IMPORT_DATED_IMPORT = MessageCode("import.dated-import", "info", source=str, when=str)

OPTION, TEXT, FILE, IMPORT = "option", "text", "file", "import"
_MESSAGES = {
    OPTION: IMPORT_DATED_OPTION,
    TEXT: IMPORT_DATED_TEXT,
    FILE: IMPORT_DATED_FILE,
    IMPORT: IMPORT_DATED_IMPORT,
}


@dataclass(frozen=True)
class Dated:
    """When an execution began, in seconds since 1970, and what says so.

    `by` is `option` (the user), `text` (the tool), `file` (when the file was written) or `import` (when it
    was read from a pipe, which has no time).
    """

    at_s: float
    by: str

    @property
    def utc(self) -> str:
        """As records have it: a float has no more than microseconds."""
        return utc_text(round(self.at_s * 1e6) * 1000)

    @property
    def began(self) -> bool:
        """True if this is a beginning: a file is written at the end."""
        return self.by in (OPTION, TEXT)


def parse(text: str, now_s: float) -> float:
    """Seconds since 1970 of an ISO 8601 date or time, without a zone in this machine's.

    Raises ImportProblemError.
    """
    try:
        at_s = instant(text)
    except ValueError:
        raise ImportProblemError(IMPORT_DATE(text=repr(text))) from None
    if at_s > now_s:
        raise ImportProblemError(
            IMPORT_DATE_IN_FUTURE(
                text=repr(text), now=f"{datetime.fromtimestamp(now_s, UTC):%Y-%m-%d %H:%M:%S} UTC"
            )
        )
    return at_s


def instant(text: str) -> float:
    """Seconds since 1970 of an ISO 8601 date or time. Raises ValueError, also for one before 1970."""
    try:
        at_s = datetime.fromisoformat(text.strip()).timestamp()
    except (OverflowError, OSError) as error:
        raise ValueError(text) from error
    if at_s < 0:
        raise ValueError(text)
    return at_s


def dates(executions: Sequence[Execution], given_s: float | None, now_s: float) -> list[Dated]:
    """When each execution was measured.

    The user's date is that of the first; those whose text has times keep their distance from it. A time
    after now is a clock's or a zone's mistake, and not taken: such a run would stay the last one for ever.
    """
    printed = [execution.measured.began_s for execution in executions]
    printed_only = [began_s for began_s in printed if began_s is not None]
    if given_s is not None:
        first_s = min(printed_only, default=0.0)
        return [
            Dated(min(now_s, given_s + (0.0 if began_s is None else began_s - first_s)), OPTION)
            for began_s in printed
        ]
    return [
        Dated(began_s, TEXT)
        if began_s is not None and 0 <= began_s <= now_s
        else _by_file(execution.source, now_s)
        for execution, began_s in zip(executions, printed, strict=True)
    ]


def _by_file(source: Source, now_s: float) -> Dated:
    written_s = now_s if source.shown else _modified_s(source)
    return Dated(written_s, FILE) if 0 <= written_s < now_s else Dated(now_s, IMPORT)


def _modified_s(source: Source) -> float:
    """Time of the file, of a result folder that of its result."""
    path: Path = source.stored[0] if source.path.is_dir() and source.stored else source.path
    return path.stat().st_mtime


def remark(source: str, by: str, at_utc: str) -> Message:
    """Name the date that an import took, and why."""
    return _MESSAGES[by](source=source, when=f"{at_utc[:19].replace('T', ' ')} UTC")
