"""Processors of this host and their busiest processes, read twice; runnable threads are read in between."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from statistics import median_low
from typing import Final

from loadcell.incidents.evidence.processors import LEAST_SHARE, Processors, ProcessorUse
from loadcell.incidents.live.base import SOURCE, Gatherer, Host
from loadcell.incidents.live.gathering import PROCESS
from loadcell.incidents.live.memory import pressure
from loadcell.linux import procfs
from loadcell.linux.host_counters import read_host
from loadcell.linux.process_counters import thread_ids
from loadcell.linux.procfs import ProcFiles

#: Readings of the number of runnable threads.
_READINGS: Final = 7
_MOST_NAMES: Final = 5


class ProcessorGatherer(Gatherer):
    name = "processors"
    gathers = (Processors,)

    def gather(self, host: Host) -> Iterable[Processors]:
        files = ProcFiles(host.root)
        used_before, examined_before = _used(host), _of_examination(host)
        before, begin = read_host(files), time.monotonic()
        runnable: list[int] = []
        for _ in range(_READINGS):
            time.sleep(host.interval_s / _READINGS)
            running = read_host(files).runnable or 1
            runnable.append(max(0, running - _runnable(host)))
        used, examined = _used(host), _of_examination(host)
        now, interval_s = read_host(files), time.monotonic() - begin
        files.close()
        if before.cpu is None or now.cpu is None or not (ticks := now.cpu.since(before.cpu)).total:
            return
        examiner_ticks = min(ticks.busy, _difference(examined_before, examined))
        others = max(1, ticks.total - examiner_ticks)
        yield Processors(
            SOURCE,
            interval_s,
            len(now.cores),
            (ticks.busy - examiner_ticks) / others,
            min(1.0, ticks.steal / others),
            median_low(runnable),
            pressure(host, "cpu", "some"),
            _busiest(used_before, used, others),
        )


def _examiners(host: Host) -> list[int]:
    """This process, the one that started it, its other gatherers, and all processes that these started."""
    caller = os.getppid()
    stats = (procfs.process_stat(host.root, pid) for pid in procfs.children(host.root, caller))
    gatherers = [stat.pid for stat in stats if stat is not None and stat.name.startswith(PROCESS)]
    return list(dict.fromkeys([os.getpid(), caller, *procfs.tree(host.root, gatherers)]))


def _of_examination(host: Host) -> Mapping[tuple[int, int], int]:
    """Ticks used by the examination, by process and start.

    Those of processes that a gatherer started and that ended are its own. The caller may have ended others.
    """
    caller = os.getppid()
    stats = (procfs.process_stat(host.root, pid) for pid in _examiners(host))
    return {
        (stat.pid, stat.start): stat.user + stat.system + (stat.children if stat.pid != caller else 0)
        for stat in stats
        if stat is not None
    }


def _difference(before: Mapping[tuple[int, int], int], now: Mapping[tuple[int, int], int]) -> int:
    """Ticks between two readings; a process that ended meanwhile is one of its parent."""
    ended = sum(ticks for process, ticks in before.items() if process not in now)
    return max(0, sum(ticks - before.get(process, 0) for process, ticks in now.items()) - ended)


def _runnable(host: Host) -> int:
    """Runnable threads of the examination; at least this one, which runs while it reads."""
    threads = ((pid, tid) for pid in _examiners(host) for tid in thread_ids(host.root, pid))
    stats = (procfs.thread_stat(host.root, pid, tid) for pid, tid in threads)
    return max(1, sum(stat is not None and stat.state == "R" for stat in stats))


def _used(host: Host) -> Mapping[tuple[int, int], tuple[str, int]]:
    """Name and used ticks of each process by its number and start, without this examination."""
    examiners = set(_examiners(host))
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
    shown = [use for use in uses if use.share >= LEAST_SHARE]
    return tuple(sorted(shown, key=lambda use: (-use.share, use.name))[:_MOST_NAMES])


PART = ProcessorGatherer
