"""Statements of a plan in MariaDB and MySQL: their execution, their execution plans, and their statistics."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from loadcell.model.json import JsonObject
from loadcell.model.message import Message
from loadcell.model.trial_record import PlanRecord
from loadcell.plan.workload import StatementText
from loadcell.systems.mysql import driver
from loadcell.systems.mysql.connection import not_done, rows

if TYPE_CHECKING:
    from loadcell.systems.mysql.connection import Connection

#: How long all statements may be executed for their plans.
EXPLAIN_LIMIT_S = 20.0
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


def explain(
    connection: Connection,
    transactions: Sequence[Sequence[StatementText]],
    limit_s: float = EXPLAIN_LIMIT_S,
) -> list[PlanRecord]:
    """Plans of statements. MariaDB executes those that read, while there is time."""
    is_mariadb = "mariadb" in str(rows(connection, "SELECT version()")[0][0]).lower()
    deadline = time.monotonic() + limit_s
    plans = []
    for statement in itertools.chain.from_iterable(transactions):
        remaining_s = deadline - time.monotonic()
        plan = None
        if is_mariadb and not statement.writes and remaining_s > 0:
            limited = f"SET STATEMENT max_statement_time = {remaining_s:.3f} FOR ANALYZE "
            plan = _explained(connection, statement, limited, executed=True)
        if plan is None or plan.trouble is not None:
            plan = _explained(connection, statement, "EXPLAIN ", executed=False)
        plans.append(plan)
    return plans


def _explained(
    connection: Connection, statement: StatementText, command: str, *, executed: bool
) -> PlanRecord:
    try:
        with connection.cursor() as cursor:
            cursor.execute(command + statement.filled)
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


def _line(node: JsonObject) -> str:
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
