"""`kill`: processes of the target end at once (SIGKILL); the target starts them again when it is undone."""

from __future__ import annotations

import signal

from loadcell.faults.base import NOT_RUNNING, FaultError
from loadcell.faults.ending import EndingFault
from loadcell.linux import process_tree


class Kill(EndingFault):
    """Kill all processes of the subject."""

    name = "kill"
    synonyms = ("crash", "sigkill")
    summary = "Kill all processes of the subject (SIGKILL); start it again after `for`, else at the end"
    stops_load = True

    def apply(self) -> None:
        self._ended = bool(process_tree.signal_tree(self._roots, signal.SIGKILL))
        if not self._ended:
            raise FaultError(NOT_RUNNING(subject=self.subject.name))


PART = Kill
