"""`checkpoint`: an immediate checkpoint of a PostgreSQL."""

from __future__ import annotations

from loadcell.faults.statement_fault import StatementFault, StatementOptions


class Checkpoint(StatementFault[StatementOptions]):
    """Write all dirty buffers to storage at once."""

    name = "checkpoint"
    summary = "Request an immediate checkpoint (CHECKPOINT), which writes all dirty buffers to storage"
    lasts = False

    def apply(self) -> None:
        with self.open_session() as execute:
            execute("CHECKPOINT")


PART = Checkpoint
