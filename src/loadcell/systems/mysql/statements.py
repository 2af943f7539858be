"""Statements of a plan in MariaDB and MySQL: their execution, their execution plans, and their statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from loadcell.model.message import Message
from loadcell.model.trial_record import PlanRecord
from loadcell.plan.workload import StatementText
from loadcell.systems.mysql import driver
from loadcell.systems.mysql.connection import not_done, rows

if TYPE_CHECKING:
    from loadcell.systems.mysql.connection import Connection

#: How long a statement may be executed for its plan.
EXPLAIN_LIMIT_S = 30
#: Columns of a plan's row by which plans differ.
_SHAPE = ("table", "type", "key", "Extra")
#: Columns that hold no part of the plan's text.
_LEFT_OUT = ("id", "select_type", "table", "type", "possible_keys", "Extra")


def execute(connection: Connection, statement: str, doing: Message, during: str) -> list[tuple[Any, ...]]:
    """Rows of a statement; none for one that gives none. Raises TargetError."""
    try:
        return rows(connection, statement)
    except (driver.Error, OSError) as error:
        raise not_done(error, doing, during) from error


def explain(connection: Connection, transactions: Sequence[Sequence[StatementText]]) -> list[PlanRecord]:
    """Plans of statements. MariaDB executes those that read; those that may write are only explained."""
    is_mariadb = "mariadb" in str(rows(connection, "SELECT version()")[0][0]).lower()
    return [
        _explained(connection, statement, executed=is_mariadb and not statement.writes)
        for transaction in transactions
        for statement in transaction
    ]


def _explained(connection: Connection, statement: StatementText, *, executed: bool) -> PlanRecord:
    query = f"EXPLAIN {statement.filled}"
    if executed:
        query = f"SET STATEMENT max_statement_time = {EXPLAIN_LIMIT_S} FOR ANALYZE {statement.filled}"
    try:
        with connection.cursor() as cursor:
            cursor.execute(query)
            names = [column[0] for column in cursor.description or ()]
            nodes = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    except (driver.Error, OSError) as error:
        return PlanRecord(statement.name, statement.sql, trouble=str(error.args[-1]))
    return PlanRecord(
        statement.name,
        statement.sql,
        tuple(" ".join(str(node[name]) for name in _SHAPE if node.get(name) is not None) for node in nodes),
        tuple(map(_line, nodes)),
        executed=executed,
    )


def _line(node: dict[str, Any]) -> str:
    """A row of the plan: the access to one table."""
    head = f"{node.get('table') or node.get('select_type')}: {node.get('type') or '-'}"
    details = [
        f"{name}={value}" for name, value in node.items() if name not in _LEFT_OUT and value is not None
    ]
    extra = node.get("Extra")
    return ", ".join([head, *details, *([str(extra)] if extra else [])])


def reset_statistics(connection: Connection) -> list[str]:
    """Reset the statement digests of performance_schema, where it is on and permitted."""
    table = "performance_schema.events_statements_summary_by_digest"
    try:
        if not int(rows(connection, "SELECT @@performance_schema")[0][0]):
            return ["performance_schema is off"]
        rows(connection, f"TRUNCATE TABLE {table}")
    except (driver.Error, OSError) as error:
        return [f"performance_schema was not reset: {error.args[-1]}"]
    return ["statement digests of performance_schema were reset"]
