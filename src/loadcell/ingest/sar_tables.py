"""Rows of sar's tables in the columns of loadcell's host monitor, and the averages that sar prints."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from loadcell.ingest.base import PrintedTotal, Samples
from loadcell.ingest.printed_numbers import real
from loadcell.linux.host_counters import disks_to_count, links_to_count
from loadcell.monitors.host import Host

NAME = "sar"

#: Columns that name what a row is of.
_OBJECTS = (
    "CPU", "DEV", "IFACE", "INTR", "TTY", "FILESYSTEM", "MOUNTPOINT", "FCHOST", "FAN", "TEMP", "IN", "BAT",
    "BUS",
)  # fmt: skip
#: Columns of text, which are no values.
_TEXTS = frozenset({"DEVICE", "idvendor", "idprod", "manufact", "product", "status"})
#: Columns of the tables that have none with `/s`, `%` or `kb` (sockets, kernel tables, clock frequency).
_PLAIN = frozenset({
    "totsck", "tcpsck", "udpsck", "rawsck", "tcp6sck", "udp6sck", "raw6sck", "dentunusd", "file-nr", "MHz",
    "wghMHz", "degC", "rpm", "inV",
})  # fmt: skip


def samples(*, absolute: bool) -> Samples:
    return Samples("host", "host.csv", NAME, Host.table.columns, absolute=absolute)


def is_head(words: Sequence[str]) -> bool:
    """A known one: it has a column that no other text has."""
    return any(
        word in _OBJECTS
        or word in _PLAIN
        or word.startswith(("%", "kb", "MB", "ldavg", "runq"))
        or word.endswith("/s")
        for word in words
    )


def row(names: tuple[str, ...], words: Sequence[str]) -> tuple[dict[str, float], str, str]:
    """Values by name, what they are of, and the column that says so. Raises ValueError."""
    kind = next((name for name in names if name in _OBJECTS), "")
    instance = words[names.index(kind)] if kind else ""
    values = {
        name: real(word.replace(",", "."))  # sar groups nothing: a comma is a decimal one
        for name, word in zip(names, words, strict=True)
        if name != kind and name not in _TEXTS and word != "-"
    }
    return values, instance, kind


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
#: A device by its numbers (`dev253-0`), which do not show whether it is a disk or a view of disks.
_WITHOUT_NAME = "dev"


class Activities:
    """Puts one row of one activity after the other where it belongs."""

    def __init__(self, samples: Samples) -> None:
        self._samples = samples
        self._all_disks: set[float] = set()
        #: Devices of the present instant: which of them count is known when all are there.
        self._devices: dict[str, list[tuple[str, Mapping[str, float]]]] = defaultdict(list)
        self._at_s: dict[str, float] = {}

    def take(self, at_s: float, kind: str, instance: str, values: Mapping[str, float]) -> None:
        """A row: `kind` names what it is of (`CPU`, `DEV`, `IFACE`; empty: the whole machine).

        Raises TooManyError.
        """
        self._samples.touch(at_s)
        if kind == "CPU" and "%idle" in values:
            self._cpu(at_s, instance, values)
        elif kind in ("DEV", "IFACE"):
            self._other(at_s, instance, values)
            if self._at_s.get(kind) != at_s:
                self._flush(kind)
            self._at_s[kind] = at_s
            self._devices[kind].append((instance, values))
        else:
            self._total(at_s, f"{kind} {instance}".strip(), values)

    def close(self) -> None:
        """Everything was read."""
        for kind in tuple(self._devices):
            self._flush(kind)

    def _flush(self, kind: str) -> None:
        """Put the devices of an instant that count into its row."""
        rows = self._devices.pop(kind, [])
        names = [name for name, _ in rows]
        counted = set(disks_to_count(names) if kind == "DEV" else links_to_count(names))
        for name, values in rows:
            if name in counted:
                (self._disk if kind == "DEV" else self._link)(self._at_s[kind], name, values)

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
        if instance.startswith(_WITHOUT_NAME):
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

    def _link(self, at_s: float, _: str, values: Mapping[str, float]) -> None:
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


class Averages:
    """Averages that sar prints of the columns of the whole machine, over all sections of the text.

    #: Of each column, sum of averages weighted by rows, number of these rows, and rounding.
    """

    def __init__(self) -> None:
        self._rows: Counter[tuple[tuple[str, ...], str]] = Counter()
        #: Of each column the sum of averages by their rows, the number of these rows, and the rounding.
        self._sums: dict[str, tuple[float, int, float]] = {}

    def count(self, names: tuple[str, ...], instance: str) -> None:
        """One more row of a table."""
        self._rows[names, instance] += 1

    def take(self, names: tuple[str, ...], words: list[str]) -> None:
        """A row of averages. Raises ValueError."""
        values, instance, kind = row(names, words)
        rows = self._rows.pop((names, instance), 0)
        if not rows or (kind and (kind, instance) != ("CPU", "all")):
            return
        half_digits = {name: _half_digit(word) for name, word in zip(names, words, strict=True)}
        roundings = _columns(kind, instance, {name: half_digits[name] for name in values})
        for column, value in _columns(kind, instance, values).items():
            before, count, _ = self._sums.get(column, (0.0, 0, 0.0))
            self._sums[column] = (before + rows * value, count + rows, roundings[column])

    def printed(self) -> tuple[PrintedTotal, ...]:
        """The mean of all sections; none of a table that was cut before its average."""
        cut = {column for names, _ in self._rows for column in _columns("", "", dict.fromkeys(names, 0.0))}
        if any("%idle" in names and instance == "all" for names, instance in self._rows):
            cut |= _columns("CPU", "all", {"%user": 0.0, "%iowait": 0.0, "%steal": 0.0, "%idle": 0.0}).keys()
        return tuple(
            PrintedTotal(f"Average ({column})", total / count, column, rounding)
            for column, (total, count, rounding) in self._sums.items()
            if column not in cut
        )


def _columns(kind: str, instance: str, values: Mapping[str, float]) -> Mapping[str, float]:
    """Columns of the host monitor that a row of the whole machine has."""
    scratch = samples(absolute=False)
    Activities(scratch).take(0.0, kind, instance, values)
    return next(iter(scratch.rows()))[1]


def _half_digit(word: str) -> float:
    """Half of the last printed digit."""
    return 0.5 * 10.0 ** -len(re.sub(r"^[^.,]*[.,]?", "", word))
