"""Samples of BenchmarkSQL's collector on the database's machine: sys_info.csv, and a file for each disk and
network interface.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from loadcell.ingest.base import Unread
from loadcell.ingest.samples import Samples, TooManyError
from loadcell.monitors.host import NOT_DISKS, NOT_LINKS, Host

NAME = "benchmarksql"
#: Shares of all processors' time, of 1. The time of guests is within that of users, and counted once more in
#: what they are shares of.
_SHARES = (
    "cpu_user",
    "cpu_nice",
    "cpu_system",
    "cpu_idle",
    "cpu_iowait",
    "cpu_irq",
    "cpu_softirq",
    "cpu_steal",
)
_GUESTS = ("cpu_guest", "cpu_guest_nice")
_TOTAL = ("vm_nr_dirty",)
_KIB = 1024
#: Of each disk, but for those that are a view of others: added up to those of the machine.
_DISK = {
    "rdkbps": ("disk_read_bytes_per_s", _KIB), "wrkbps": ("disk_write_bytes_per_s", _KIB), "rdiops": ("disk_reads_per_s", 1),
    "wriops": ("disk_writes_per_s", 1),
}  # fmt: skip
_LINK = {"rxkbps": ("net_rx_bytes_per_s", _KIB), "txkbps": ("net_tx_bytes_per_s", _KIB)}
_OTHER_COLUMNS = ("rdmerges", "wrmerges", "rxpktsps", "txpktsps")
_COLUMNS = {*_SHARES, *_GUESTS, *_TOTAL, *_DISK, *_LINK, *_OTHER_COLUMNS}
_DEVICES = {"blk_": (_DISK, NOT_DISKS), "net_": (_LINK, NOT_LINKS)}


class Collected:
    """Rows of all its files.

    `began_s`: when elapsed time began, in seconds since 1970, where that is known.
    """

    def __init__(self, began_s: float | None) -> None:
        self.samples = Samples("host", "host.csv", NAME, Host.table.columns, absolute=began_s is not None)
        self.samples.origin_s = began_s or 0.0
        self.unread = Unread()

    def take(self, file: str, lines: Iterable[str]) -> None:
        """One file. Its head says what is in it; columns of an unknown name are unread, each once, and so is
        a row that is cut.
        """
        head: Sequence[str] = ()
        for line in lines:
            fields = line.strip().split(",")
            if fields[:2] == ["run", "elapsed"]:
                head = fields
                for name in head[2:]:
                    if name not in _COLUMNS and name != "device":
                        self.unread.add(f"{file}: column {name}")
                continue
            try:
                if len(fields) != len(head):
                    raise ValueError(line)
                self._row(dict(zip(head, fields, strict=True)))
            except (ValueError, TooManyError):
                self.unread.add(f"{file}: {line}" if line.strip() else "")

    def _row(self, row: Mapping[str, str]) -> None:
        elapsed_s = int(row["elapsed"]) / 1e3
        values = {name: _value(name, text) for name, text in row.items() if name in _COLUMNS}
        at_s = self.samples.origin_s + elapsed_s
        device = row.get("device", "")
        if not device:
            self._machine(at_s, values)
            return
        kind, name = device[:4], device[4:]
        if kind not in _DEVICES:
            raise ValueError(device)
        columns, not_counted = _DEVICES[kind]
        self.samples.touch(at_s)
        for value_name, value in values.items():
            self.samples.beside(at_s, name, value_name, value)
            if value_name in columns and not name.startswith(not_counted):
                column, factor = columns[value_name]
                self.samples.put(at_s, column, value * factor, "sum")

    def _machine(self, at_s: float, values: Mapping[str, float]) -> None:
        self.samples.touch(at_s)
        for name in (*_TOTAL, *_GUESTS):
            if name in values:
                self.samples.beside(at_s, "", name, values[name])
        shares = {name: max(0.0, values[name]) for name in _SHARES if name in values}
        total = sum(shares.values())
        if len(shares) < len(_SHARES) or not total:
            return
        user, nice, system, idle, iowait, irq, softirq, steal = (
            100 * shares[name] / total for name in _SHARES
        )
        for column, value in (
            ("user", user + nice), ("system", system + irq + softirq), ("iowait", iowait), ("steal", steal), ("idle", idle),
            ("busy", user + nice + system + irq + softirq),
        ):  # fmt: skip
            self.samples.put(at_s, f"cpu_{column}_percent", value)


def _value(name: str, text: str) -> float:
    """Raises ValueError. What a processor waited for disks may become less (proc(5)); nothing else may."""
    value = float(text)
    if not math.isfinite(value) or (value < 0 and name not in _SHARES):
        raise ValueError(text)
    return value
