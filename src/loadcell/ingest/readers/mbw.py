"""mbw: MiB/s of memory copies by three methods."""

from __future__ import annotations

import re
from collections.abc import Iterable
from statistics import median

from loadcell.ingest.base import Measured, NotItsOutputError, Reading, Unread
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
    """A part for each method: the median of its rounds, MiB/s; the tool's average is a metric of it, and all
    that `-q` prints.
    """
    rounds: dict[str, list[float]] = {}
    averages: dict[str, float] = {}
    sizes: dict[str, float] = {}
    unread = Unread()
    for line in lines:
        match = _RUN.match(line)
        if match is None:
            if _IGNORED_LINES.match(line) is None:
                unread.add(line)
        elif match["which"] == "AVG":
            averages[match["method"]] = float(match["rate"])
            sizes[match["method"]] = float(match["mib"])
        else:
            rounds.setdefault(match["method"], []).append(float(match["rate"]))
            sizes[match["method"]] = float(match["mib"])
    methods = list(dict.fromkeys([*rounds, *averages]))
    if not methods:
        raise NotItsOutputError(OUTPUT_MBW())
    return unread.reading(
        Measured(
            method, "MiB", median(rounds[method]) if method in rounds else averages[method],
            figures={"average_mib_per_s": averages[method]} if method in averages else {},
            clients=1, settings={"rounds": len(rounds.get(method, ())), "array_mib": sizes[method]},
        )
        for method in methods
    )  # fmt: skip


READER = Reader(NAME, by_line(read), anywhere=(b"Method: MEMCPY", b"Method: DUMB", b"Method: MCBLOCK"))
