"""nmon's file (`nmon -f`, `-F`): sections of a table each, one snapshot after the other, sorted or not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime

from loadcell.ingest.base import NotItsOutputError, Reading, Samples, TooManyError, Unread
from loadcell.ingest.printed_numbers import integer, real
from loadcell.ingest.readers import Reader, by_line
from loadcell.linux.host_counters import disks_to_count, links_to_count
from loadcell.model.message import MessageCode
from loadcell.monitors.host import Host

OUTPUT_NMON = MessageCode("output.nmon")

OUTPUT_NMON_ALL_EMPTY = MessageCode("output.nmon.all-empty")

NAME = "nmon"

_SNAPSHOT = re.compile(r"T\d{4,}$")
_CORE = re.compile(r"CPU\d+$")
_DISKS = re.compile(r"(DISK(?:BUSY|READ|WRITE|XFER|BSIZE))\d*$")
_FACTS = ("AAA", "BBB")
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
#: `eth0-read-KB/s`
_WAY = re.compile(r"-(?:read|write)-")
_KIB, _MIB = 2**10, 2**20


def read(lines: Iterable[str]) -> Reading:
    """Each snapshot; what loadcell's own host monitor has a column for goes there, everything else beside it.

    Times are those of the machine that it ran on, and taken as this one's time zone.
    """
    samples = Samples("host", "host.csv", NAME, Host.table.columns, absolute=True)
    file = _File(samples)
    unread = Unread()
    for line in lines:
        try:
            understood = file.take(line.strip().split(","))
        except (ValueError, IndexError, OverflowError, TooManyError):
            understood = False
        if not understood:
            unread.add(line)
    if not file.times:
        raise NotItsOutputError(OUTPUT_NMON())
    samples.number(file.times.get)
    if not len(samples):
        raise NotItsOutputError(OUTPUT_NMON_ALL_EMPTY())
    return unread.reading((), samples)


class _File:
    def __init__(self, samples: Samples) -> None:
        self.samples = samples
        self.times: dict[float, float] = {}
        self.heads: dict[str, Sequence[str]] = {}

    def take(self, fields: list[str]) -> bool:
        """True if the line was understood."""
        section = fields[0]
        if section == "" or section.startswith(_FACTS):
            return True
        if section == "ZZZZ":
            self.times[real(fields[1][1:])] = _time(fields[2], fields[3])
            return True
        if section == "TOP":
            return self._process(fields)
        if not _SNAPSHOT.match(fields[1]):
            self.heads[section] = [name.strip() for name in fields[2:]]
            return len(fields) > 2
        head = self.heads.get(section)
        if head is None:
            return False
        at = real(fields[1][1:])
        values = {
            name: value
            for name, text in zip(head, fields[2:], strict=False)
            # -1 and -0 stand for what this kernel does not tell
            if text.strip() and not text.strip().startswith("-") and (value := real(text)) >= 0
        }
        self.samples.touch(at)
        self._put(section, at, values)
        return True

    def _put(self, section: str, at: float, values: dict[str, float]) -> None:
        disks = _DISKS.match(section)
        if section == "CPU_ALL":
            _cpu(self.samples, at, values)
        elif _CORE.match(section):
            _core(self.samples, at, values)
            self._add_other(at, section, values)
        elif disks is not None:
            self._disks(disks[1], at, values)
        elif section == "NET":
            self._network(at, values)
        else:
            if section == "PROC":
                for name, column in (
                    ("Runnable", "runnable"),
                    ("Blocked", "blocked"),
                    ("pswitch", "context_switches_per_s"),
                ):
                    if name in values:
                        self.samples.put(at, column, values[name])
            elif section == "MEM" and "swaptotal" in values and "swapfree" in values:
                used = (values["swaptotal"] - values["swapfree"]) * _MIB
                self.samples.put(at, "swap_used_bytes", used)
            self._add_other(at, section, values)

    def _add_other(self, at: float, kind: str, values: dict[str, float]) -> None:
        for name, value in values.items():
            self.samples.add_other(at, kind, name, value)

    def _disks(self, section: str, at: float, values: dict[str, float]) -> None:
        column = {"DISKREAD": "disk_read_bytes_per_s", "DISKWRITE": "disk_write_bytes_per_s"}.get(section)
        counted = set(disks_to_count(values))
        for name, value in values.items():
            self.samples.add_other(at, name, section, value)
            if name not in counted:
                continue
            if column is not None:
                self.samples.put(at, column, value * _KIB, "sum")
            elif section == "DISKBUSY":
                self.samples.put(at, "disk_util_max_percent", min(100.0, value), "max")

    def _network(self, at: float, values: dict[str, float]) -> None:
        names = [_WAY.split(name)[0] for name in values]
        physical = set(links_to_count(names))
        for name, value in values.items():
            link, _, way = name.rpartition("-read-") if "-read-" in name else name.rpartition("-write-")
            self.samples.add_other(at, link or name, "NET", value)
            if way == "KB/s" and link in physical:
                column = "net_rx_bytes_per_s" if "-read-" in name else "net_tx_bytes_per_s"
                self.samples.put(at, column, value * _KIB, "sum")

    def _process(self, fields: list[str]) -> bool:
        """`TOP,pid,T0001,%CPU,...,Command`; its two heads name the columns."""
        if len(fields) > 2 and fields[1].lstrip("+") == "PID":
            self.heads["TOP"] = fields
            return True
        if len(fields) < 4 or not _SNAPSHOT.match(fields[2]):
            return True  # the title of the table
        head = self.heads.get("TOP")
        if head is None:
            return False
        named = dict(zip(head, fields, strict=False))
        who = f"{named.get('Command', '')} {integer(fields[1])}".strip()
        for name in ("%CPU", "ResSet"):
            if name in named:
                self.samples.add_other(real(fields[2][1:]), who, name, real(named[name]))
        return True


def _cpu(samples: Samples, at: float, values: dict[str, float]) -> None:
    names = {
        "User%": "cpu_user_percent", "Sys%": "cpu_system_percent", "Wait%": "cpu_iowait_percent",
        "Steal%": "cpu_steal_percent", "Idle%": "cpu_idle_percent",
    }  # fmt: skip
    for name, column in names.items():
        if name in values:
            samples.put(at, column, values[name])
    if "User%" in values and "Sys%" in values:
        samples.put(at, "cpu_busy_percent", values["User%"] + values["Sys%"])


def _core(samples: Samples, at: float, values: dict[str, float]) -> None:
    if "User%" in values and "Sys%" in values:
        samples.put(at, "cpu_max_core_percent", values["User%"] + values["Sys%"], "max")


def _time(clock: str, day: str) -> float:
    """`10:51:41`, `20-APR-2026`: the month is English whatever the locale."""
    hour, minute, second = map(integer, clock.split(":"))
    number, month, year = day.split("-")
    date = datetime(integer(year), _MONTHS.index(month.upper()) + 1, integer(number), hour, minute, second)
    return date.timestamp()


READER = Reader(NAME, by_line(read), line_starts=(b"ZZZZ,T",))
