"""Context of a run's trials: access to the outside, which tests can replace, and facts of the host."""

from __future__ import annotations

import os
import queue
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from loadcell.execution import machine_watch as neighbours
from loadcell.execution.executor import Executor
from loadcell.execution.interrupts import Interrupts
from loadcell.execution.progress import Progress
from loadcell.linux import inventory
from loadcell.linux.time_limits import LIMIT_S
from loadcell.model.json import JsonObject
from loadcell.model.numbers import utc_text
from loadcell.plan.parts import Parts
from loadcell.store.layout import SCHEMA


@dataclass
class RunContext:
    """`lines` is what targets say, from whatever thread, on its way to the present trial's output.log."""

    parts: Parts
    executor: Executor
    interrupts: Interrupts
    progress: Progress
    secret: Callable[[str], str]
    lines: queue.SimpleQueue[str] = field(default_factory=queue.SimpleQueue)
    neighbours: Callable[[], list[int]] = neighbours.other_runs
    monotonic_ns: Callable[[], int] = time.monotonic_ns
    root: Path = Path("/")
    cores: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))

    def waiting_lines(self) -> list[str]:
        """Lines of targets since the last call."""
        lines = []
        while not self.lines.empty():
            lines.append(self.lines.get())
        return lines


def environment(
    role: str, root: Path = Path("/"), limit_s: float = LIMIT_S, *, anonymous: bool = False
) -> JsonObject:
    """environment.json: facts of this host that bear on performance.

    `role` is `client+target`, or `client` when the target runs elsewhere. `anonymous` leaves names and
    addresses out.
    """
    host = {"role": role, **inventory.collect(root, limit_s, anonymous=anonymous)}
    return {"schema": SCHEMA, "collected_utc": utc_text(), "hosts": [host]}
