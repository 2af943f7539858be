"""sar in all its forms: the text in any locale, `sadf -d`, and `sadf -j` (sysstat 9 to 12)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from itertools import chain
from typing import TYPE_CHECKING

from loadcell.ingest import sar_tables
from loadcell.ingest.base import (
    OUTPUT_INCOMPLETE,
    NotItsOutputError,
    Reading,
    Samples,
    TooManyError,
    Unread,
)
from loadcell.ingest.printed_numbers import integer, real
from loadcell.ingest.readers import Reader, Unsupported, by_line
from loadcell.ingest.text import documents
from loadcell.model.message import MessageCode

if TYPE_CHECKING:
    from loadcell.model.json import JsonObject

OUTPUT_SAR = MessageCode("output.sar")
UNSUPPORTED_SAR = MessageCode("unsupported.sar", path=str)
OUTPUT_SADF_ROWS = MessageCode("output.sadf-rows")
OUTPUT_SADF_JSON = MessageCode("output.sadf-json")

NAME = sar_tables.NAME

_BANNER = re.compile(r"Linux \S+ \(.*?\)\s+(?P<date>\S+)")
_CLOCK = re.compile(
    r"(?:(?P<before>AM|PM|上午|下午|午前|午後|오전|오후)\s*)?(?P<h>\d{1,2}) ?[:.时時] ?"
    r"(?P<m>\d{2}) ?[:.分] ?(?P<s>\d{2})(?: ?秒)?"
    r"(?:\s*(?P<after>AM|PM|am|pm|上午|下午|午前|午後|오전|오후))?\s+(?P<rest>\S.*)$"
)
_AFTERNOON = ("PM", "pm", "下午", "午後", "오후")
#: A summary in any language: a word or two and a colon.
_AVERAGE = re.compile(r"[^\d\s][^\d:]*:\s")
_SADF_HEAD = re.compile(r"#? ?hostname;interval;timestamp;(?P<names>.+)")
_HALF_DAY_S = 43_200


def read(lines: Iterable[str]) -> Reading:
    """Every sample; what loadcell's own host monitor has a column for goes there, everything else beside it.

    Times without a zone are taken as this machine's zone; a text without a date counts from its first time.
    """
    iterator = iter(lines)
    first = ""
    for first in iterator:
        if first.strip():
            break
    again = chain([first], iterator)
    unread = Unread()
    if first.lstrip("\ufeff \t").startswith("{"):
        samples = _json(again, unread)
    elif _SADF_HEAD.match(first) or first.count(";") > 3:
        samples = _sadf(again, unread)
    else:
        samples = _text(again, unread)
    return unread.reading((), samples)


def _text(lines: Iterable[str], unread: Unread) -> Samples:
    """Blocks of a head and its rows, each with a clock time before it; the banner has the date."""
    text = _Text()
    for line in lines:
        try:
            if not text.take(line.strip()):
                unread.add(line)
        except (ValueError, OverflowError, TooManyError):
            unread.add(line)
    if text.samples is None or not len(text.samples):
        raise NotItsOutputError(OUTPUT_SAR())
    text.close()
    return text.samples


class _Text:
    def __init__(self) -> None:
        self.samples: Samples | None = None
        self.activities: sar_tables.Activities | None = None
        self.day: date | None = None
        self.names: tuple[str, ...] = ()
        #: Of each table the clock time of its last row, and how many midnights it has passed.
        self.clocks: dict[tuple[str, ...], tuple[int, int]] = {}
        #: Tables whose averages were printed: another one of the same head begins the day again.
        self.ended: set[tuple[str, ...]] = set()
        self.averages = sar_tables.Averages()

    def take(self, line: str) -> bool:
        """True if the line was understood."""
        if not line:
            return True
        average = _AVERAGE.match(line)
        if average is not None:
            self._average(line[average.end() :].split())
            return True
        banner = _BANNER.match(line)
        if banner is not None:
            self.day = _date(banner["date"]) or self.day
            self.clocks.clear()
            self.ended.clear()
            self.names = ()
            return True
        clock = _CLOCK.match(line)
        if clock is None:
            return False
        words = clock["rest"].split()
        if words[:2] == ["LINUX", "RESTART"]:
            self.ended.clear()
            return True
        if not any(_is_number(word) for word in words):
            # an unknown head ends the table before: its rows must not go there
            self.names = tuple(words) if sar_tables.is_head(words) else ()
            return bool(self.names)
        if len(words) != len(self.names):
            return False
        values, instance, kind = sar_tables.row(self.names, words)
        self._activities().take(self._instant(clock), kind, instance, values)
        self.averages.count(self.names, instance)
        return True

    def _average(self, words: list[str]) -> None:
        """Take one line of `Average:`, a header or a row. A row ends its table."""
        if words and not any(_is_number(word) for word in words):
            self.names = tuple(words) if sar_tables.is_head(words) else ()
        elif len(words) == len(self.names):
            self.ended.add(self.names)
            self.averages.take(self.names, words)

    def close(self) -> None:
        """Everything was read."""
        self._activities().close()
        assert self.samples is not None
        self.samples.printed = self.averages.printed()

    def _activities(self) -> sar_tables.Activities:
        if self.activities is None:
            self.samples = sar_tables.samples(absolute=self.day is not None)
            self.activities = sar_tables.Activities(self.samples)
        return self.activities

    def _instant(self, clock: re.Match[str]) -> float:
        hour, half = integer(clock["h"]), clock["before"] or clock["after"]
        if half:
            hour = hour % 12 + (12 if half in _AFTERNOON else 0)
        second = hour * 3600 + integer(clock["m"]) * 60 + integer(clock["s"])
        if self.names in self.ended:
            self.ended.discard(self.names)
            self.clocks.pop(self.names, None)
        before, midnights = self.clocks.get(self.names, (second, 0))
        if second < before - _HALF_DAY_S:
            midnights += 1
        self.clocks[self.names] = (second, midnights)
        if self.day is None:
            return second + midnights * 86_400.0
        # The clock's own midnight: a day of a change to summer time is no 24 hours.
        day = self.day + timedelta(days=midnights)
        return datetime(
            day.year, day.month, day.day, hour, integer(clock["m"]), integer(clock["s"])
        ).timestamp()


def _is_number(word: str) -> bool:
    return re.fullmatch(r"-?\d+([.,]\d+)?", word) is not None


def _date(text: str) -> date | None:
    """The banner's date in the locale's form.

    `08/09/24` is taken as American, which sar's own locale (C) writes.
    """
    numbers = [integer(number) for number in re.findall(r"\d+", text)]
    if len(numbers) != 3:
        return None
    if numbers[0] > 31 or "年" in text:
        year, month, day = numbers
    elif "/" in text and numbers[0] <= 12:
        month, day, year = numbers
    else:
        day, month, year = numbers
    try:
        return date(year if year > 99 else 2000 + year, month, day)
    except (ValueError, OverflowError):
        return None


def _sadf(lines: Iterable[str], unread: Unread) -> Samples:
    """`host;interval;timestamp;...` after a head with the names of the columns."""
    samples = sar_tables.samples(absolute=True)
    activities = sar_tables.Activities(samples)
    names: tuple[str, ...] = ()
    for line in lines:
        head = _SADF_HEAD.match(line.strip())
        fields = line.strip().split(";")
        if head is not None:
            names = tuple(name.replace("[...]", "") for name in head["names"].split(";"))
        elif len(fields) > 3 and fields[3].startswith("LINUX-RESTART"):
            continue
        elif len(fields) != len(names) + 3 or not names:
            unread.add(line)
        else:
            try:
                values, instance, kind = sar_tables.row(names, fields[3:])
                activities.take(_timestamp(fields[2]), kind, instance, values)
            except (ValueError, OverflowError, TooManyError):
                unread.add(line)
    activities.close()
    if not len(samples):
        raise NotItsOutputError(OUTPUT_SADF_ROWS())
    return samples


def _timestamp(text: str) -> float:
    """`2018-04-25 03:15:02 UTC`, the same without a zone (this machine's), or seconds since 1970."""
    if text.isdecimal():
        return real(text)
    when = datetime.fromisoformat(text.removesuffix(" UTC"))
    return (when.replace(tzinfo=UTC) if text.endswith(" UTC") else when).timestamp()


def _json(lines: Iterable[str], unread: Unread) -> Samples:
    """Every `statistics` of every host in `sadf -j`."""
    samples = sar_tables.samples(absolute=True)
    activities = sar_tables.Activities(samples)
    for document in documents(lines, "sysstat", "`sadf -j`", unread):
        for statistic in _statistics(document):
            try:
                at_s = _json_time(statistic["timestamp"])
                for kind, instance, values in _activities_of(statistic):
                    activities.take(at_s, kind, instance, values)
            except (KeyError, ValueError, OverflowError, TypeError, AttributeError, TooManyError) as error:
                unread.add(OUTPUT_INCOMPLETE(tool="sadf", reason=f"{type(error).__name__}: {error}"))
    activities.close()
    if not len(samples):
        raise NotItsOutputError(OUTPUT_SADF_JSON())
    return samples


def _statistics(document: JsonObject) -> Iterator[JsonObject]:
    hosts = (document.get("sysstat") or {}).get("hosts") if isinstance(document.get("sysstat"), dict) else ()
    for host in hosts or ():
        for statistics in (host or {}).get("statistics") or ():
            if isinstance(statistics, dict) and "timestamp" in statistics:
                yield statistics


def _json_time(stamp: JsonObject) -> float:
    when = datetime.fromisoformat(f"{stamp['date']} {stamp['time']}")
    return (when.replace(tzinfo=UTC) if stamp.get("utc") else when).timestamp()


#: Keys of the JSON that differ from the text's names by more than `/s` or `%`.
_KEYS: Mapping[str, str] = {
    "avail": "kbavail",
    "dirty": "kbdirty",
    "swpused": "kbswpused",
    "util-percent": "%util",
    "usr": "%usr",
    "sys": "%sys",
    **{
        f"{name}": f"%{name}"
        for name in ("user", "nice", "system", "iowait", "steal", "irq", "soft", "guest", "gnice", "idle")
    },
    **{
        name: f"{name}/s"
        for name in (
            "cswch",
            "majflt",
            "pswpin",
            "pswpout",
            "retrans",
            "atmptf",
            "rkB",
            "wkB",
            "rd_sec",
            "wr_sec",
            "rxkB",
            "txkB",
        )
    },
}
_PRESSURE = {"psi-cpu": "%scpu", "psi-io": "%sio", "psi-mem": "%smem"}
_NAMED_BY = {"cpu": "CPU", "disk-device": "DEV", "iface": "IFACE"}


def _activities_of(node: JsonObject) -> Iterator[tuple[str, str, dict[str, float]]]:
    """Kind, object and values of everything in one sample, however deep."""
    for key, inner in node.items():
        if key in ("timestamp", "restarts", "comments"):
            continue
        if isinstance(inner, list):
            for activity in inner:
                if isinstance(activity, dict):
                    named = next((name for name in activity if isinstance(activity[name], str)), None)
                    kind = _NAMED_BY.get(named or "", key)
                    yield kind, str(activity.get(named, "")) if named else "", _values(activity, _KEYS.get)
        elif isinstance(inner, dict):
            values = _values(inner, _KEYS.get)
            if key in _PRESSURE and "some_avg" in inner:
                values = {_PRESSURE[key]: float(inner["some_avg"])}
            for below in inner.values():  # io-reads and io-writes belong to io
                if isinstance(below, dict) and key == "io":
                    values |= _values(below, lambda name: {"bread": "bread/s", "bwrtn": "bwrtn/s"}.get(name))
            if values:
                yield "", "", values
            if key != "io":
                yield from _activities_of(inner)


def _values(node: JsonObject, name_of: Callable[[str], str | None]) -> dict[str, float]:
    return {
        name_of(key) or key: float(value)
        for key, value in node.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


#: `AIX db1 3 7 00F6...`, `SunOS web 5.10 Generic ...`, `HP-UX hp1 B.11.31 U ia64 ...`, then a table.
_OTHER_UNIX = re.compile(
    rb"^(?:AIX|SunOS|HP-UX) \S+ \S+ [^\n]*\n(?:[^\n]*\n){0,12}?\d\d:\d\d:\d\d\s+[%A-Za-z]", re.MULTILINE
)

READER = Reader(
    NAME,
    by_line(read),
    line_starts=(b"Linux ",),
    anywhere=(b"hostname;interval;timestamp;", b'"sysstat"'),
    unsupported=(Unsupported(_OTHER_UNIX, UNSUPPORTED_SAR),),
)
