"""Regular expressions of users for lines of a log, within limits of length and time."""

from __future__ import annotations

import re
import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Any, Final, Self

from loadcell.ingest.base import ImportProblemError
from loadcell.ingest.log_entries import Entry, level_of, masked
from loadcell.ingest.log_excerpts import excerpt
from loadcell.ingest.log_times import Stamps, read_text
from loadcell.model.message import Count, ForeignText, MessageCode, Seconds

PATTERN_INVALID = MessageCode("log-pattern.invalid", pattern=ForeignText, reason=ForeignText, position=Count)
PATTERN_WITHOUT = MessageCode("log-pattern.without", group=str, groups=list)
PATTERN_UNUSED = MessageCode("log-pattern.unused", groups=list)
PATTERN_SLOW = MessageCode("log-pattern.slow", limit_s=Seconds, line=ForeignText)

GROUPS: Final = ("time", "level", "thread", "message")
#: Characters of a line that are compared with a pattern.
LONGEST: Final = 4_000
#: A pattern that needs more for one line would need hours for a log.
LINE_S: Final = 1.0
#: Mean time that a pattern may take by line, and the lines over which it is taken.
_MEAN_S: Final = 0.002
_LINES: Final = 5_000
_SHOWN: Final = 80


class Pattern:
    """A pattern in use; its time is limited while it is entered as a context of the main thread."""

    def __init__(self, text: str) -> None:
        """Raises ImportProblemError for an invalid pattern, and for one without `time`."""
        try:
            self._pattern = re.compile(text)
        except (re.error, RecursionError, OverflowError) as error:
            position = getattr(error, "pos", None) or 0
            reason = getattr(error, "msg", None) or str(error)
            raise ImportProblemError(
                PATTERN_INVALID(pattern=repr(text), reason=reason, position=position + 1)
            ) from None
        groups = self._pattern.groupindex
        if "time" not in groups:
            raise ImportProblemError(PATTERN_WITHOUT(group="time", groups=list(GROUPS)))
        if unused := [name for name in groups if name not in GROUPS]:
            raise ImportProblemError(PATTERN_UNUSED(groups=unused))
        self._names = frozenset(groups)
        self._line = ""
        self._since_s: float | None = None
        self._lines = 0
        self._taken_s = 0.0
        self._before: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGALRM, self._interrupt)
            signal.setitimer(signal.ITIMER_REAL, LINE_S / 4, LINE_S / 4)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before)

    def take(self, line: str, stamps: Stamps) -> Entry | None:
        """The entry of a line; None where it does not match, or has no time. Raises ImportProblemError."""
        self._line = line = line.rstrip("\r\n")
        line = line[:LONGEST]
        self._since_s = began_s = time.monotonic()
        match = self._pattern.search(line)
        self._since_s = None
        self._taken_s += time.monotonic() - began_s
        self._lines += 1
        if self._lines >= _LINES:
            if self._taken_s > _MEAN_S * self._lines:
                raise self._slow()
            self._lines, self._taken_s = 0, 0.0
        instant_ns = None if match is None else read_text((match["time"] or "").strip(), stamps)
        if match is None or instant_ns is None:
            return None
        level, thread, message = (
            (match[name] or "") if name in self._names else "" for name in ("level", "thread", "message")
        )
        message = message if "message" in self._names else line.replace(match["time"], "", 1)
        return Entry(instant_ns, level_of(level) or "other", thread.strip()[:_SHOWN], masked(message))

    def time_of(self, line: str) -> str | None:
        """The text that the group `time` has in a line; None where the line does not match."""
        match = self._pattern.search(line.rstrip("\r\n")[:LONGEST])
        return None if match is None else match["time"] or ""

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        if self._since_s is not None and time.monotonic() - self._since_s > LINE_S:
            self._since_s = None
            raise self._slow()

    def _slow(self) -> ImportProblemError:
        return ImportProblemError(PATTERN_SLOW(limit_s=LINE_S, line=repr(excerpt(self._line)[:_SHOWN])))
