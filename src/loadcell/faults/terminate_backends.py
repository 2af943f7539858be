"""`terminate-backends`: the connections of the load are closed by the server."""

from __future__ import annotations

from loadcell.faults.base import CONNECTION_LOST, FaultError
from loadcell.faults.statement_fault import NO_BACKENDS, StatementFault, StatementOptions

#: Other client sessions of the load's role, or all where loadcell started the server.
_TERMINATE = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() "
    "AND (usename = current_user OR (SELECT rolsuper FROM pg_roles WHERE rolname = current_user))"
)


class TerminateBackends(StatementFault[StatementOptions]):
    """Have the server close all client connections of the load's role."""

    name = "terminate-backends"
    summary = "Have the server close the connections of the load (pg_terminate_backend)"
    lasts = False
    expected_errors = (*CONNECTION_LOST, "57P01")

    def apply(self) -> None:
        with self.open_session() as execute:
            terminated = list(execute(_TERMINATE))
        if not terminated:
            raise FaultError(NO_BACKENDS(subject=self.subject.name))


PART = TerminateBackends
