"""`long-transaction`: a transaction with a snapshot stays open, so that no dead row can be removed."""

from __future__ import annotations

from contextlib import ExitStack

from loadcell.faults.statement_fault import StatementFault, StatementOptions


class LongTransaction(StatementFault[StatementOptions]):
    """Hold a snapshot open. The connection closes with the run, so that nothing outlives it."""

    name = "long-transaction"
    summary = "Hold a transaction with a snapshot open, so that vacuum cannot remove dead rows"

    def apply(self) -> None:
        self._open = ExitStack()
        execute = self._open.enter_context(self.open_session())
        execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        execute("SELECT txid_current()")

    def restore(self) -> None:
        self._open.close()


PART = LongTransaction
