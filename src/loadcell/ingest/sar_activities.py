"""sar's values in the columns of the host monitor; all others in a separate table."""

from __future__ import annotations

from collections.abc import Mapping

from loadcell.ingest.samples import Samples
from loadcell.monitors.host import NOT_DISKS, NOT_LINKS

_KIB, _SECTOR = 1024, 512
#: Values that fit a column except for their unit.
_DIRECT = {
    "ldavg-1": ("load1", 1), "runq-sz": ("runnable", 1), "blocked": ("blocked", 1), "cswch/s": ("context_switches_per_s", 1),
    "majflt/s": ("major_faults_per_s", 1), "pswpin/s": ("swap_in_per_s", 1), "pswpout/s": ("swap_out_per_s", 1),
    "kbavail": ("memory_available_bytes", _KIB), "kbdirty": ("memory_dirty_bytes", _KIB),
    "kbswpused": ("swap_used_bytes", _KIB), "rtps": ("disk_reads_per_s", 1), "wtps": ("disk_writes_per_s", 1),
    "%scpu": ("pressure_cpu_some_percent", 1), "%sio": ("pressure_io_some_percent", 1),
    "%smem": ("pressure_memory_some_percent", 1),
}  # fmt: skip
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


class Activities:
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
            self._samples.beside(at_s, instance, name, value)

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
                self._samples.beside(at_s, instance, name, value)
