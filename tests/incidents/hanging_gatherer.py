"""A gatherer that yields a part of its evidence, and then hangs."""

from __future__ import annotations

import time
from collections.abc import Iterator

from loadcell.incidents.evidence.jvms import ClassHistograms
from loadcell.incidents.evidence.numa import NumaMemory
from loadcell.incidents.live.base import Gatherer, Host


class Hanging(Gatherer):
    name = "hanging"
    gathers = (NumaMemory, ClassHistograms)
    limit_s = 0.5

    def gather(self, host: Host) -> Iterator[NumaMemory]:
        yield NumaMemory("partial", 1)
        time.sleep(100)
