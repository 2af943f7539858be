"""Contract of gatherers: what each looks at on a host, and for how long at most."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from loadcell.incidents.evidence.base import Evidence, Missing
from loadcell.linux import procfs

#: Source of the evidence of this host.
SOURCE: Final = "host"


@dataclass(frozen=True)
class Host:
    """The examined host: `root` of its files, a JVM to ask (`pid`), and the time between two readings."""

    root: Path = procfs.ROOT
    pid: int | None = None
    interval_s: float = 0.6
    #: time-out of the clients of JVMs
    timeout_ns: int | None = None
    #: port of time servers
    time_port: int = 123


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
