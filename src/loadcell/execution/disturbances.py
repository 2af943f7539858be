"""Disturbances of a load: CPU time stolen by the hypervisor, a wall clock that is set, another run beside it.

They are watched beside every load, whatever monitors the plan names, as the trial's checks rest on them.

Two runs at once measure each other. A run names its main thread; the kernel shows that name to everybody and
takes it back when the process dies, however it dies. Runs in other containers are not seen.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from loadcell.execution.checks import CLOCK_STEP_LIMIT_S
from loadcell.linux.procfs import command_line, process_ids, read_small
from loadcell.monitors.base import difference


def wall_offset_ns() -> int:
    """CLOCK_REALTIME minus CLOCK_MONOTONIC: both are slewed alike, so only setting the clock moves it."""
    before = time.monotonic_ns()
    now = time.time_ns()
    return now - (before + time.monotonic_ns()) // 2


@dataclass
class DisturbanceWatch:
    """`steps_s` are the clock's steps since `begin`; `steal_share` is of all CPU time since then."""

    root: Path = Path("/")
    offset_ns: Callable[[], int] = wall_offset_ns
    steps_s: list[float] = field(default_factory=list)
    _offset_ns: int | None = None
    _cpu: list[int] = field(default_factory=list)

    def begin(self) -> None:
        """The measurement begins now: what was before does not count."""
        self._cpu = self._read_cpu()

    def tick(self) -> float | None:
        """Look at the clock; returns the step in seconds when it was set since the last look."""
        now = self.offset_ns()
        step_s = 0.0 if self._offset_ns is None else (now - self._offset_ns) / 1e9
        self._offset_ns = now
        if abs(step_s) > CLOCK_STEP_LIMIT_S:
            self.steps_s.append(step_s)
            return step_s
        return None

    def steal_share(self) -> float | None:
        """Stolen CPU time as a share of all, from `begin` to now; None when it cannot be known."""
        now = self._read_cpu()
        if not self._cpu or not now:
            return None
        ticks = [difference(old, new) for old, new in zip(self._cpu, now, strict=True)]
        return ticks[7] / sum(ticks) if sum(ticks) else None

    def _read_cpu(self) -> list[int]:
        try:
            first = (self.root / "proc" / "stat").read_text().partition("\n")[0].split()
        except OSError:
            return []
        return [int(value) for value in first[1:9]] if len(first) >= 9 else []


NAME = "loadcell-run"  # at most 15 characters (prctl(2))
_PR_SET_NAME, _PR_GET_NAME = 15, 16


@contextlib.contextmanager
def named(name: str = NAME) -> Iterator[None]:
    """Bear the name while the block runs. Call it in the main thread."""
    libc = ctypes.CDLL(None)
    before = ctypes.create_string_buffer(16)
    libc.prctl(_PR_GET_NAME, before, 0, 0, 0)
    libc.prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(_PR_SET_NAME, before, 0, 0, 0)


def look(root: Path = Path("/"), name: str = NAME, run_pid: int | None = None) -> list[int]:
    """Process ids of the other runs."""
    run_pid = os.getpid() if run_pid is None else run_pid
    return sorted(
        pid
        for pid in process_ids(root)
        if pid != run_pid and read_small(f"{root}/proc/{pid}/comm").rstrip("\n") == name
    )


def described(pid: int, root: Path = Path("/")) -> str:
    """A neighbour in words: its process id, and what it runs if that may be known."""
    words = command_line(pid, root)
    arguments = words[words.index("run") + 1 :] if "run" in words else []
    plan = next((word for word in arguments if word and not word.startswith("-")), None)
    return f"process {pid}" + (f", plan {plan}" if plan else "")
