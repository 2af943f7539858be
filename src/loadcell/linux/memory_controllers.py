"""Counters of memory controllers (uncore PMUs): bytes read from and written to memory by the whole machine.

They count while they are open, by perf_event_open(2) on one CPU of each controller. That needs root,
CAP_PERFMON, or kernel.perf_event_paranoid of 0 at most. Virtual machines seldom have them.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from loadcell.linux.procfs import line, numbers, read_number

_DEVICES: Final = "sys/bus/event_source/devices"
_LINE_BYTES: Final = 64
_MIB: Final = 1 << 20
#: perf_event_open by machine (syscall_64.tbl of x86, asm-generic/unistd.h).
_SYSTEM_CALLS: Final = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "loongarch64": 241}
_CLOSE_ON_EXEC: Final = 8
#: PERF_FORMAT_TOTAL_TIME_ENABLED and PERF_FORMAT_TOTAL_TIME_RUNNING: a counter may share its place.
_READ_TIMES: Final = 1 | 2
#: The first version of struct perf_event_attr: type, size, config, three times 0, flags, wakeup and
#: breakpoint, config1.
_ATTRIBUTES: Final = struct.Struct("=IIQQQQQIIQ")


@dataclass(frozen=True)
class _Kind:
    """Controllers by the name of their device, and their events by name.

    `count_bytes` is the size of one count where the kernel has no scale in MiB. `terms` are encodings of
    events that the kernel does not name.
    """

    device: re.Pattern[str]
    events: re.Pattern[str]
    count_bytes: int | None = None
    terms: tuple[str, ...] = ()


#: The kinds in order; the first one that a machine has is used, so that no byte is counted twice.
_KINDS: Final = (
    # Intel: servers count column accesses of 64 bytes, desktops requests (arch/x86/events/intel/uncore_*.c)
    _Kind(
        re.compile(r"uncore_imc(_\d+)?"), re.compile(r"cas_count_(read|write)(_sch\d)?|data_(reads|writes)")
    ),
    _Kind(re.compile(r"uncore_imc_free_running(_\d+)?"), re.compile(r"data_(read|write)|read|write")),
    # AMD, Zen 4 and later: umc_cas_cmd.all (tools/perf/pmu-events, amdzen4/memory-controller.json)
    _Kind(re.compile(r"amd_umc_\d+"), re.compile(r"$"), _LINE_BYTES, ("event=0x0a",)),
    # HiSilicon Kunpeng: flux of the DDR controller in units of 32 bytes (Kunpeng DevKit)
    _Kind(re.compile(r"hisi_sccl\d+_ddrc\d+(_\d+)?"), re.compile(r"flux_(rd|wr)"), 32),
)  # fmt: skip


@dataclass(frozen=True)
class _Event:
    """One event of a controller on one CPU, with the size of a count."""

    name: str
    kind: int
    configs: tuple[int, int]
    cpu: int
    count_bytes: float


class ControllerCounters:
    """Open counters of all controllers; close them."""

    def __init__(self) -> None:
        self._opened: dict[str, tuple[int, float]] = {}

    def read(self) -> dict[str, int | None]:
        """Bytes since the opening, by counter; None of one that never had a place."""
        return {name: _bytes(descriptor, size) for name, (descriptor, size) in self._opened.items()}

    def close(self) -> None:
        """Close all."""
        for descriptor, _ in self._opened.values():
            os.close(descriptor)
        self._opened.clear()

    def __del__(self) -> None:
        self.close()


def open_counters(root: Path) -> ControllerCounters | None:
    """Counters of all memory controllers; None without any, or without the right to open one of them."""
    counters = ControllerCounters()
    for event in _events(root):
        descriptor = _open(event)
        if descriptor is None:  # a part of the traffic would look like all of it
            counters.close()
            return None
        counters._opened[event.name] = descriptor, event.count_bytes
    return counters if counters._opened else None


def _events(root: Path) -> list[_Event]:
    try:
        names = sorted(path.name for path in (root / _DEVICES).iterdir())
    except OSError:
        return []
    for kind in _KINDS:
        devices = [root / _DEVICES / name for name in names if kind.device.fullmatch(name)]
        events = [event for device in devices for event in _events_of(device, kind)]
        if events:
            return events
    return []


def _events_of(device: Path, kind: _Kind) -> Iterator[_Event]:
    """Events of one controller on the CPUs that count for it."""
    number, cpus = read_number(device / "type"), numbers(line(device / "cpumask"))
    if number is None:
        return
    named = {} if kind.terms else _named_events(device, kind)
    for terms in kind.terms:
        named[terms] = terms, float(kind.count_bytes or 0)
    for name, (terms, count_bytes) in sorted(named.items()):
        if (configs := _configs(device, terms)) is not None:
            for cpu in cpus or [0]:
                yield _Event(f"{device.name}/{name}@{cpu}", number, configs, cpu, count_bytes)


def _named_events(device: Path, kind: _Kind) -> dict[str, tuple[str, float]]:
    """Encoding and size of a count of the events that the kernel names."""
    events = {}
    for path in (device / "events").glob("*"):
        if kind.events.fullmatch(path.name) and (terms := line(path)):
            size = float(kind.count_bytes or 0)
            if line(path.with_name(f"{path.name}.unit")) == "MiB":
                with contextlib.suppress(ValueError):
                    size = float(line(path.with_name(f"{path.name}.scale")) or "") * _MIB
            if size > 0:
                events[path.name] = terms, size
    return events


def _configs(device: Path, terms: str) -> tuple[int, int] | None:
    """`config` and `config1` of terms such as `event=0x04,umask=0x03`; None of unknown ones."""
    configs = {"config": 0, "config1": 0}
    for term in terms.split(","):
        name, _, text = term.partition("=")
        try:
            value = int(text or "1", 0)
        except ValueError:
            return None
        where, _, bits = (line(device / "format" / name) or f"{name}:0-63").partition(":")
        if where not in configs:
            return None
        for bit in numbers(bits):
            configs[where] |= (value & 1) << bit
            value >>= 1
    return configs["config"], configs["config1"]


def _open(event: _Event) -> int | None:
    """A descriptor of the running counter; None where the kernel refuses it."""
    call = _SYSTEM_CALLS.get(platform.machine())
    if call is None:
        return None
    config, config1 = event.configs
    attributes = _ATTRIBUTES.pack(event.kind, _ATTRIBUTES.size, config, 0, 0, _READ_TIMES, 0, 0, 0, config1)
    library = ctypes.CDLL(None, use_errno=True)
    descriptor = library.syscall(
        ctypes.c_long(call), attributes, ctypes.c_int(-1), ctypes.c_int(event.cpu), ctypes.c_int(-1),
        ctypes.c_ulong(_CLOSE_ON_EXEC),
    )  # fmt: skip
    return descriptor if descriptor >= 0 else None


def _bytes(descriptor: int, count_bytes: float) -> int | None:
    """Bytes so far, scaled to the whole time where other counters took the place."""
    try:
        count, enabled_ns, running_ns = struct.unpack("=QQQ", os.read(descriptor, 24))
    except (OSError, struct.error):
        return None
    return round(count * count_bytes * enabled_ns / running_ns) if running_ns else None
