"""`checkpoint`: an immediate checkpoint of a PostgreSQL."""

from __future__ import annotations

from loadcell.faults.statement_fault import StatementFault
from loadcell.plan.parts import SubjectOptions

#: Much longer than a checkpoint that does not wait between its writes, which other faults wait for.
_LIMIT_S = 60.0


class Checkpoint(StatementFault[SubjectOptions]):
    """Write all dirty buffers to storage at once."""

    name = "checkpoint"
    summary = "Request an immediate checkpoint (CHECKPOINT), which writes all dirty buffers to storage"
    lasts = False

    def apply(self) -> None:
        self.answered(self._write, _LIMIT_S)

    def _write(self) -> None:
        with self.open_session(_LIMIT_S) as execute:
            execute("CHECKPOINT")


PART = Checkpoint
