"""`long-transaction`: a transaction with a snapshot stays open, so that no dead row can be removed."""

from __future__ import annotations

import threading
from contextlib import ExitStack

from loadcell.faults.base import ENDED_EARLY, EndedEarlyError
from loadcell.faults.statement_fault import StatementFault
from loadcell.model.message import MessageError
from loadcell.plan.parts import SubjectOptions
from loadcell.systems.subjects import RunStatement


class LongTransaction(StatementFault[SubjectOptions]):
    """Hold a snapshot open. The connection closes with the run, so that nothing outlives it."""

    name = "long-transaction"
    summary = "Hold a transaction with a snapshot open, so that vacuum cannot remove dead rows"

    #: statements of the session with the transaction, while it is open
    _execute: RunStatement | None = None

    def apply(self) -> None:
        self._open = ExitStack()
        self._state, self._abandoned = threading.Lock(), False
        self.answered(self._begin)

    def restore(self) -> None:
        with self._state:
            self._abandoned = True
            execute, self._execute = self._execute, None
        try:
            if execute is not None:
                self.answered(lambda: self._end(execute))
        finally:
            self._open.close()

    def _begin(self) -> None:
        """Begin the transaction; after the fault was abandoned, the session ends here."""
        with ExitStack() as opened:
            execute = opened.enter_context(self.open_session())
            for statement in ("BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT txid_current()"):
                if self._abandoned:
                    return
                execute(statement)
            with self._state:
                if not self._abandoned:
                    self._execute, self._open = execute, opened.pop_all()

    def _end(self, execute: RunStatement) -> None:
        try:
            execute("ROLLBACK")
        except MessageError as error:
            raise EndedEarlyError(ENDED_EARLY(subject=self.subject.name, error=str(error))) from error


PART = LongTransaction
