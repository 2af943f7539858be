"""stress-ng with `--metrics` or `--metrics-brief`: bogus operations a second of each stressor."""

from __future__ import annotations

import re
from collections.abc import Iterable

from loadcell.ingest.base import Measured, NotItsOutputError, Reading, Unread
from loadcell.ingest.printed_numbers import integer, real
from loadcell.ingest.readers import Reader, by_line
from loadcell.model.message import MessageCode

OUTPUT_STRESS_NG = MessageCode("output.stress-ng")

NAME = "stress-ng"

_ROW = re.compile(
    r"stress-ng: (?:metrc|info): +\[\d+\] (?P<name>[\w-]+) +(?P<ops>\d+) +(?P<real>[\d.]+) "
    r"+(?P<user>[\d.]+) +(?P<system>[\d.]+) +"
    r"(?P<rate>[\d.]+) +(?P<cpu>[\d.]+)"
)
_HOGS = re.compile(r"stress-ng: info: +\[\d+\] dispatching hogs: (?P<hogs>.+)")
_HOG = re.compile(r"(\d+) ([\w-]+)")
_IGNORED_LINES = re.compile(r"stress-ng: (info|metrc):")


def read(lines: Iterable[str]) -> Reading:
    """A part for each stressor, by real time."""
    measured: list[Measured] = []
    hogs: dict[str, int] = {}
    unread = Unread()
    for line in lines:
        if (match := _HOGS.match(line)) is not None:
            hogs = {name: integer(count) for count, name in _HOG.findall(match["hogs"])}
        elif (match := _ROW.match(line)) is not None:
            figures = {
                "per_cpu_s": real(match["cpu"]),
                "user_s": real(match["user"]),
                "system_s": real(match["system"]),
            }
            name = match["name"]
            made, took_s = integer(match["ops"]), real(match["real"])
            rate = real(match["rate"])
            measured.append(
                Measured(name, "operation", rate, made, None, took_s, hogs.get(name), {}, figures)
            )
        elif _IGNORED_LINES.match(line) is None:
            unread.add(line)
    if not measured:
        raise NotItsOutputError(OUTPUT_STRESS_NG())
    return unread.reading(measured)


READER = Reader(NAME, by_line(read), line_starts=(b"stress-ng: ",))
