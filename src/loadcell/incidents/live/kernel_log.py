"""Messages of the kernel of this host, and its counter of killed processes."""

from __future__ import annotations

import time
from collections.abc import Iterable

from loadcell.incidents.evidence.kernel_log import KernelLog
from loadcell.incidents.live.base import SOURCE, Gatherer, Host
from loadcell.linux import kernel_log
from loadcell.linux.host_counters import read_vmstat
from loadcell.linux.procfs import ProcFiles
from loadcell.linux.time_limits import UnavailableError


class KernelLogGatherer(Gatherer):
    name = "kernel-log"
    gathers = (KernelLog,)

    def gather(self, host: Host) -> Iterable[KernelLog]:
        files = ProcFiles(host.root)
        kills = read_vmstat(files).get("oom_kill")
        files.close()
        try:
            log = kernel_log.read(host.root)
        except UnavailableError as error:
            yield KernelLog(SOURCE, time.time_ns(), oom_kills=kills, unreadable=error.message)
            return
        yield KernelLog(SOURCE, time.time_ns(), log.lines, log.source, kills)


PART = KernelLogGatherer
