"""Contract of gatherers: what each looks at on a host, and for how long at most."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from loadcell.incidents.evidence.base import Evidence, Missing
from loadcell.linux import procfs
from loadcell.linux.java_traces import JavaTraces

#: Source of the evidence of this host.
SOURCE: Final = "host"


#: Messages so long before an earlier look are evidence of the next one, too: they are written late.
_OVERLAP_S: Final = 5.0


@dataclass(frozen=True)
class Look:
    """An earlier look at the host: its instant (CLOCK_MONOTONIC), and the processes killed by then."""

    instant: float
    oom_kills: int | None = None

    @property
    def age_s(self) -> float:
        """Time since it, with an overlap."""
        return time.monotonic() - self.instant + _OVERLAP_S


@dataclass(frozen=True)
class Host:
    """The examined host: `root` of its files, a JVM to ask (`pid`), and the time between two readings.

    After an `earlier` look only later messages of logs are evidence.
    """

    root: Path = procfs.ROOT
    pid: int | None = None
    interval_s: float = 0.6
    #: time-out of the clients of JVMs
    timeout_ns: int | None = None
    #: port of time servers
    time_port: int = 123
    earlier: Look | None = None
    #: JVMs that a watch has seen end
    ended: tuple[JavaTraces, ...] = ()

    def age_s(self, usual_s: float) -> float:
        """Largest age of a message that is evidence."""
        return usual_s if self.earlier is None else min(usual_s, self.earlier.age_s)


class Gatherer(ABC):
    """Gathers the evidence of one topic. It runs in a process that may be killed at any time.

    Types of evidence that it does not yield in time, or at all, are reported as missing.
    """

    name: ClassVar[str]
    gathers: ClassVar[tuple[type[Evidence], ...]]
    limit_s: ClassVar[float] = 3.0
    #: few hosts have it: none is not reported as missing
    is_optional: ClassVar[bool] = False

    @abstractmethod
    def gather(self, host: Host) -> Iterable[Evidence | Missing]:
        """Evidence as soon as it is complete. Raises UnavailableError with the reason for none."""
