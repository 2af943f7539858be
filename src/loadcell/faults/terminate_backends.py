"""`terminate-backends`: the connections of the load are closed by the server."""

from __future__ import annotations

from loadcell.faults.base import CONNECTION_LOST, FaultError
from loadcell.faults.statement_fault import NO_BACKENDS, StatementFault
from loadcell.plan.parts import SubjectOptions

#: Client sessions in the load's database, without loadcell's own (`loadcell monitor`, `loadcell fault`).
_TERMINATE = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND datname = current_database() "
    "AND NOT starts_with(application_name, 'loadcell ')"
)
#: On a server that loadcell did not start, the load has the role of this session.
_OF_ROLE = " AND usename = current_user"


class TerminateBackends(StatementFault[SubjectOptions]):
    """Have the server close the client connections of the load's role to the load's database."""

    name = "terminate-backends"
    summary = "Have the server close the connections of the load (pg_terminate_backend)"
    lasts = False
    expected_errors = (*CONNECTION_LOST, "57P01")

    def apply(self) -> None:
        self.answered(self._terminate)

    def _terminate(self) -> None:
        managed = self.subject.start is not None
        with self.open_session() as execute:
            terminated = list(execute(_TERMINATE if managed else _TERMINATE + _OF_ROLE))
        if not terminated:
            raise FaultError(NO_BACKENDS(subject=self.subject.name))


PART = TerminateBackends
