"""Incidents of processors and of control groups, which this script makes and removes again: limits of
processors and memory.

Standard library only; all but `busy-processors` need root and control groups, of version 1 or 2 with these
controllers.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from rehearsal import Examination, Rehearsal, Steps, ended

_HOME: Final = Path("/sys/fs/cgroup")
_PERIOD_US: Final = 100_000
#: Processes in sessions of theirs end by themselves, whatever happens to this script.
_LONGEST_S: Final = 60


class Group:
    """A control group with limits."""

    def __init__(self, path: Path, is_unified: bool) -> None:
        self.path = path
        self._is_unified = is_unified

    def limit_cores(self, cores: float | None) -> None:
        """Set the limit of processors, None for no limit."""
        quota = None if cores is None else round(cores * _PERIOD_US)
        if self._is_unified:
            (self.path / "cpu.max").write_text(f"{'max' if quota is None else quota} {_PERIOD_US}")
        else:
            (self.path / "cpu.cfs_quota_us").write_text(str(-1 if quota is None else quota))

    def limit_memory(self, size_bytes: int) -> None:
        """Set the limit of memory, without swap where that can be limited."""
        (self.path / ("memory.max" if self._is_unified else "memory.limit_in_bytes")).write_text(
            str(size_bytes)
        )
        swap, limit = (
            ("memory.swap.max", 0) if self._is_unified else ("memory.memsw.limit_in_bytes", size_bytes)
        )
        if (self.path / swap).exists():
            (self.path / swap).write_text(str(limit))

    def run(self, code: str, name: str = "rehearsal") -> subprocess.Popen[bytes]:
        """A Python program in the group, whose process has this name."""
        prelude = f"open('/proc/self/comm', 'w').write({name!r})\n"
        prelude += f"open({str(self.path / 'cgroup.procs')!r}, 'w').write('0')\n"
        return subprocess.Popen([sys.executable, "-S", "-c", prelude + code])


@contextmanager
def group(controller: str) -> Iterator[Group]:
    """A new control group with a controller. Raises OSError."""
    path, is_unified = _HOME / controller, False
    if not (path / "cgroup.procs").exists():
        path, is_unified = _HOME, True
        if controller not in (path / "cgroup.subtree_control").read_text().split():
            raise OSError(f"the controller {controller} is not enabled below {_HOME}")
    path = path / f"incident-{os.getpid()}"
    path.mkdir()
    try:
        yield Group(path, is_unified)
    finally:
        for _ in range(100):
            try:
                path.rmdir()
            except OSError:
                time.sleep(0.05)  # the last process is about to go
            else:
                break


def throttled_container(chance: random.Random, _: Path) -> Steps:
    cores = chance.randint(5, 20) / 100
    with group("cpu") as limited:
        limited.limit_cores(cores)
        process = limited.run("while True: pass")
        try:
            time.sleep(0.5)
            yield Examination(("--live",), f"{cores} cores", limited.path.name)
            limited.limit_cores(None)
            yield Examination(("--live",), f"{cores} cores", limited.path.name)
        finally:
            ended(process)


def busy_processors(chance: random.Random, _: Path) -> Steps:
    """More busy processes than processors, with a name that only they have; the remedy ends them."""
    count, name = chance.randint(3, 5) * (os.cpu_count() or 1), f"busy-{os.getpid()}"
    code = f"""import time
open("/proc/self/comm", "w").write({name!r})
end = time.monotonic() + {_LONGEST_S}
while time.monotonic() < end: pass
"""
    # the kernel shares processors by session
    processes = [
        subprocess.Popen([sys.executable, "-S", "-c", code], start_new_session=True)
        for _number in range(count)
    ]
    try:
        time.sleep(3.0)
        yield Examination(("--live",), f"{count} processes", name)
    finally:
        for process in processes:
            ended(process)
    yield Examination(("--live",), f"{count} processes", name)


def container_memory(chance: random.Random, _: Path) -> Steps:
    limit = chance.randint(12, 48) << 20
    for share in (2.0, 0.3):
        with group("memory") as limited:
            limited.limit_memory(limit)
            limited.run(f"x = b'x' * {round(limit * share)}").wait()
            yield Examination(("--live",), f"{limit >> 20} MiB", limited.path.name)


def oom_kill(chance: random.Random, _: Path) -> Steps:
    """A process with a name that only it has, as the log of the kernel has the kills of a day."""
    limit = chance.randint(12, 48) << 20
    for share, name in ((2.0, f"greedy-{os.getpid()}"), (0.3, f"modest-{os.getpid()}")):
        with group("memory") as limited:
            limited.limit_memory(limit)
            limited.run(f"x = b'x' * {round(limit * share)}", name).wait()
        time.sleep(0.2)
        yield Examination(("--live",), f"{limit >> 20} MiB", f"{name} (")


REHEARSALS: Final = {
    "busy-processors": Rehearsal("more busy processes than processors", "ended", busy_processors),
    "oom-kill": Rehearsal("a process above the limit of its group", "less memory", oom_kill),
    "throttled-container": Rehearsal(
        "a busy process in a control group", "without the limit", throttled_container
    ),
    "container-memory": Rehearsal("a process above the limit of its group", "less memory", container_memory),
}
