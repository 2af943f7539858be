"""Numbered writes beside the load, and which acknowledged ones are lost when they are read back at the end.

The writer is one session with a constant rate; it reconnects as often as the server goes away. A write whose
answer does not come has an unknown outcome: it may be there or not. A write that could not be sent is tried
again. Read back after the load, when faults are undone.
"""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Annotated

from pydantic import Field

from loadcell.model import write_metrics
from loadcell.model.message import ForeignText, Message, MessageCode
from loadcell.model.panels import SampleTable
from loadcell.monitors.base import Monitor, MonitorContext, Row
from loadcell.monitors.numbered_writes import (
    ANSWER_LIMIT_S,
    NUMBERED_WRITES,
    NotConnectedError,
    NumberedWrites,
)
from loadcell.plan.parts import Options
from loadcell.plan.units import Rate

NOT_READ = MessageCode("writes-monitor.not-read", error=ForeignText)
NOT_CREATED = MessageCode("writes-monitor.not-created", error=ForeignText)

#: Pause before a session is opened again.
_RETRY_S = 0.05
#: How long the final read is tried: the monitors of a trial have 4 s to end.
_READ_LIMIT_S = 3.0


class WritesOptions(Options, use_attribute_docstrings=True):
    """Options of the monitor."""

    rate: Annotated[Rate, Field(ge=1, le=2000)] = Rate(100)
    """Writes per second, from 1 to 2,000."""


class WritesMonitor(Monitor[WritesOptions]):
    """Acknowledged, uncertain and unsent writes per second; lost ones at the end."""

    name = write_metrics.MONITOR
    summary = "numbered writes beside the load, read back at the end: lost acknowledged writes"
    Options = WritesOptions
    needs = frozenset({NUMBERED_WRITES})
    by_default = False
    table = SampleTable("writes", ("elapsed_s", "acknowledged", "uncertain", "unsent"))

    def __init__(self, options: WritesOptions, context: MonitorContext) -> None:
        super().__init__(options, context)
        writes = context.numbered_writes()
        assert writes is not None, "the target offers NUMBERED_WRITES"
        self._writes: NumberedWrites = writes
        self._thread = threading.Thread(target=self._write, name="numbered-writes", daemon=True)
        self._ends = threading.Event()
        self._lock = threading.Lock()
        self._acknowledged: set[int] = set()
        self._uncertain: set[int] = set()
        self._unsent = 0
        self._counted = (0, 0, 0)
        self._read: frozenset[int] | None = None
        self._trouble: Message | None = None

    def sample(self, elapsed_s: float) -> list[Row]:
        if not self._thread.ident:
            self._thread.start()
            return []
        return [self._row(elapsed_s)]

    def finish(self, elapsed_s: float) -> list[Row]:
        self._ends.set()
        if not self._thread.ident:
            return []
        self._thread.join(ANSWER_LIMIT_S / 2)
        if self._thread.is_alive():
            self._writes.interrupt()
            self._thread.join(ANSWER_LIMIT_S)
        if not self._thread.is_alive() and self._trouble is None:
            self._read_back()
        return [self._row(elapsed_s)]

    def metrics(self) -> dict[str, float]:
        """Without a final read nothing is known."""
        if self._read is None:
            return {}
        return {
            write_metrics.LOST: len(self._acknowledged - self._read),
            write_metrics.ACKNOWLEDGED: len(self._acknowledged),
            write_metrics.UNCERTAIN: len(self._uncertain),
            write_metrics.RECOVERED: len(self._uncertain & self._read),
            write_metrics.UNEXPECTED: len(self._read - self._acknowledged - self._uncertain),
        }

    def remarks(self) -> list[tuple[Message, int]]:
        return [] if self._trouble is None else [(self._trouble, 1)]

    def close(self) -> None:
        self._writes.close()

    def _row(self, elapsed_s: float) -> Row:
        with self._lock:
            now = (len(self._acknowledged), len(self._uncertain), self._unsent)
        before, self._counted = self._counted, now
        acknowledged, uncertain, unsent = (new - old for new, old in zip(now, before, strict=True))
        return {
            "elapsed_s": elapsed_s,
            "acknowledged": acknowledged,
            "uncertain": uncertain,
            "unsent": unsent,
        }

    def _write(self) -> None:
        try:
            self._writes.create()
        except (OSError, NotConnectedError) as error:
            self._trouble = NOT_CREATED(error=str(error))
            return
        number, gap_s = 0, 1.0 / float(self.options.rate)
        due_s = time.monotonic()
        while not self._ends.wait(max(0.0, due_s - time.monotonic())):
            try:
                self._writes.write(number)
            except NotConnectedError:
                with self._lock:
                    self._unsent += 1
                self._ends.wait(_RETRY_S)
            except OSError:
                with self._lock:
                    self._uncertain.add(number)
                number += 1
            else:
                with self._lock:
                    self._acknowledged.add(number)
                number += 1
            # a write that waited does not make the next ones hurry
            due_s = max(due_s + gap_s, time.monotonic() - gap_s)

    def _read_back(self) -> None:
        deadline = time.monotonic() + _READ_LIMIT_S
        while True:
            try:
                self._read = self._writes.numbers()
            except (OSError, NotConnectedError) as error:
                if time.monotonic() > deadline:
                    self._trouble = NOT_READ(error=str(error))
                    return
                time.sleep(_RETRY_S)
            else:
                break
        with contextlib.suppress(OSError, NotConnectedError):
            self._writes.remove()


PART = WritesMonitor
