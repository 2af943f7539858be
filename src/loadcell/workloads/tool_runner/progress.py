"""Progress lines of tools: what they print of each interval while they run."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from loadcell.ingest.base import Interval
from loadcell.ingest.readers import pgbench

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
