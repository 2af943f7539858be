"""Time stamps of log lines in their usual formats, and which of them a log has."""

from __future__ import annotations

import calendar
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from loadcell.ingest.printed_numbers import digits

_SECOND: Final = 10**9
_DAY_S: Final = 86_400
#: Half a year, and years in which 29 February is at least once.
_MOST_DAYS: Final = 184
_LEAP_YEARS: Final = 8
#: Offsets of zones change at multiples of it.
_CELL_S: Final = 900
_MOST_CELLS: Final = 10_000
_MONTHS: Final = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1
    )
}
_MONTH: Final = "(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
_WEEKDAY: Final = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_CLOCK: Final = r"\d\d:\d\d:\d\d"
_DATE: Final = r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])"
_FRACTION: Final = r"(?:[.,](\d{1,9}))?"
_OFFSET: Final = r"[+-](?:0\d|1[0-4]):?(?:00|15|30|45)(?!\d)"
#: Hours alone, right behind the time: a number behind a space is part of the text.
_HOURS: Final = r"(?<! )[+-](?:0\d|1[0-4])(?![\w:.-])"
_ZONE: Final = rf"(?: ?(Z\b|UTC\b|GMT\b|{_OFFSET}|{_HOURS}))?"
#: Characters of a line in which its stamp begins.
SEARCHED: Final = 160
#: Lines with a time at the beginning of a log, which show its formats, and lines among which they are.
HEAD_LINES: Final = 400
MOST_LINES: Final = 20_000
#: Share of the head from which a format, or a text before the stamps, is one of the log.
_LEAST_SHARE: Final = 0.02


@dataclass(frozen=True)
class Format:
    """A format: pattern with the groups for text down to seconds, fraction and zone; and its parser.

    A parser gives seconds since 1970 in the zone of the stamp, and raises ValueError.
    """

    name: str
    pattern: re.Pattern[str]
    seconds: Callable[[str, Reference], int]


@dataclass
class Reference:
    """Year and date of stamps that lack them, by the time at which the file was written."""

    written_s: int
    last_day: int = 0
    day_s: int = 0
    of_day_s: int = -1

    def year_of(self, month: int, day: int) -> int:
        """The year of a date: the first is not after its file, the others are nearest to the one before.

        Raises ValueError for a date that is in no such year.
        """
        limit = self.last_day or _ORIGIN + self.written_s // _DAY_S + 1
        year = datetime.fromordinal(limit).year
        if self.last_day:
            days = list(_days(month, day, range(year - 1, year + 2)))
            nearest = min(days, key=lambda item: abs(item - limit), default=0)
            if abs(nearest - limit) > _MOST_DAYS:
                raise ValueError(month, day)
        else:
            days = [item for item in _days(month, day, range(year - _LEAP_YEARS, year + 1)) if item <= limit]
            if not days:
                raise ValueError(month, day)
            nearest = days[-1]
        self.last_day = nearest
        return datetime.fromordinal(nearest).year

    def date_of(self, of_day_s: int) -> int:
        """Seconds of a time of the day: a time that is half a day earlier is that of the next day."""
        if self.of_day_s < 0:
            self.day_s = self.written_s // _DAY_S * _DAY_S
        elif of_day_s < self.of_day_s - _DAY_S // 2:
            self.day_s += _DAY_S
        elif of_day_s > self.of_day_s + _DAY_S // 2:
            self.day_s -= _DAY_S
        self.of_day_s = of_day_s
        return self.day_s + of_day_s


def _days(month: int, day: int, years: Iterable[int]) -> Iterator[int]:
    """Ordinals of a date in those of the years that have it."""
    for year in years:
        if (month, day) != (2, 29) or calendar.isleap(year):
            yield datetime(year, month, day).toordinal()


def _civil(year: int, month: int, day: int, clock: str) -> int:
    of_day_s = _of_day(clock)
    return (datetime(year, month, day).toordinal() - _ORIGIN) * _DAY_S + of_day_s


_ORIGIN: Final = datetime(1970, 1, 1).toordinal()


def _of_day(clock: str) -> int:
    """Seconds since midnight; 60 is the leap second."""
    hour, minute, second = digits(clock[:2]), digits(clock[3:5]), digits(clock[6:8])
    if hour > 23 or minute > 59 or second > 60:
        raise ValueError(clock)
    return hour * 3600 + minute * 60 + second


def _iso(text: str, _: Reference) -> int:
    return _civil(digits(text[:4]), digits(text[5:7]), digits(text[8:10]), text[11:])


def _clf(text: str, _: Reference) -> int:
    return _civil(digits(text[7:11]), _MONTHS[text[3:6].lower()], digits(text[:2]), text[12:])


def _syslog(text: str, reference: Reference) -> int:
    month, day = _MONTHS[text[:3].lower()], digits(text[4:-8].strip())
    return _civil(reference.year_of(month, day), month, day, text[-8:])


def _asctime(text: str, _: Reference) -> int:
    return _civil(digits(text[-4:]), _MONTHS[text[:3].lower()], digits(text[4:6].strip()), text[7:15])


def _written_out(text: str, _: Reference) -> int:
    day, month, year, clock = text.replace("-", " ").split()
    return _civil(digits(year), _MONTHS[month.lower()], digits(day), clock)


def _dotted(text: str, _: Reference) -> int:
    day, month, year = text[:-8].rstrip(", ").split(".")
    return _civil(digits(year), digits(month), digits(day), text[-8:])


def _chinese(text: str, _: Reference) -> int:
    year, month, day, hour, minute, second = re.findall(r"\d+", text)
    return _civil(digits(year), digits(month), digits(day), f"{hour:0>2}:{minute}:{second}")


def _java(text: str, _: Reference) -> int:
    month, day, year, clock, half = text.split()
    hour = digits(clock.partition(":")[0]) % 12 + (12 if half.upper() == "PM" else 0)
    clock = f"{hour:02}:{clock.partition(':')[2]}"
    return _civil(digits(year), _MONTHS[month.lower()], digits(day.rstrip(",")), clock)


def _compact(text: str, _: Reference) -> int:
    return _civil(digits(text[:4]), digits(text[4:6]), digits(text[6:8]), _with_colons(text[9:]))


def _short(text: str, _: Reference) -> int:
    date, _space, clock = text.partition(" ")
    date = date.replace("/", "")
    return _civil(2000 + digits(date[:2]), digits(date[2:4]), digits(date[4:6]), _with_colons(clock))


def _with_colons(clock: str) -> str:
    return clock if ":" in clock else f"{clock[:2]}:{clock[2:4]}:{clock[4:6]}"


def _month_day(text: str, reference: Reference) -> int:
    month, day = digits(text[:2]), digits(text[3:5])
    return _civil(reference.year_of(month, day), month, day, text[6:])


def _klog(text: str, reference: Reference) -> int:
    month, day = digits(text[:2]), digits(text[2:4])
    return _civil(reference.year_of(month, day), month, day, text[5:])


def _epoch(text: str, _: Reference) -> int:
    return digits(text)


def _time_only(text: str, reference: Reference) -> int:
    return reference.date_of(_of_day(text))


def _format(name: str, pattern: str, seconds: Callable[[str, Reference], int]) -> Format:
    return Format(name, re.compile(pattern), seconds)


#: Groups: text down to seconds, fraction, zone. The first that fits a place of a line is taken.
FORMATS: Final = (
    _format("iso", rf"(?<!\d)(\d{{4}}[-/.]\d\d[-/.]\d\d[T ]{_CLOCK}){_FRACTION}{_ZONE}", _iso),
    _format("clf", rf"(\d\d/{_MONTH}/\d{{4}}:{_CLOCK}){_FRACTION}{_ZONE}", _clf),
    _format(
        "asctime", rf"(?:{_WEEKDAY} )?({_MONTH} [ \d]\d {_CLOCK}(?:\.\d{{1,9}})? \d{{4}})()(\b)", _asctime
    ),
    _format("syslog", rf"({_MONTH} {{1,2}}\d\d? {_CLOCK}){_FRACTION}()", _syslog),
    _format("written-out", rf"(\d\d?[ -]{_MONTH}[ -]\d{{4}} {_CLOCK}){_FRACTION}{_ZONE}", _written_out),
    _format("compact", rf"(?<!\d)({_DATE}[-T_ ]\d\d:?\d\d:?\d\d)(?:[.,:](\d{{1,9}}))?{_ZONE}", _compact),
    _format("dotted", rf"(?<![\d.])(\d\d?\.\d\d?\.\d{{4}},? {_CLOCK}){_FRACTION}{_ZONE}", _dotted),
    _format(
        "chinese",
        rf"((?:19|20)\d\d年\d\d?月\d\d?日 ?\d\d?[:：时]\d\d[:：分]\d\d){_FRACTION}秒?{_ZONE}",
        _chinese,
    ),
    _format("short-year", rf"^\W?(\d\d/\d\d/\d\d {_CLOCK}|\d{{6}} \d\d:?\d\d:?\d\d){_FRACTION}()", _short),
    _format("month-day", rf"^\W?(\d\d[-/]\d\d {_CLOCK})[.,](\d{{1,9}})()", _month_day),
    _format("java", rf"({_MONTH} \d\d?, \d{{4}} \d\d?:\d\d:\d\d (?i:AM|PM))()()", _java),
    _format("klog", rf"^[IWEF](\d{{4}} {_CLOCK})\.(\d{{6}})(?=\s+\d+ )()", _klog),
    _format("epoch-ms", r"^\W{0,3}([1-3]\d{9})(\d{3}(?:\d{3}){0,2})(?!\d)(?=[\s\]|,]|$)()", _epoch),
    _format("epoch", r"^\W{0,3}([1-3]\d{9})(?:\.(\d{1,9}))?(?!\d)(?=[\s\]|,:]|$)()", _epoch),
    _format("time-only", rf"^\W?({_CLOCK})[.,](\d{{1,9}})(?!\d)()", _time_only),
)
_BY_NAME: Final = {item.name: item for item in FORMATS}
#: Formats whose stamps have a zone by definition.
_ABSOLUTE: Final = ("epoch", "epoch-ms")


@dataclass
class Stamps:
    """Stamps of one log, whose formats its first lines have shown."""

    reference: Reference
    formats: tuple[Format, ...]
    #: texts before the stamps, with their words and numbers replaced
    shapes: frozenset[str]
    has_zone: bool = True
    _position: int = 0
    _last: tuple[str, int] = ("", 0)
    _last_utc_s: int | None = None
    #: of the zone of this machine
    _offsets: dict[int, tuple[int, ...]] = field(default_factory=dict)

    @property
    def has_date(self) -> bool:
        """True if stamps have a date."""
        return not any(item.name == "time-only" for item in self.formats[:1])

    def take(self, line: str) -> tuple[int, int, int] | None:
        """Instant in ns, begin and end of the stamp of a line; None where the line has none."""
        for item in self.formats:
            match = item.pattern.match(line, self._position)
            if match is None:
                match = item.pattern.search(line, 0, SEARCHED)
                if match is None or (match.start() and shape_of(line[: match.start()]) not in self.shapes):
                    continue
                if item.pattern.pattern[0] != "^":
                    self._position = match.start()
            instant_ns = self.instant(item, match)
            if instant_ns is not None:
                return instant_ns, match.start(), match.end()
        return None

    def instant(self, item: Format, match: re.Match[str]) -> int | None:
        """The instant of a stamp; None of an impossible one, such as 31 February."""
        text, fraction, zone = match[1], match[2], match[3]
        if text == self._last[0]:
            seconds = self._last[1]
        else:
            try:
                seconds = item.seconds(text, self.reference)
            except ValueError:
                return None
            self._last = text, seconds
        if zone:
            seconds -= offset_s(zone)
        elif item.name not in _ABSOLUTE:
            self.has_zone = False
            seconds = self._utc_s(seconds)
        self._last_utc_s = seconds
        return seconds * _SECOND + (digits(fraction.ljust(9, "0")) if fraction else 0)

    def _utc_s(self, seconds: int) -> int:
        """Seconds since 1970 of a time in the zone of this machine; of one that is twice, those nearer to the
        stamp before.
        """
        cell = seconds // _CELL_S
        offsets = self._offsets.get(cell)
        if offsets is None:
            if len(self._offsets) >= _MOST_CELLS:
                self._offsets.clear()
            offsets = self._offsets[cell] = _local_offsets_s(cell)
        instants = [seconds - offset_s for offset_s in offsets]
        last_s = self._last_utc_s
        if len(instants) == 1 or last_s is None:
            return instants[0]
        return min(instants, key=lambda instant: abs(instant - last_s))


def _local_offsets_s(cell: int) -> tuple[int, ...]:
    """Offsets of the zone of this machine at a quarter of an hour by its clock, the earlier instant first.

    There are two where the clock is put back, and the one before where it is put forward.
    """
    seconds = cell * _CELL_S
    around = [local_offset_s(seconds + side * _DAY_S) for side in (-1, 1)]
    offsets = {offset for offset in around if local_offset_s(seconds - offset) == offset}
    return tuple(sorted(offsets, reverse=True)) or (around[0],)


def offset_s(zone: str) -> int:
    """Seconds that a zone is east of UTC."""
    if zone[0] not in "+-":
        return 0
    seconds = digits(zone[1:3]) * 3600 + (digits(zone[-2:]) * 60 if len(zone) > 3 else 0)
    return -seconds if zone[0] == "-" else seconds


_WORD: Final = re.compile(r"[A-Za-z_]+|\d+")


def shape_of(text: str) -> str:
    """A text with its words and numbers replaced."""
    return _WORD.sub(lambda match: "0" if match[0][0].isdigit() else "a", text)


def detect(lines: Iterable[str], written_s: float | None = None) -> Stamps | None:
    """The stamps of a log by its first lines; None where these have none.

    `written_s` is the time at which the file was written, for stamps without a year or a date.
    """
    formats: Counter[str] = Counter()
    shapes: Counter[str] = Counter()
    for line in lines:
        matches = ((item, item.pattern.search(line, 0, SEARCHED)) for item in FORMATS)
        candidates = [(match.start(), item, match) for item, match in matches if match is not None]
        if formats.total() >= HEAD_LINES:
            break
        if candidates:
            begin, item, _ = min(candidates, key=lambda candidate: candidate[0])
            formats[item.name] += 1
            shapes[shape_of(line[:begin])] += 1
    total = formats.total()
    if not total:
        return None
    names = [name for name, count in formats.most_common() if count >= _LEAST_SHARE * total]
    begins = frozenset(shape for shape, count in shapes.items() if count >= _LEAST_SHARE * total)
    return _stamps(written_s, tuple(_BY_NAME[name] for name in names), begins)


def of_fields(written_s: float | None = None) -> Stamps:
    """The stamps of a log whose times are fields: of JSON, or of a pattern."""
    return _stamps(written_s, (), frozenset())


def _stamps(written_s: float | None, formats: tuple[Format, ...], shapes: frozenset[str]) -> Stamps:
    at_s = time.time() if written_s is None else written_s
    return Stamps(Reference(round(at_s) + local_offset_s(at_s)), formats, shapes)


def local_offset_s(at_s: float) -> int:
    """Seconds that the zone of this machine is east of UTC."""
    return time.localtime(at_s).tm_gmtoff


def read_text(text: str, stamps: Stamps) -> int | None:
    """The instant of a text that is a stamp in any format, as a field of JSON has it."""
    for item in FORMATS:
        match = item.pattern.match(text)
        if match is not None and (instant_ns := stamps.instant(item, match)) is not None:
            return instant_ns
    return None
