"""mbw: MiB/s of memory copies by three methods."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import harmonic_mean, median

from loadcell.ingest.base import Measured, NotItsOutputError, PrintedTotal, Reading, Unread
from loadcell.ingest.printed_numbers import integer, real
from loadcell.ingest.readers import Reader, by_line
from loadcell.model.message import MessageCode

OUTPUT_MBW = MessageCode("output.mbw")

NAME = "mbw"

_RUN = re.compile(
    r"(?P<which>\d+|AVG)\s+Method: (?P<method>\w+)\s+Elapsed: (?P<s>[\d.]+)\s+MiB: (?P<mib>[\d.]+)"
    r"\s+Copy: (?P<rate>[\d.]+) MiB/s"
)
_IGNORED_LINES = re.compile(r"Long uses|Using \d+ bytes|Getting down")


def read(lines: Iterable[str]) -> Reading:
    """A part for each method of each run: the median of its rounds, MiB/s; the tool's average is a metric of
    it, and all that `-q` prints.

    A method that begins again after its last round is that of the next run.
    """
    runs: list[dict[str, _Method]] = []
    unread = Unread()
    for line in lines:
        match = _RUN.match(line)
        if match is None:
            if _IGNORED_LINES.match(line) is None:
                unread.add(line)
            continue
        which, name = match["which"], match["method"]
        if not runs or (name in runs[-1] and runs[-1][name].ended_by(which)):
            runs.append({})
        method = runs[-1].setdefault(name, _Method(name, real(match["mib"])))
        if which == "AVG":
            method.average = match["rate"]
        else:
            method.last = integer(which)
            method.rounds.append(real(match["rate"]))
    if not runs:
        raise NotItsOutputError(OUTPUT_MBW())
    return unread.reading(method.measured() for run in runs for method in run.values())


@dataclass
class _Method:
    """Rounds of one method in one run; arrays of `array_mib` were copied."""

    name: str
    array_mib: float
    rounds: list[float] = field(default_factory=list)
    average: str | None = None
    last: int = -1

    def ended_by(self, which: str) -> bool:
        """True if a line of this round cannot belong to it."""
        return self.average is not None or (which != "AVG" and integer(which) <= self.last)

    def measured(self) -> Measured:
        """Its part; the average of rounds is that of their time, which is the harmonic mean of rates."""
        average = None if self.average is None else real(self.average)
        printed: tuple[PrintedTotal, ...] = ()
        if average is not None and all(self.rounds) and self.rounds:
            printed = (PrintedTotal("rounds", harmonic_mean(self.rounds), "average_mib_per_s"),)
        return Measured(
            self.name, "MiB", median(self.rounds) if self.rounds else average,
            figures={} if average is None else {"average_mib_per_s": average},
            clients=1, settings={"rounds": len(self.rounds), "array_mib": self.array_mib}, printed=printed,
        )  # fmt: skip


READER = Reader(NAME, by_line(read), anywhere=(b"Method: MEMCPY", b"Method: DUMB", b"Method: MCBLOCK"))
