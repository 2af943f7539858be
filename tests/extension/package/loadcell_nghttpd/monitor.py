"""The monitor `nghttpd`: the state of each thread of the server, and its context switches, once a second
(source: /proc).
"""

from __future__ import annotations

from pathlib import Path

from loadcell.linux.procfs import process_stat, read_small
from loadcell.model.metrics import declare
from loadcell.model.tables import SampleTable
from loadcell.monitors.base import Monitor, MonitorContext, Row
from loadcell.plan.parts import Options

SWITCHES = declare(
    "nghttpd.switches_per_s",
    "rate",
    "context switches of nghttpd's threads, per second",
    "lower",
    per_group=False,
)


class ThreadMonitorOptions(Options):
    """The monitor has no settings."""


class ThreadMonitor(Monitor[ThreadMonitorOptions]):
    """One row per thread of the server, and one of their sum (`tid` 0).

    A thread has its state at the instant of the sample; context switches are per second since the previous
    sample.
    """

    name = "nghttpd"
    summary = "threads of nghttpd: state, context switches"
    Options = ThreadMonitorOptions
    by_default = False
    table = SampleTable("nghttpd-threads", ("tid", "state", "switches_per_s"), text=frozenset({"state"}))

    def __init__(self, options: ThreadMonitorOptions, context: MonitorContext) -> None:
        super().__init__(options, context)
        self._before: dict[int, int] = {}
        self._switches = 0
        self._elapsed_s = 0.0

    def sample(self, elapsed_s: float) -> list[Row]:
        """Rows of all threads that were there at the previous sample, too."""
        now = {tid: switches(path) for pid in self.context.roots() for tid, path in threads(pid)}
        before, self._before = self._before, now
        if elapsed_s <= 0:
            return []
        counts = {tid: count - before[tid] for tid, count in now.items() if tid in before}
        self._switches += sum(counts.values())
        self._elapsed_s += elapsed_s
        states = {tid: stat.state for tid in counts if (stat := process_stat(Path("/"), tid)) is not None}
        rows: list[Row] = [
            {"tid": tid, "state": states.get(tid), "switches_per_s": count / elapsed_s}
            for tid, count in counts.items()
        ]
        return [*rows, {"tid": 0, "state": None, "switches_per_s": sum(counts.values()) / elapsed_s}]

    def finish(self, elapsed_s: float) -> list[Row]:
        return self.sample(elapsed_s)

    def metrics(self) -> dict[str, float]:
        return {SWITCHES.key: self._switches / self._elapsed_s} if self._elapsed_s else {}


def threads(pid: int) -> list[tuple[int, Path]]:
    """Thread ids of a process, each with its folder in /proc; none of a process that has ended."""
    try:
        return [(int(path.name), path) for path in sorted(Path(f"/proc/{pid}/task").iterdir())]
    except OSError:
        return []


def switches(thread: Path) -> int:
    """Voluntary and involuntary context switches of a thread since it started; 0 of one that has ended."""
    lines = read_small(thread / "status").splitlines()
    return sum(int(line.split(":")[1]) for line in lines if "ctxt_switches:" in line)
