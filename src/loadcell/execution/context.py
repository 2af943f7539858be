"""Context of a run's trials: all access to the outside in one value, so that tests can replace it."""

from __future__ import annotations

import os
import queue
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from loadcell.execution import disturbances as neighbours
from loadcell.execution.executor import Executor
from loadcell.execution.interrupts import Interrupts
from loadcell.execution.progress import Progress
from loadcell.plan.parts import Parts


@dataclass
class RunContext:
    """`lines` is what targets say, from whatever thread, on its way to the present trial's output.log."""

    parts: Parts
    executor: Executor
    interrupts: Interrupts
    progress: Progress
    secret: Callable[[str], str]
    lines: queue.SimpleQueue[str] = field(default_factory=queue.SimpleQueue)
    neighbours: Callable[[], list[int]] = neighbours.look
    monotonic_ns: Callable[[], int] = time.monotonic_ns
    root: Path = Path("/")
    cores: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))

    def waiting_lines(self) -> list[str]:
        """Lines of targets since the last call."""
        lines = []
        while not self.lines.empty():
            lines.append(self.lines.get())
        return lines
