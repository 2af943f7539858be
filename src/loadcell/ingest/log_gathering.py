"""Contents of the logs of services, gathered line by line in bounded memory."""

from __future__ import annotations

import heapq
import re
from dataclasses import replace
from typing import Final

from loadcell.ingest.log_entries import Entry
from loadcell.ingest.log_excerpts import log_line
from loadcell.ingest.log_messages import MORE, Messages, Redacted
from loadcell.ingest.log_steps import Steps
from loadcell.model import duration_classes
from loadcell.model.application_log import (
    Gap,
    LogThread,
    Service,
)

#: Threads of a service that are followed by their names; of more, by the name without its numbers.
MOST_THREADS: Final = 2_000
_MOST_GROUPS: Final = 500
#: Longest gaps that are retained by thread, and of the service: stalls with a period of minutes are many.
_MOST_GAPS: Final = 16
_MOST_OF_SERVICE: Final = 256
#: Gaps before one, whose longest shows how dense the lines were.
_BEFORE: Final = 8
#: Errors after this time without any begin an episode.
EPISODE_NS: Final = 5 * 10**9
_MOST_EPISODES: Final = 20_000
#: A stamp that is further from the one before is doubtful, until several agree with it.
_DOUBTFUL_NS: Final = 31 * 86_400 * 10**9
_AGREEING: Final = 3

_NUMBER: Final = re.compile(r"\d+")

#: Classes of gaps by their duration: stamps in ms have few of them.
_CLASSES: dict[int, int] = {}
_MOST_CLASSES: Final = 50_000


def _class_of(gap_ns: int) -> int:
    number = duration_classes.of(gap_ns)
    if len(_CLASSES) < _MOST_CLASSES:
        _CLASSES[gap_ns] = number
    return number


class _Thread:
    """Lines of one thread so far."""

    __slots__ = (
        "begin_ns", "file", "gap_ns", "gaps", "last_ns", "line", "lines", "lines_of_others", "longest",
        "most", "name", "pool", "recent", "seen", "text", "work",
    )  # fmt: skip

    def __init__(
        self, name: str, instant_ns: int, line: int, text: str, file: int, most: int = _MOST_GAPS
    ) -> None:
        self.name, self.most = name, most
        self.begin_ns = self.last_ns = instant_ns
        self.line, self.text, self.lines, self.file = line, text, 1, file
        self.gaps: dict[int, int] = {}
        self.longest: list[tuple[int, int, Gap]] = []
        self.recent = [0] * _BEFORE
        self.work: dict[int, int] = {}
        #: of its pool, or of the service, at its last line
        self.seen = 0
        self.lines_of_others = self.gap_ns = 0
        self.pool: _Thread | None = None

    def take(
        self, instant_ns: int, line: int, text: str, file: int, *, is_error: bool, of_all: int = 0
    ) -> None:
        """The next line; `of_all` counts those of its pool or service, with this one."""
        gap_ns = instant_ns - self.last_ns
        passed = of_all - self.seen - 1
        if passed > 0:
            self.lines_of_others += passed
        else:
            passed = 0
        if gap_ns > 0:
            self.gap_ns += gap_ns
            number = _CLASSES.get(gap_ns)
            if number is None:
                number = _class_of(gap_ns)
            self.gaps[number] = self.gaps.get(number, 0) + 1
            number = _CLASSES.get(passed, -1)
            if number < 0:
                number = _class_of(passed)
            self.work[number] = self.work.get(number, 0) + 1
            longest = self.longest
            if len(longest) < self.most or gap_ns > longest[0][0]:
                before_ns = max(self.recent)
                before, after = log_line(self.line, self.text), log_line(line, text)
                gap = Gap(
                    self.last_ns, instant_ns, before, after, before_ns, is_error, file != self.file, passed
                )
                (heapq.heappush if len(longest) < self.most else heapq.heappushpop)(
                    longest, (gap_ns, line, gap)
                )
            self.recent[self.lines % _BEFORE] = gap_ns
        self.last_ns, self.line, self.text, self.file = instant_ns, line, text, file
        self.lines += 1
        self.seen = of_all

    def thread(self, of_all: int) -> LogThread:
        """The thread, its longest gap first; `of_all` as in `take`."""
        longest = tuple(gap for _, _, gap in sorted(self.longest, reverse=True))
        last = log_line(self.line, self.text)
        pool = "" if self.pool is None else self.pool.name
        passed = max(0, of_all - self.seen)
        return LogThread(
            self.name,
            self.lines,
            self.begin_ns,
            self.last_ns,
            last,
            self.gaps,
            longest,
            self.work,
            passed,
            pool,
            self.lines_of_others,
            self.gap_ns,
        )


class ServiceLines:
    """Lines of the log of one service so far."""

    def __init__(self, name: str, messages: Messages) -> None:
        self.name = name
        self._messages = messages
        self._counted = messages.of_service()
        self._threads: dict[str, _Thread] = {}
        self._pools: dict[str, _Thread] = {}
        self._latest: dict[str, int] = {}
        self._steps = Steps(self._latest)
        self._total: _Thread | None = None
        self._errors: list[int] = []
        self._error_ns: int | None = None
        self._doubtful = 0
        self._file = 0
        self._more: set[str] = set()
        self.files: list[str] = []
        self.lines = self.entries = 0
        self.begin_ns = self.end_ns = 0

    def begin_file(self, name: str) -> None:
        """The next line is the first of a file."""
        self.files.append(name)
        self._file += 1
        self._steps.restart()

    def take(self, entry: Entry, line: int, text: str, redacted: Redacted, *, has_zone: bool) -> bool:
        """The next entry; False if its time cannot be true."""
        instant_ns, level = entry.instant_ns, entry.level
        total = self._total
        if total is None:
            self._total = _Thread("", instant_ns, line, text, self._file, _MOST_OF_SERVICE)
            self.begin_ns = self.end_ns = instant_ns
        else:
            if abs(instant_ns - total.last_ns) > _DOUBTFUL_NS:
                self._doubtful += 1
                if self._doubtful < _AGREEING:
                    return False
            self._doubtful = 0
            total.take(instant_ns, line, text, self._file, is_error=level == "error")
            if instant_ns > self.end_ns:
                self.end_ns = instant_ns
            elif instant_ns < self.begin_ns:
                self.begin_ns = instant_ns
        self.entries += 1
        name = self._followed(entry.thread)
        self._steps.take(instant_ns, name, line, text, has_zone=has_zone)
        followed = self._threads.get(name)
        if followed is None:
            shown = redacted().thread if name else ""
            shown = _NUMBER.sub("#", shown) if name != entry.thread else shown
            followed = _Thread(MORE if name == MORE else shown, instant_ns, line, text, self._file)
            self._threads[name] = followed
            self._join(followed, name, entry, line, text)
        elif (pool := followed.pool) is None:
            followed.take(instant_ns, line, text, self._file, is_error=level == "error", of_all=self.entries)
        else:
            is_error = level == "error"
            pool.take(instant_ns, line, text, self._file, is_error=is_error, of_all=self.entries)
            followed.take(instant_ns, line, text, self._file, is_error=is_error, of_all=pool.lines)
        self._latest[name] = instant_ns
        self._messages.take(entry, line, text, redacted, self._counted)
        if level == "error":
            self._note_error(instant_ns)
        return True

    def service(self, *, has_zone: bool, has_date: bool) -> Service:
        """The log of the service."""
        steps = tuple(
            replace(step, threads=tuple(self._threads[name].name for name in step.threads))
            for step in self._steps.steps()
        )
        named = [
            thread.thread(self.entries if thread.pool is None else thread.pool.lines)
            for name, thread in self._threads.items()
            if name
        ]
        total = [] if self._total is None else [self._total.thread(0)]
        return Service(
            self.name,
            tuple(self.files),
            self.lines,
            self.entries,
            self.begin_ns,
            self.end_ns,
            (*total, *named),
            steps,
            self._steps.count if steps else 0,
            self._steps.furthest_back_ns if steps else 0,
            self._steps.zone_changes,
            self._steps.late_lines,
            self._steps.furthest_late_ns,
            self._steps.is_unordered,
            tuple(self._errors),
            len(self._more),
            has_zone,
            has_date,
            self._counted.slots,
            self._counted.messages(),
            tuple(pool.thread(self.entries) for pool in self._pools.values()),
        )

    def _join(self, thread: _Thread, name: str, entry: Entry, line: int, text: str) -> None:
        """Take the first line of a thread; those whose names differ in numbers alone are a pool."""
        thread.seen = self.entries
        if not _NUMBER.search(name):
            return
        key = _NUMBER.sub("#", name)
        pool = self._pools.get(key)
        if pool is None:
            shown = _NUMBER.sub("#", thread.name)
            pool = self._pools[key] = _Thread(shown, entry.instant_ns, line, text, self._file)
            pool.seen = self.entries
        else:
            is_error = entry.level == "error"
            pool.take(entry.instant_ns, line, text, self._file, is_error=is_error, of_all=self.entries)
        thread.pool, thread.seen = pool, pool.lines

    def _followed(self, thread: str) -> str:
        """The name under which a thread is followed."""
        if not thread or thread in self._threads or len(self._threads) < MOST_THREADS:
            return thread
        if len(self._more) < 100_000:
            self._more.add(thread)
        group = _NUMBER.sub("#", thread)
        is_followed = group in self._threads or len(self._threads) < MOST_THREADS + _MOST_GROUPS
        return group if is_followed else MORE

    def _note_error(self, instant_ns: int) -> None:
        last_ns, self._error_ns = self._error_ns, instant_ns
        if last_ns is None or abs(instant_ns - last_ns) >= EPISODE_NS:
            self._errors.append(instant_ns)
            if len(self._errors) > _MOST_EPISODES:
                self._errors = self._errors[::2]
