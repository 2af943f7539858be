"""Steps back of the time stamps of a log that last, as those of a clock do, and lines that are only late."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from loadcell.ingest import log_zones
from loadcell.ingest.log_excerpts import log_line
from loadcell.model.application_log import Leap, StepBack

#: Less is the disorder of concurrent writers, and the reach of a slewed clock (ntpd steps from 128 ms on).
STEP_NS: Final = 500_000_000
#: Lines and time for which a step lasts; a late line is followed by one that is not.
_LEAST_LINES: Final = 3
_LEAST_LASTING_NS: Final = 10**9
#: Of the step: a leap forward of such a size takes it back.
_RETURN: Final = 0.8
#: Two steps of opposite sign within this time are compared.
PAIR_NS: Final = 600 * 10**9
#: Relative difference of their sizes.
LIKE: Final = 0.2
#: Steps by half hours, give or take the time between two lines, of a log without a zone.
_SECOND_NS: Final = 10**9
_HALF_HOUR_NS: Final = 1800 * 10**9
_ZONE_WITHIN_NS: Final = 60 * 10**9
_MOST_ZONE_NS: Final = 26 * 3600 * 10**9
#: A log with a larger share of lines out of order was merged from several.
_MOST_LATE: Final = 0.02
_MOST_STEPS: Final = 1_000
_MOST_PENDING: Final = 7
_MOST_CHANGES: Final = 256
#: Leaps forward are retained by classes of their sizes, of which two next to each other are alike.
_CLASSES_PER_DOUBLE: Final = 8
#: Differences of stamps before a leap that show the usual one, and a long one.
_RECENT: Final = 16
_LONG: Final = 0.9
#: Units of stamps: whole seconds, milliseconds, microseconds, nanoseconds.
_UNITS: Final = (10**9, 10**6, 10**3, 1)
_MOST_THREADS: Final = 20


@dataclass
class _Candidate:
    """A step back that has to last."""

    leap: Leap
    latest_ns: int
    lines: int = 1
    threads: dict[str, None] = field(default_factory=dict)

    def lasts(self) -> bool:
        """True if enough lines and time follow it."""
        least_ns = min(_LEAST_LASTING_NS, int(-self.leap.size_ns * _RETURN))
        return self.lines >= _LEAST_LINES and self.latest_ns - self.leap.after_ns >= least_ns


class Steps:
    """Steps of one log so far. `latest` has the latest instant of each of its threads."""

    def __init__(self, latest: Mapping[str, int]) -> None:
        self._latest = latest
        self._last_ns: int | None = None
        self._last = (0, "")
        self._candidate: _Candidate | None = None
        self._leaps: dict[int, Leap] = {}
        self._recent: deque[int] = deque([0], maxlen=_RECENT)
        self._steps: list[StepBack] = []
        self._lines = self._file_lines = 0
        #: of the sizes of steps: stamps without fractions are exact to a second
        self._tolerance_ns = _SECOND_NS
        self._resolution_ns = _UNITS[0]
        #: leaps forward that have not lasted yet, with the number of entries before them
        self._pending: list[tuple[Leap, int]] = []
        self.count = self.furthest_back_ns = self.furthest_late_ns = 0
        self._late = 0
        self._zone_changes: list[Leap] = []

    def take(self, instant_ns: int, thread: str, line: int, text: str, *, has_zone: bool) -> None:
        """The next line, before its thread's latest instant is replaced."""
        last_ns, self._last_ns = self._last_ns, instant_ns
        last, self._last = self._last, (line, text)
        self._lines += 1
        self._file_lines += 1
        if instant_ns % self._resolution_ns:
            self._resolution_ns = next(unit for unit in _UNITS if instant_ns % unit == 0)
            self._tolerance_ns = 0
        if last_ns is None:
            return
        size_ns = instant_ns - last_ns
        least_ns = STEP_NS + self._tolerance_ns
        if -least_ns < size_ns < STEP_NS and self._candidate is None:
            self._recent.append(size_ns)
            return
        recent = sorted(self._recent)
        usual_ns, long_ns = (max(0, recent[int(len(recent) * part)]) for part in (0.5, _LONG))
        self._recent.append(size_ns)
        leap = Leap(
            last_ns, instant_ns, log_line(*last), log_line(line, text), usual_ns, long_ns, self._resolution_ns
        )
        if self._pending:
            self._settle(last_ns)
        if leap.size_ns >= STEP_NS:
            self._pending = [*self._pending[-_MOST_PENDING:], (leap, self._lines)]
        elif size_ns <= -least_ns:
            # a log with more was merged from several zones
            has_more = len(self._zone_changes) >= _MOST_CHANGES
            if not has_zone and not has_more and _may_be_of_zone(last_ns, instant_ns):
                self._close()
                self._zone_changes.append(leap)
                return
            self._close()
            self.furthest_late_ns = max(self.furthest_late_ns, -size_ns)
            if self._ends_excursion(leap):
                self._late += 1
                return
            self._candidate = _Candidate(leap, instant_ns)
        if (candidate := self._candidate) is not None:
            self._follow(candidate, leap, thread)

    def restart(self) -> None:
        """The next line is that of another file, whose beginning may repeat the end of this one."""
        self._close()
        self._pending = []
        self._last_ns, self._file_lines = None, 0

    def steps(self) -> tuple[StepBack, ...]:
        """All steps that lasted; those of a log without a clear order are none."""
        self._close()
        self._settle(self._last_ns or 0)
        return () if self.is_unordered else tuple(self._steps)

    @property
    def is_unordered(self) -> bool:
        """True if more lines are late, or of another zone, than in a log of one host."""
        return self._late + len(self._zone_changes) > max(_LEAST_LINES, _MOST_LATE * self._lines)

    @property
    def zone_changes(self) -> tuple[Leap, ...]:
        """Changes of the zone; lines in turn from several zones are none."""
        return () if self.is_unordered else tuple(self._zone_changes)

    @property
    def late_lines(self) -> int:
        """Lines out of order."""
        return self._late + (len(self._zone_changes) if self.is_unordered else 0)

    def _ends_excursion(self, leap: Leap) -> bool:
        """True if a step back ends few lines of another clock, whose first line leapt forward as far."""
        is_one = self._file_lines <= _LEAST_LINES or any(
            self._are_like(-leap.size_ns, forward.size_ns) for forward, _ in self._pending
        )
        if is_one:
            self._pending = []
        return is_one

    def _are_like(self, first_ns: int, second_ns: int) -> bool:
        """True if sizes of two steps differ by at most a share of the larger one."""
        return abs(first_ns - second_ns) <= LIKE * max(first_ns, second_ns) + self._tolerance_ns

    def _settle(self, last_ns: int) -> None:
        """Take the leaps forward that have lasted by now."""
        pending, self._pending = self._pending, []
        for leap, lines in pending:
            if self._lines - lines >= _LEAST_LINES and last_ns - leap.after_ns >= _LEAST_LASTING_NS:
                self._leap_forward(leap)
            else:
                self._pending.append((leap, lines))

    def _leap_forward(self, leap: Leap) -> None:
        self._leaps[_size_class(leap.size_ns)] = leap
        for index in range(len(self._steps) - 1, -1, -1):
            step = self._steps[index]
            if not 0 <= leap.before_ns - step.leap.after_ns <= PAIR_NS:
                break
            if self._are_like(step.size_ns, leap.size_ns) and not any(
                item.after.number > step.leap.after.number for item in step.leaps
            ):
                self._steps[index] = replace(step, leaps=(*step.leaps, leap))
                break

    def _follow(self, candidate: _Candidate, leap: Leap, thread: str) -> None:
        """Count a line behind a step, and the thread whose stamps go back there."""
        step_ns = -candidate.leap.size_ns
        returns = leap.size_ns >= _RETURN * step_ns and leap.after.number != candidate.leap.after.number
        if returns:
            self._close()
            return
        if leap.after.number != candidate.leap.after.number:
            candidate.lines += 1
            candidate.latest_ns = max(candidate.latest_ns, leap.after_ns)
        thread_ns = self._latest.get(thread)
        if thread_ns is not None and thread_ns - leap.after_ns >= STEP_NS and len(candidate.threads) < 10_000:
            candidate.threads.setdefault(thread)
        if leap.after_ns >= candidate.leap.before_ns:
            self._close()

    def _close(self) -> None:
        """Decide on the step that was followed."""
        candidate, self._candidate = self._candidate, None
        if candidate is None:
            return
        has_threads = len(self._latest) > 1 or "" not in self._latest
        if not candidate.lasts() or (has_threads and not candidate.threads):
            self._late += 1
            return
        self.count += 1
        self.furthest_back_ns = max(self.furthest_back_ns, -candidate.leap.size_ns)
        if len(self._steps) >= _MOST_STEPS:
            return
        names = tuple(name for name in candidate.threads if name)
        step = StepBack(candidate.leap, names[:_MOST_THREADS], len(candidate.threads))
        self._steps.append(replace(step, leaps=tuple(self._nearest_before(step))))

    def _nearest_before(self, step: StepBack) -> Iterator[Leap]:
        """The latest leap forward of its size before a step that is not that of an earlier step."""
        used = {leap.after.number for earlier in self._steps[-8:] for leap in earlier.leaps}
        middle = _size_class(step.size_ns)
        reach = _size_class(step.size_ns * (1 + 2 * LIKE) + 2 * self._tolerance_ns) - middle
        near = (self._leaps.get(number) for number in range(middle - reach, middle + reach + 1))
        leaps = [
            leap
            for leap in near
            if leap is not None
            and leap.after.number < step.leap.after.number
            and leap.after.number not in used
            and step.leap.before_ns - leap.after_ns <= PAIR_NS
            and self._are_like(step.size_ns, leap.size_ns)
        ]
        if leaps:
            yield max(leaps, key=lambda leap: leap.after.number)


def _size_class(size_ns: float) -> int:
    return round(math.log2(max(1, size_ns)) * _CLASSES_PER_DOUBLE)


def _may_be_of_zone(before_ns: int, after_ns: int) -> bool:
    """True if the clock of some zone is put back so at that time, or if the zone itself may have changed."""
    return is_zone_change(before_ns - after_ns) and (
        not log_zones.is_within_a_zone(before_ns, after_ns)
        or log_zones.is_change_of_a_zone(before_ns, after_ns)
    )


def is_zone_change(size_ns: int) -> bool:
    """True of half hours: the clock of the log's zone was put back, or its zone changed."""
    nearest = round(size_ns / _HALF_HOUR_NS)
    within = abs(size_ns - nearest * _HALF_HOUR_NS) <= _ZONE_WITHIN_NS
    return nearest > 0 and within and size_ns <= _MOST_ZONE_NS
