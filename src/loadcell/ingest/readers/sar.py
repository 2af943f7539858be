"""sar in all its forms: the text in any locale, `sadf -d`, and `sadf -j` (sysstat 9 to 12)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from itertools import chain
from typing import TYPE_CHECKING

from loadcell.ingest.base import NotItsOutputError, Reading, Samples, TooManyError, Unread
from loadcell.ingest.messages import OUTPUT_INCOMPLETE
from loadcell.ingest.readers import Reader, by_line
from loadcell.ingest.text import documents
from loadcell.model.message import MessageCode
from loadcell.monitors.host import NOT_DISKS, NOT_LINKS, Host

if TYPE_CHECKING:
    from loadcell.model.json import JsonObject

OUTPUT_SAR = MessageCode("output.sar")

OUTPUT_SADF_ROWS = MessageCode("output.sadf-rows")

OUTPUT_SADF_JSON = MessageCode("output.sadf-json")

NAME = "sar"

#: Columns that name what a row is of.
_OBJECTS = ("CPU", "DEV", "IFACE", "INTR", "TTY", "FILESYSTEM", "MOUNTPOINT", "FCHOST", "FAN", "TEMP", "IN")
_BANNER = re.compile(r"Linux \S+ \(.*?\)\s+(?P<date>\S+)")
_CLOCK = re.compile(
    r"(?:(?P<before>AM|PM|上午|下午|午前|午後|오전|오후)\s*)?(?P<h>\d{1,2})[:.时時](?P<m>\d{2})[:.分](?P<s>\d{2})秒?"
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


def _samples(*, absolute: bool) -> Samples:
    return Samples("host", "host.csv", NAME, Host.table.columns, absolute=absolute)


def _text(lines: Iterable[str], unread: Unread) -> Samples:
    """Blocks of a head and its rows, each with a clock time before it; the banner has the date."""
    text = _Text()
    for line in lines:
        try:
            if not text.take(line.strip()):
                unread.add(line)
        except (ValueError, TooManyError):
            unread.add(line)
    if text.samples is None or not len(text.samples):
        raise NotItsOutputError(OUTPUT_SAR())
    return text.samples


class _Text:
    def __init__(self) -> None:
        self.samples: Samples | None = None
        self.activities: _Activities | None = None
        self.day: date | None = None
        self.names: tuple[str, ...] = ()
        #: Of each table the clock time of its last row, and how many midnights it has passed.
        self.clocks: dict[tuple[str, ...], tuple[int, int]] = {}

    def take(self, line: str) -> bool:
        """True if the line was understood."""
        if not line or _AVERAGE.match(line):
            return True
        banner = _BANNER.match(line)
        if banner is not None:
            self.day = _date(banner["date"]) or self.day
            self.clocks.clear()
            return True
        clock = _CLOCK.match(line)
        if clock is None:
            return False
        words = clock["rest"].split()
        if words[:2] == ["LINUX", "RESTART"]:
            return True
        if _is_head(words):
            self.names = tuple(words)
            return True
        if len(words) != len(self.names):
            return False
        values, instance, kind = _row(self.names, words)
        self._activities().take(self._instant(clock), kind, instance, values)
        return True

    def _activities(self) -> _Activities:
        if self.activities is None:
            self.samples = _samples(absolute=self.day is not None)
            self.activities = _Activities(self.samples)
        return self.activities

    def _instant(self, clock: re.Match[str]) -> float:
        hour, half = int(clock["h"]), clock["before"] or clock["after"]
        if half:
            hour = hour % 12 + (12 if half in _AFTERNOON else 0)
        second = hour * 3600 + int(clock["m"]) * 60 + int(clock["s"])
        before, midnights = self.clocks.get(self.names, (second, 0))
        if second < before - _HALF_DAY_S:
            midnights += 1
        self.clocks[self.names] = (second, midnights)
        if self.day is None:
            return second + midnights * 86_400.0
        # The clock's own midnight: a day of a change to summer time is no 24 hours.
        day = self.day + timedelta(days=midnights)
        return datetime(day.year, day.month, day.day, hour, int(clock["m"]), int(clock["s"])).timestamp()


def _is_head(words: list[str]) -> bool:
    return not any(_is_number(word) for word in words) and any(
        word in _OBJECTS or word.startswith(("%", "kb", "ldavg", "runq")) or word.endswith("/s")
        for word in words
    )


def _is_number(word: str) -> bool:
    return re.fullmatch(r"-?\d+([.,]\d+)?", word) is not None


def _row(names: tuple[str, ...], words: list[str]) -> tuple[dict[str, float], str, str]:
    """Values by name, what they are of, and the column that says so. Raises ValueError."""
    kind = next((name for name in names if name in _OBJECTS), "")
    instance = words[names.index(kind)] if kind else ""
    values = {
        name: float(word.replace(",", "."))  # sar groups nothing: a comma is a decimal one
        for name, word in zip(names, words, strict=True)
        if name != kind and word != "-"
    }
    return values, instance, kind


def _date(text: str) -> date | None:
    """The banner's date in the locale's form.

    `08/09/24` is taken as American, which sar's own locale (C) writes.
    """
    numbers = [int(number) for number in re.findall(r"\d+", text)]
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
    except ValueError:
        return None


def _sadf(lines: Iterable[str], unread: Unread) -> Samples:
    """`host;interval;timestamp;...` after a head with the names of the columns."""
    samples = _samples(absolute=True)
    activities = _Activities(samples)
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
                values, instance, kind = _row(names, fields[3:])
                activities.take(_timestamp(fields[2]), kind, instance, values)
            except (ValueError, TooManyError):
                unread.add(line)
    if not len(samples):
        raise NotItsOutputError(OUTPUT_SADF_ROWS())
    return samples


def _timestamp(text: str) -> float:
    """`2018-04-25 03:15:02 UTC`, the same without a zone (this machine's), or seconds since 1970."""
    if text.isdecimal():
        return float(text)
    when = datetime.fromisoformat(text.removesuffix(" UTC"))
    return (when.replace(tzinfo=UTC) if text.endswith(" UTC") else when).timestamp()


def _json(lines: Iterable[str], unread: Unread) -> Samples:
    """Every `statistics` of every host in `sadf -j`."""
    samples = _samples(absolute=True)
    activities = _Activities(samples)
    for document in documents(lines, "sysstat", "`sadf -j`", unread):
        for statistic in _statistics(document):
            try:
                at_s = _json_time(statistic["timestamp"])
                for kind, instance, values in _activities_of(statistic):
                    activities.take(at_s, kind, instance, values)
            except (KeyError, ValueError, TypeError, AttributeError, TooManyError) as error:
                unread.add(OUTPUT_INCOMPLETE(tool="sadf", reason=f"{type(error).__name__}: {error}"))
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


_KIB, _SECTOR = 1024, 512
#: Values that fit a column except for their unit.
_DIRECT = {
    "ldavg-1": ("load1", 1),
    "runq-sz": ("runnable", 1),
    "blocked": ("blocked", 1),
    "cswch/s": ("context_switches_per_s", 1),
    "majflt/s": ("major_faults_per_s", 1),
    "pswpin/s": ("swap_in_per_s", 1),
    "pswpout/s": ("swap_out_per_s", 1),
    "kbavail": ("memory_available_bytes", _KIB),
    "kbdirty": ("memory_dirty_bytes", _KIB),
    "kbswpused": ("swap_used_bytes", _KIB),
    "rtps": ("disk_reads_per_s", 1),
    "wtps": ("disk_writes_per_s", 1),
    "%scpu": ("pressure_cpu_some_percent", 1),
    "%sio": ("pressure_io_some_percent", 1),
    "%smem": ("pressure_memory_some_percent", 1),
}
_USER = ("%user", "%usr", "%nice", "%guest", "%gnice")
_SYSTEM = ("%system", "%sys", "%irq", "%soft")
#: Of all disks together; those of each disk, where they are there, are surer (`-d` names what it counts).
_ALL_DISKS = {"bread/s": "disk_read_bytes_per_s", "bwrtn/s": "disk_write_bytes_per_s"}
#: In older versions sectors, in JSON both.
_DISK_BYTES = {
    "disk_read_bytes_per_s": (("rkB/s", _KIB), ("rd_sec/s", _SECTOR)),
    "disk_write_bytes_per_s": (("wkB/s", _KIB), ("wr_sec/s", _SECTOR)),
}
_LINK_BYTES = {"rxkB/s": "net_rx_bytes_per_s", "txkB/s": "net_tx_bytes_per_s"}
#: A device by its numbers (`dev253-0`): whether it is a disk, or only a view of some, cannot be told.
_WITHOUT_NAME = "dev"


class _Activities:
    """Puts one row of one activity after the other where it belongs."""

    def __init__(self, samples: Samples) -> None:
        self._samples = samples
        self._all_disks: set[float] = set()

    def take(self, at_s: float, kind: str, instance: str, values: Mapping[str, float]) -> None:
        """A row: `kind` names what it is of (`CPU`, `DEV`, `IFACE`; empty: the whole machine).

        Raises TooManyError.
        """
        self._samples.touch(at_s)
        if kind == "CPU" and "%idle" in values:
            self._cpu(at_s, instance, values)
        elif kind == "DEV":
            self._disk(at_s, instance, values)
        elif kind == "IFACE":
            self._link(at_s, instance, values)
        else:
            self._total(at_s, f"{kind} {instance}".strip(), values)

    def _other(self, at_s: float, instance: str, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self._samples.add_other(at_s, instance, name, value)

    def _cpu(self, at_s: float, instance: str, values: Mapping[str, float]) -> None:
        put = self._samples.put
        user = sum(values.get(name, 0.0) for name in _USER)
        system = sum(values.get(name, 0.0) for name in _SYSTEM)
        if instance not in ("all", "-1"):
            put(at_s, "cpu_max_core_percent", user + system, "max")
            return self._other(at_s, f"CPU {instance}", values)
        put(at_s, "cpu_user_percent", user)
        put(at_s, "cpu_system_percent", system)
        put(at_s, "cpu_busy_percent", user + system)
        for name in ("iowait", "steal", "idle"):
            if f"%{name}" in values:
                put(at_s, f"cpu_{name}_percent", values[f"%{name}"])
        return None

    def _disk(self, at_s: float, instance: str, values: Mapping[str, float]) -> None:
        self._other(at_s, instance, values)
        if instance.startswith((*NOT_DISKS, _WITHOUT_NAME)):
            return
        if at_s in self._all_disks:
            self._all_disks.discard(at_s)
            for column in _ALL_DISKS.values():
                self._samples.put(at_s, column, float("nan"))
        for column, names in _DISK_BYTES.items():
            size = next((values[name] * factor for name, factor in names if name in values), None)
            if size is not None:
                self._samples.put(at_s, column, size, "sum")
        if "%util" in values:
            self._samples.put(at_s, "disk_util_max_percent", min(100.0, values["%util"]), "max")

    def _link(self, at_s: float, instance: str, values: Mapping[str, float]) -> None:
        self._other(at_s, instance, values)
        if not instance.startswith(NOT_LINKS):
            for name, column in _LINK_BYTES.items():
                if name in values:
                    self._samples.put(at_s, column, values[name] * _KIB, "sum")

    def _total(self, at_s: float, instance: str, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            if name in _DIRECT and not instance:
                column, factor = _DIRECT[name]
                self._samples.put(at_s, column, value * factor)
            elif name in _ALL_DISKS and not instance:
                if self._samples.get(at_s, _ALL_DISKS[name]) is None:
                    self._all_disks.add(at_s)
                    self._samples.put(at_s, _ALL_DISKS[name], value * _SECTOR)
            elif name == "retrans/s" and "atmptf/s" in values:
                self._samples.put(at_s, "tcp_retransmits_per_s", value)
            else:
                self._samples.add_other(at_s, instance, name, value)


READER = Reader(
    NAME, by_line(read), line_starts=(b"Linux ",), anywhere=(b"hostname;interval;timestamp;", b'"sysstat"')
)
