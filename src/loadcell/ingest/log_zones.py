"""Time zones whose clocks are put forward or back between two stamps of a log without a zone."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cache, lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from loadcell.ingest.log_times import local_offset_s

_SECOND_NS: Final = 10**9
_HALF_HOUR_S: Final = 1800
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


@lru_cache(maxsize=256)
def zones_with_change(before_ns: int, after_ns: int) -> tuple[str, ...]:
    """Zones whose clocks are put forward or back between two successive stamps, the best known first.

    The stamps are instants in ns since 1970 for which the zone of this machine was taken.
    """
    before_s, after_s = (at_ns / 1e9 + local_offset_s(at_ns / 1e9) for at_ns in (before_ns, after_ns))
    change_s = round((after_s - before_s) / _HALF_HOUR_S) * _HALF_HOUR_S
    elapsed_s = max(0.0, after_s - before_s - change_s) + _SLACK_S
    shown = datetime(1970, 1, 1) + timedelta(seconds=before_s)
    return tuple(name for name in _names() if _changes(_zone(name), shown, elapsed_s, change_s))


def _changes(zone: ZoneInfo, shown: datetime, elapsed_s: float, change_s: int) -> bool:
    """True if the offset of a zone changes so within a time from what its clock shows."""
    for fold in (0, 1):
        before = shown.replace(tzinfo=zone, fold=fold)
        after = datetime.fromtimestamp(before.timestamp() + elapsed_s, zone)
        # the difference of naive times is that of the clocks
        change = (after.replace(tzinfo=None) - shown).total_seconds() - elapsed_s
        if round(change) == change_s:
            return True
    return False


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
