"""Progress of a load, written as the engine does: its phases, and its intervals as the tool prints them while
it runs, or else as they were read.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from loadcell.ingest.base import Interval, Measured
from loadcell.ingest.readers import pgbench
from loadcell.workloads.tool_runner import result

#: Gives the interval that a line of output is; None for any other line.
Follow = Callable[[str], Interval | None]


@dataclass(frozen=True)
class Progress:
    """Progress lines of a tool: their pattern, and the interval of a match, by its beginning and length (s).

    The group `at` is the time at the end of the interval.
    """

    line: re.Pattern[str]
    interval: Callable[[re.Match[str], float, float], Interval]

    def follow(self) -> Follow:
        """A reader of the lines of one execution."""
        return _Follower(self.line, self.interval)


class _Follower:
    def __init__(self, line: re.Pattern[str], of: Callable[[re.Match[str], float, float], Interval]) -> None:
        self._line, self._of = line, of
        self._ended_s = 0.0

    def __call__(self, line: str) -> Interval | None:
        match = self._line.match(line)
        if match is None:
            return None
        if float(match["at"]) > pgbench.EPOCH_S:
            return None  # the length of the first is only known from the second: read when it has ended
        begun_s, self._ended_s = self._ended_s, float(match["at"])
        length_s = self._ended_s - begun_s
        return self._of(match, begun_s, length_s) if length_s > 0 else None


_SYSBENCH = re.compile(
    r"\[ (?P<at>[\d.]+)s \] thds: \d+ (?:tps|eps): (?P<rate>[\d.]+) .*?lat \(ms,(?P<rank>\d+)%\): "
    r"(?P<late>[\d.]+)"
    r"(?: err/s:? (?P<errors>[\d.]+))?"
)


def _of_sysbench(match: re.Match[str], begun_s: float, length_s: float) -> Interval:
    late = float(match["late"])
    failed = None if match["errors"] is None else round(float(match["errors"]) * length_s)
    response = {f"p{match['rank']}_ms": late} if late else {}
    return Interval(begun_s, length_s, float(match["rate"]), failed, response)


SYSBENCH = Progress(_SYSBENCH, _of_sysbench)
PGBENCH = Progress(pgbench.PROGRESS, pgbench.interval_of)


Say = Callable[[str], None]


def phase(say: Say, name: str) -> tuple[int, int]:
    """A phase begins now: its instant, monotonic and since 1970."""
    mono_ns, utc_ns = time.monotonic_ns(), time.time_ns()
    say(json.dumps({"type": "phase", "phase": name, "mono_ns": mono_ns, "utc_ns": utc_ns}))
    return mono_ns, utc_ns


class Intervals:
    """The series of one measurement that began at an instant.

    `follow` knows the tool's interval lines; None: it has none.
    """

    def __init__(self, say: Say, follow: Follow | None, began: tuple[int, int]) -> None:
        self._say, self._follow = say, follow
        self._mono_ns, self._utc_ns = began
        self._shift_ns: int | None = None
        self._count = 0

    def line(self, line: str) -> None:
        """One line of the output, just printed."""
        if self._follow is None or (interval := self._follow(line)) is None:
            return
        if self._shift_ns is None:  # the tool counts from when it had started up
            end_ns = round((interval.start_s + interval.duration_s) * 1e9)
            self._shift_ns = max(0, time.monotonic_ns() - self._mono_ns - end_ns)
        self._tell(interval)

    def finish(self, parts: Sequence[Measured]) -> None:
        """Intervals of the finished output, if there was no live progress."""
        if not self._count:
            for interval in parts[0].intervals:
                self._tell(interval)

    def _tell(self, interval: Interval) -> None:
        self._count += 1
        shift_ns = self._shift_ns or 0
        event = result.interval(interval, self._mono_ns + shift_ns, self._utc_ns + shift_ns, "measure")
        self._say(json.dumps(event))
