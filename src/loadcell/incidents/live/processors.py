"""Processors of this host and their busiest processes, read twice; runnable threads are read in between."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from statistics import median_low
from typing import Final

from loadcell.incidents.evidence.processors import Processors, ProcessorUse
from loadcell.incidents.live.base import SOURCE, Gatherer, Host
from loadcell.incidents.live.gathering import PROCESS
from loadcell.incidents.live.memory import pressure
from loadcell.linux import procfs
from loadcell.linux.host_counters import read_host
from loadcell.linux.procfs import ProcFiles

#: Readings of the number of runnable threads.
_READINGS: Final = 7
_MOST_NAMES: Final = 5
#: Less of all processors is no name worth showing.
_LEAST_SHARE: Final = 0.01


class ProcessorGatherer(Gatherer):
    name = "processors"
    gathers = (Processors,)

    def gather(self, host: Host) -> Iterable[Processors]:
        files = ProcFiles(host.root)
        used_before, before, begin = _used(host), read_host(files), time.monotonic()
        runnable: list[int] = []
        for _ in range(_READINGS):
            time.sleep(host.interval_s / _READINGS)
            # this process runs while it reads
            runnable.append(max(0, (read_host(files).runnable or 1) - 1))
        now, interval_s = read_host(files), time.monotonic() - begin
        used = _used(host)
        files.close()
        if before.cpu is None or now.cpu is None or not (ticks := now.cpu.since(before.cpu)).total:
            return
        yield Processors(
            SOURCE,
            interval_s,
            len(now.cores),
            ticks.busy / ticks.total,
            ticks.steal / ticks.total,
            median_low(runnable),
            pressure(host, "cpu", "some"),
            _busiest(used_before, used, ticks.total),
        )


def _used(host: Host) -> Mapping[tuple[int, int], tuple[str, int]]:
    """Name and used ticks of each process by its number and start, without this examination."""
    examiners = {os.getpid(), os.getppid()}
    return {
        (stat.pid, stat.start): (stat.name, stat.user + stat.system)
        for stat in procfs.all_stats(host.root)
        if stat.pid not in examiners and not (stat.parent in examiners and stat.name.startswith(PROCESS))
    }


def _busiest(
    before: Mapping[tuple[int, int], tuple[str, int]],
    now: Mapping[tuple[int, int], tuple[str, int]],
    total: int,
) -> tuple[ProcessorUse, ...]:
    """Names with the largest use; a process that began in between used all of its time in it."""
    by_name: dict[str, list[int]] = {}
    for process, (name, used) in now.items():
        ticks = used - before.get(process, (name, 0))[1]
        if ticks > 0:
            by_name.setdefault(name, []).append(ticks)
    uses = [ProcessorUse(name, len(ticks), min(1.0, sum(ticks) / total)) for name, ticks in by_name.items()]
    shown = [use for use in uses if use.share >= _LEAST_SHARE]
    return tuple(sorted(shown, key=lambda use: (-use.share, use.name))[:_MOST_NAMES])


PART = ProcessorGatherer
