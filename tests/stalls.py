"""Stalls of the machine under a test: times in which a thread that only sleeps is not woken."""

from __future__ import annotations

import threading
import time
from types import TracebackType

#: Length of one sleep, in seconds.
SLEEP_S = 0.002
#: Lateness of a wake-up that any machine has, in seconds.
USUAL_S = 0.001


class StallWatch:
    """Watch for stalls while the block runs; `total_s` is their sum, `longest_s` the longest, in seconds."""

    def __init__(self) -> None:
        self.total_s = self.longest_s = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> StallWatch:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        before = time.monotonic()
        while not self._ended.wait(SLEEP_S):
            now = time.monotonic()
            late_s = now - before - SLEEP_S - USUAL_S
            self.total_s += max(0.0, late_s)
            self.longest_s = max(self.longest_s, late_s)
            before = now
