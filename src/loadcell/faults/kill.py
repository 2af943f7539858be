"""`kill`: processes of the target end at once (SIGKILL); the target starts them again when it is undone."""

from __future__ import annotations

import signal

from loadcell.faults import process_tree
from loadcell.faults.ending import EndingFault


class Kill(EndingFault):
    """Kill all processes of the subject."""

    name = "kill"
    summary = "Kill all processes of the subject (SIGKILL); with `for`, start it again"

    def apply(self) -> None:
        process_tree.signal_tree(self._roots, signal.SIGKILL)


PART = Kill
