"""Tells of a load as the engine does: its phases, and its intervals as they are printed, or else as they were
read.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence

from loadcell.ingest.base import Interval, Measured
from loadcell.workloads.tool_runner import result
from loadcell.workloads.tool_runner.progress import Follow

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
