"""JVMs of this user: counters, read twice."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from loadcell.incidents.evidence.base import Missing
from loadcell.incidents.evidence.jvms import JvmCounters
from loadcell.incidents.live.base import Gatherer, Host
from loadcell.linux import mount_table, procfs
from loadcell.linux.hsperfdata import PerfDataFile, UnknownFormatError
from loadcell.linux.java_processes import JavaProcess, Lack, find
from loadcell.model.message import Message, MessageCode

NO_JVM = MessageCode("doctor.live.no-jvm", "info")
NOT_JVM = MessageCode("doctor.live.not-jvm", "info", pid=str)
ENDED = MessageCode("doctor.live.jvm-ended", "info", pid=str)
HIDDEN = MessageCode("doctor.live.jvm-hidden", "info")
NO_COUNTERS = MessageCode("doctor.live.jvm-without-counters", "info", pid=str, lack=Message)
LACKS = {lack: MessageCode(f"doctor.live.jvm-lack.{lack.value}", "info") for lack in Lack}

_TIMES: Final = tuple(f"sun.gc.collector.{number}.time" for number in range(3))
_ENTRIES: Final = tuple(f"sun.gc.collector.{number}.lastEntryTime" for number in range(3))
_EXITS: Final = tuple(f"sun.gc.collector.{number}.lastExitTime" for number in range(3))
_NUMBERS: Final = (
    *_TIMES,
    *_ENTRIES,
    *_EXITS,
    "sun.os.hrt.ticks",
    "sun.os.hrt.frequency",
    "sun.gc.collector.1.invocations",
    "sun.gc.generation.1.space.0.used",
    "sun.gc.generation.1.maxCapacity",
)
_TEXTS: Final = ("sun.rt.javaCommand", "sun.gc.collector.1.name")
#: Collectors whose pauses of concurrent cycles count as full collections (CollectorCounters of OpenJDK).
_CONCURRENT: Final = ("CMS", "Shenandoah")
#: JVMs of a host that are examined.
_MOST: Final = 50
_MOST_CHARACTERS: Final = 60


@dataclass(frozen=True)
class _Reading:
    """Counters at an instant: time in collections, full collections, the old generation.

    The JVM counts a collection at its end; `ongoing_s` is the time since the begin of one without an end.
    """

    instant: float
    collecting_s: float
    ongoing_s: float
    full: int | None
    old_used_bytes: int
    old_limit_bytes: int | None
    name: str


class JvmGatherer(Gatherer):
    name = "jvms"
    gathers = (JvmCounters,)
    limit_s = 4.0

    def gather(self, host: Host) -> Iterable[JvmCounters | Missing]:
        processes = jvms(host)
        if mount_table.hides_processes(host.root):
            yield Missing(JvmCounters, HIDDEN())
        elif not processes:
            yield Missing(JvmCounters, _reason(host))
            return
        before = {process.pid: read(process) for process in processes if process.lack is None}
        time.sleep(host.interval_s)
        for process in processes:
            yield counters(process, before.get(process.pid), host)


def _reason(host: Host) -> Message:
    """Why there is no JVM: a named one was there at the call."""
    if host.pid is None:
        return NO_JVM()
    stat = procfs.process_stat(host.root, host.pid)
    code = ENDED if stat is None or stat.has_ended else NOT_JVM
    return code(pid=str(host.pid))


def jvms(host: Host) -> list[JavaProcess]:
    """The JVMs of this user, or the named one."""
    return find(_pids(host), host.root)[:_MOST]


def _pids(host: Host) -> Iterator[int]:
    """Processes of this user, of root all; without those that hang on a page of a dead mount: reading their
    mappings would hang, too.
    """
    user = os.getuid()
    for pid in [host.pid] if host.pid is not None else procfs.process_ids(host.root):
        try:
            owner = os.stat(f"{host.root}/proc/{pid}").st_uid  # noqa: PTH116 - of /proc
        except OSError:
            continue
        stat = procfs.process_stat(host.root, pid)
        if user in (0, owner) and stat is not None and stat.state != "D":
            yield pid


def read(process: JavaProcess) -> _Reading | None:
    """Counters of a JVM; None if it has ended, or has none yet."""
    try:
        file = PerfDataFile(process.path, process.owners, _NUMBERS, _TEXTS)
    except OSError:
        return None
    try:
        return _reading(file, file.read())
    except (OSError, UnknownFormatError):
        return None
    finally:
        file.close()


def _reading(file: PerfDataFile, values: tuple[Any, ...] | None) -> _Reading | None:
    if values is None:
        return None
    times, entries, exits = values[:3], values[3:6], values[6:9]
    now, frequency, full, used, limit, command, collector = values[9:]
    if not frequency:
        return None
    ticks = sum(value or 0 for value in times)
    begins = [begin for begin, end in zip(entries, exits, strict=True) if begin and begin > (end or 0)]
    ongoing = max(0, (now or 0) - min(begins)) if begins else 0
    name = (file.text(command).split() or [""])[0]
    number = None if file.text(collector).startswith(_CONCURRENT) else full or 0
    return _Reading(
        time.monotonic(), ticks / frequency, ongoing / frequency, number, used or 0, limit or None, name
    )


def name_of(pid: int, host: Host) -> str:
    """The main class of a JVM with its process."""
    readings = [read(process) for process in find([pid], host.root)]
    return _named("" if not readings or readings[0] is None else readings[0].name, pid)


def _named(name: str, pid: int) -> str:
    return f"{name.rpartition('/')[2][:_MOST_CHARACTERS] or 'java'} ({pid})"


def counters(process: JavaProcess, before: _Reading | None, host: Host) -> JvmCounters | Missing:
    """Evidence of a JVM from two readings, the second of this moment."""
    if process.lack is not None:
        lack = LACKS[process.lack]()
        return Missing(JvmCounters, NO_COUNTERS(pid=str(process.pid), lack=lack))
    now, started = read(process), procfs.started(process.pid, host.root)
    if before is None or now is None or started is None:
        return Missing(JvmCounters, ENDED(pid=str(process.pid)))
    running_s = time.clock_gettime(time.CLOCK_BOOTTIME) - started / os.sysconf("SC_CLK_TCK")
    return JvmCounters(
        _named(now.name, process.pid),
        process.pid,
        running_s,
        now.instant - before.instant,
        now.collecting_s,
        max(0.0, now.collecting_s - before.collecting_s) + min(now.ongoing_s, now.instant - before.instant),
        now.full,
        None if now.full is None or before.full is None else max(0, now.full - before.full),
        now.old_used_bytes,
        now.old_limit_bytes,
    )


PART = JvmGatherer
