"""Gatherers: one that yields a part of its evidence and then hangs, and one with a large answer."""

from __future__ import annotations

import time
from collections.abc import Iterator

from loadcell.incidents.evidence.jvms import ClassHistograms
from loadcell.incidents.evidence.kernel_log import KernelLog
from loadcell.incidents.evidence.numa import NumaMemory
from loadcell.incidents.live.base import Gatherer, Host
from loadcell.linux.kernel_log import KernelLine

#: Messages whose answer is larger than a new pipe.
LARGE = 5000


class Hanging(Gatherer):
    name = "hanging"
    gathers = (NumaMemory, ClassHistograms)
    limit_s = 0.5

    def gather(self, host: Host) -> Iterator[NumaMemory]:
        yield NumaMemory("partial", 1)
        time.sleep(100)


class Large(Gatherer):
    name = "large"
    gathers = (KernelLog,)
    limit_s = 0.5

    def gather(self, host: Host) -> Iterator[KernelLog]:
        yield KernelLog("host", 0, tuple(KernelLine(number, f"message {number}") for number in range(LARGE)))
