"""Statements of a plan in PostgreSQL: their execution, their execution plans, and their statistics."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from loadcell.model.message import Message
from loadcell.model.trial_record import PlanRecord
from loadcell.plan.workload import StatementText
from loadcell.systems.postgres import driver
from loadcell.systems.postgres.connection import not_done

if TYPE_CHECKING:
    from psycopg import Connection

#: How long all statements may be executed for their plans.
EXPLAIN_LIMIT_S = 20.0
_PLANNING_LIMIT_MS = 2000
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


def explain(
    connection: Connection[Any],
    transactions: Sequence[Sequence[StatementText]],
    limit_s: float = EXPLAIN_LIMIT_S,
) -> list[PlanRecord]:
    """Plans of statements, which are executed and rolled back, transaction by transaction.

    Those that fail, and those for which there is no time, are only explained.
    """
    plans = []
    deadline = time.monotonic() + limit_s
    for transaction in transactions:
        connection.execute("BEGIN")
        try:
            plans += [_explained(connection, statement, deadline) for statement in transaction]
        finally:
            connection.execute("ROLLBACK")
    return plans


def _explained(connection: Connection[Any], statement: StatementText, deadline: float) -> PlanRecord:
    """The plan of a statement, executed if possible."""
    trouble = ""
    for command in ("EXPLAIN (ANALYZE, BUFFERS) ", "EXPLAIN "):
        executed = "ANALYZE" in command
        remaining_ms = int((deadline - time.monotonic()) * 1000) if executed else _PLANNING_LIMIT_MS
        if remaining_ms <= 0:
            continue
        connection.execute("SAVEPOINT explained")
        try:
            connection.execute(f"SET LOCAL statement_timeout = {remaining_ms}")
            cursor = connection.execute((command + statement.filled).encode())
            lines = tuple(str(row[0]) for row in cursor.fetchall())
        except driver.Error as error:
            connection.execute("ROLLBACK TO SAVEPOINT explained")
            trouble = (error.diag.message_primary or str(error)).splitlines()[0]
        else:
            return PlanRecord(statement.name, statement.sql, shape(lines), lines, executed)
    return PlanRecord(statement.name, statement.sql, trouble=trouble)


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
