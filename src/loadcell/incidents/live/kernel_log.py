"""Messages of the kernel of this host, and its counter of killed processes."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

from loadcell.incidents.evidence.kernel_log import KernelLog
from loadcell.incidents.live.base import SOURCE, Gatherer, Host
from loadcell.linux import block_devices, kernel_log
from loadcell.linux.host_counters import read_vmstat
from loadcell.linux.procfs import ProcFiles
from loadcell.linux.time_limits import UnavailableError


class KernelLogGatherer(Gatherer):
    name = "kernel-log"
    gathers = (KernelLog,)
    #: as long as the longest: a busy host delays its process, but reading never waits
    limit_s = 6.0

    def gather(self, host: Host) -> Iterable[KernelLog]:
        kills, earlier = oom_kills(host.root), host.earlier
        since_s = None if earlier is None else earlier.age_s
        if kills is not None and earlier is not None:
            kills -= earlier.oom_kills or 0
        try:
            log = kernel_log.read(host.root, host.age_s(kernel_log.AGE_S))
        except UnavailableError as error:
            yield KernelLog(
                SOURCE, time.time_ns(), oom_kills=kills, unreadable=error.message, since_s=since_s
            )  # fmt: skip
            return
        devices = block_devices.read(host.root)
        yield KernelLog(
            SOURCE, time.time_ns(), log.lines, log.source, kills, since_s=since_s, devices=devices
        )


def oom_kills(root: Path) -> int | None:
    """Processes that the kernel killed for want of memory since its start."""
    files = ProcFiles(root)
    try:
        return read_vmstat(files).get("oom_kill")
    finally:
        files.close()


PART = KernelLogGatherer
