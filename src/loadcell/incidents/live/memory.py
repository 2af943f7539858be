"""Memory of this host, read twice."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

from loadcell.incidents.evidence.memory import Memory
from loadcell.incidents.live.base import SOURCE, Gatherer, Host
from loadcell.linux import procfs
from loadcell.linux.host_counters import HostCounters, difference, read_host
from loadcell.linux.procfs import ProcFiles


class MemoryGatherer(Gatherer):
    name = "memory"
    gathers = (Memory,)

    def gather(self, host: Host) -> Iterable[Memory]:
        files = ProcFiles(host.root)
        before, begin = read_host(files), time.monotonic()
        time.sleep(host.interval_s)
        now, elapsed_s = read_host(files), time.monotonic() - begin
        files.close()
        sizes = now.meminfo
        if "MemTotal" in sizes:
            yield Memory(
                SOURCE,
                sizes["MemTotal"],
                sizes.get("MemAvailable", 0),
                sizes.get("SwapTotal", 0),
                sizes.get("SwapTotal", 0) - sizes.get("SwapFree", 0),
                _rate(before, now, "pswpin", elapsed_s),
                _rate(before, now, "pswpout", elapsed_s),
                pressure(host, "memory", "full"),
                pressure(host, "memory", "some"),
                pressure(host, "io", "some"),
                pressure(host, "cpu", "some"),
            )


def _rate(before: HostCounters, now: HostCounters, name: str, elapsed_s: float) -> float:
    """Bytes per second of a counter of pages."""
    pages = difference(before.vmstat.get(name, 0), now.vmstat.get(name, 0))
    return pages * os.sysconf("SC_PAGE_SIZE") / elapsed_s


def pressure(host: Host, resource: str, kind: str) -> float | None:
    """Share of the last 10 s (`avg10`)."""
    for row in procfs.read_small(host.root / "proc/pressure" / resource).splitlines():
        words = row.split()
        if words and words[0] == kind and words[1].startswith("avg10="):
            return float(words[1].removeprefix("avg10=")) / 100
    return None


PART = MemoryGatherer
