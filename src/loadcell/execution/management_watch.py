"""Probe of a storage's management plane: its operations, one after the other, beside the load of a trial."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

from loadcell.analysis.faults.management import Answer
from loadcell.model.json import JsonObject
from loadcell.model.message import MessageError

#: Time between two rounds: each starts a few processes.
INTERVAL_S = 3.0
#: How long the end may take: one operation, each of which has a time limit.
_END_LIMIT_S = 15.0


class ManagementWatch:
    """Executes `operations` in a thread from `start` to `end`; `event` takes a line of events.jsonl."""

    def __init__(
        self,
        operations: Mapping[str, Callable[[], None]],
        event: Callable[[JsonObject], None],
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
        interval_s: float = INTERVAL_S,
    ) -> None:
        self._operations = operations
        self._event = event
        self._now = monotonic_ns
        self._interval_s = interval_s
        self._end = threading.Event()
        self._answers: list[tuple[str, int, int, bool]] = []
        self._thread = threading.Thread(target=self._run, name="management", daemon=True)

    def start(self) -> None:
        if self._operations:
            self._thread.start()

    def end(self, start_ns: int | None) -> tuple[Answer, ...]:
        """End the probe; the answers, in seconds from `start_ns`. None where the measurement never began."""
        self._end.set()
        if self._operations:
            self._thread.join(_END_LIMIT_S)
        if start_ns is None:
            return ()
        return tuple(
            Answer(operation, (began - start_ns) / 1e9, (ended - start_ns) / 1e9, succeeded)
            for operation, began, ended, succeeded in list(self._answers)
        )

    def _run(self) -> None:
        while not self._end.is_set():
            for name, operation in self._operations.items():
                if self._end.is_set():
                    return
                self._execute(name, operation)
            self._end.wait(self._interval_s)

    def _execute(self, name: str, operation: Callable[[], None]) -> None:
        began, error = self._now(), ""
        try:
            operation()
        except (MessageError, OSError) as refusal:
            error = str(refusal)
        ended = self._now()
        self._answers.append((name, began, ended, not error))
        answer = {"event": "management", "mono_ns": began, "operation": name, "took_s": (ended - began) / 1e9}
        self._event({**answer, **({"reason": error} if error else {})})
