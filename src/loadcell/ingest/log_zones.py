"""Time zones whose clocks are put forward or back between two stamps of a log without a zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cache, lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from loadcell.ingest.log_times import local_offset_s

_SECOND_NS: Final = 10**9
_HALF_HOUR_S: Final = 1800
_DAY_S: Final = 86_400
#: Clocks are put back by at most this for the end of daylight saving time; more is another zone.
_MOST_S: Final = 3600
#: Stamps of concurrent lines differ by so much.
_SLACK_S: Final = 2.0
#: Zones that are named first, as many people know them.
_POPULAR: Final = (
    "Europe/Berlin", "Europe/London", "America/New_York", "America/Chicago", "America/Los_Angeles",
    "Australia/Sydney",
)  # fmt: skip


def is_change_of_a_zone(before_ns: int, after_ns: int) -> bool:
    """True if some zone has this change of its clock at this time, or if its zones cannot be looked up."""
    return not _names() or bool(zones_with_change(before_ns, after_ns))


def is_within_a_zone(before_ns: int, after_ns: int) -> bool:
    """True of a change by as much as daylight saving time; a larger one is that from zone to zone."""
    return abs(after_ns - before_ns) <= (_MOST_S + _HALF_HOUR_S // 2) * _SECOND_NS


def zones_with_change(before_ns: int, after_ns: int) -> tuple[str, ...]:
    """Zones whose clocks are put forward or back between two successive stamps, the best known first.

    The stamps are instants in ns since 1970 for which the zone of this machine was taken.
    """
    before_s, after_s = (at_ns / 1e9 + local_offset_s(at_ns / 1e9) for at_ns in (before_ns, after_ns))
    change_s = round((after_s - before_s) / _HALF_HOUR_S) * _HALF_HOUR_S
    elapsed_s = max(0.0, after_s - before_s - change_s) + _SLACK_S
    days = range(int(before_s // _DAY_S), int((before_s + elapsed_s) // _DAY_S) + 1)
    names = {
        name
        for day in days
        for change in _changes(day)
        if change.change_s == change_s and before_s < change.shown_s <= before_s + elapsed_s
        for name in change.zones
    }
    return tuple(name for name in _names() if name in names) if names else ()


@dataclass(frozen=True)
class _Change:
    """A change of the clocks of zones: what they show before it, in seconds since 1970, and its size."""

    shown_s: int
    change_s: int
    zones: tuple[str, ...]


@lru_cache(maxsize=1024)
def _changes(day: int) -> tuple[_Change, ...]:
    """Changes on a day, by its number since 1970 on the clocks before them."""
    zones: dict[tuple[int, int], list[str]] = {}
    for name in _names():
        zone = _zone(name)
        # the day of a clock lies within those before and after it in UTC
        begin_s, end_s = (day - 1) * _DAY_S, (day + 2) * _DAY_S
        before_s = _offset_s(zone, begin_s)
        if before_s == _offset_s(zone, end_s):
            continue
        while end_s - begin_s > 1:
            middle_s = (begin_s + end_s) // 2
            if _offset_s(zone, middle_s) == before_s:
                begin_s = middle_s
            else:
                end_s = middle_s
        if (end_s + before_s) // _DAY_S == day:
            zones.setdefault((end_s + before_s, _offset_s(zone, end_s) - before_s), []).append(name)
    return tuple(_Change(*key, tuple(names)) for key, names in zones.items())


def _offset_s(zone: ZoneInfo, instant_s: int) -> int:
    offset = datetime.fromtimestamp(instant_s, zone).utcoffset()
    return 0 if offset is None else round(offset.total_seconds())


@cache
def _names() -> tuple[str, ...]:
    names = available_timezones()
    return (*(name for name in _POPULAR if name in names), *sorted(names.difference(_POPULAR)))


@cache
def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")
