"""Statements of a plan in PostgreSQL: their execution, their execution plans, and their statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from loadcell.model.message import Message
from loadcell.model.trial_record import PlanRecord
from loadcell.plan.workload import StatementText
from loadcell.systems.postgres import driver
from loadcell.systems.postgres.connection import not_done

if TYPE_CHECKING:
    from psycopg import Connection

#: How long a statement may be executed for its plan.
EXPLAIN_LIMIT_S = 30
#: Where the costs of a node begin in a plan's line.
_NUMBERS = "  (cost="
_STATEMENTS_HOME = (
    "SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname = 'pg_stat_statements'"
)


def execute(
    connection: Connection[Any], statement: str, doing: Message, during: str
) -> list[tuple[Any, ...]]:
    """Rows of a statement; none for one that gives none. Raises TargetError."""
    try:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []
    except driver.Error as error:
        raise not_done(error, doing, during) from error


def explain(connection: Connection[Any], transactions: Sequence[Sequence[StatementText]]) -> list[PlanRecord]:
    """Plans of statements, which are executed and rolled back, transaction by transaction."""
    plans = []
    for transaction in transactions:
        connection.execute("BEGIN")
        try:
            connection.execute(f"SET LOCAL statement_timeout = '{EXPLAIN_LIMIT_S}s'")
            plans += [_explained(connection, statement) for statement in transaction]
        finally:
            connection.execute("ROLLBACK")
    return plans


def _explained(connection: Connection[Any], statement: StatementText) -> PlanRecord:
    connection.execute("SAVEPOINT explained")
    try:
        cursor = connection.execute(b"EXPLAIN (ANALYZE, BUFFERS) " + statement.filled.encode())
        lines = tuple(str(row[0]) for row in cursor.fetchall())
    except driver.Error as error:
        connection.execute("ROLLBACK TO SAVEPOINT explained")
        trouble = (error.diag.message_primary or str(error)).splitlines()[0]
        return PlanRecord(statement.name, statement.sql, trouble=trouble)
    return PlanRecord(statement.name, statement.sql, shape(lines), lines, executed=True)


def shape(lines: Sequence[str]) -> tuple[str, ...]:
    """The nodes of a plan, each with its depth as blanks, without numbers."""
    return tuple(line.partition(_NUMBERS)[0].rstrip() for line in lines if _NUMBERS in line)


def reset_statistics(connection: Connection[Any]) -> list[str]:
    """Reset pg_stat_statements for this database only, where it is there and permitted."""
    try:
        row = connection.execute(_STATEMENTS_HOME).fetchone()
        if row is None:
            return ["pg_stat_statements is not in this database"]
        connection.execute(
            f"SELECT {row[0]}.pg_stat_statements_reset(0, oid, 0) FROM pg_database "  # noqa: S608
            "WHERE datname = current_database()"
        )
    except driver.Error as error:
        return [f"pg_stat_statements was not reset: {str(error).splitlines()[0]}"]
    return ["pg_stat_statements was reset"]
