"""Times of lines of GC logs: decorators of the unified format, and stamps of JDK 8 and before."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from typing import Final

from loadcell.ingest.printed_numbers import digits
from loadcell.model.gc_pauses import LogClock

DATE: Final = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.,]\d{3}[+-]\d{4}"
#: The same by minute, second, millisecond and zone.
DATE_PARTS: Final = r"(\d{4}-\d\d-\d\dT\d\d:\d\d):(\d\d)[.,](\d{3})([+-]\d{4})"
_DATE: Final = re.compile(DATE)
_UPTIME: Final = re.compile(r"(\d{1,18})[.,](\d{3})s")
_MILLISECONDS: Final = re.compile(r"(\d{1,18})ms")
_NANOSECONDS: Final = re.compile(r"(\d{1,18})ns")
#: Thirty years; times of the wall clock in ms are larger.
_LONGEST_UPTIME_NS: Final = 10**18
#: Two decorators of one line that are the same time.
_SAME_NS: Final = 10**8


def instants(decorators: Iterable[str]) -> dict[LogClock, int]:
    """Times in nanoseconds by their clock. Two decorators have the same form: time since the JVM's start, and
    by the clock of the machine, which is never the smaller one. Where either is possible, the wall clock is
    the better one.
    """
    times: dict[LogClock, int] = {}
    finest: list[int] = []
    for word in decorators:
        if not word[:1].isdigit():
            continue
        if word[-1] != "s":
            if _DATE.fullmatch(word):
                with contextlib.suppress(ValueError):  # a damaged line
                    times["utc"] = utc_ns(word)
        elif (match := _UPTIME.fullmatch(word)) is not None:
            times["uptime"] = digits(match[1]) * 10**9 + digits(match[2]) * 10**6
        elif (match := _NANOSECONDS.fullmatch(word)) is not None:
            finest.append(digits(match[1]))
        elif (match := _MILLISECONDS.fullmatch(word)) is not None:
            value = digits(match[1]) * 10**6
            times["utc" if value > _LONGEST_UPTIME_NS else "uptime"] = value
    if finest:
        uptime = times.get("uptime")
        highest = max(finest)
        if uptime is not None and abs(highest - uptime) < _SAME_NS:
            times["uptime"] = highest
        elif uptime is not None or len(finest) > 1 or "utc" not in times:
            times["monotonic"] = highest
    return times


def is_single_in_nanoseconds(decorators: Iterable[str]) -> bool:
    """True if the only time is in nanoseconds: that of the machine, or since the JVM's start."""
    words = list(decorators)
    return len(instants(words)) == 1 == sum(_NANOSECONDS.fullmatch(word) is not None for word in words)


def utc_ns(date: str) -> int:
    """The instant of a date. Raises ValueError for one that no calendar has."""
    second_ns = minute_ns(date[:16], date[23:]) + int(date[17:19]) * 10**9
    return second_ns + int(date[20:23]) * 10**6


@lru_cache(maxsize=64)
def minute_ns(minute: str, zone: str) -> int:
    """The instant of a minute. Raises ValueError for one that no calendar has."""
    return round(datetime.strptime(minute + zone, "%Y-%m-%dT%H:%M%z").timestamp()) * 10**9
