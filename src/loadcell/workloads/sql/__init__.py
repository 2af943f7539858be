"""Statements of the user on tables of the user, on every SQL database."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from loadcell.model.extensions import MYSQL, POSTGRES, TargetKind
from loadcell.model.json import JsonObject
from loadcell.model.message import Count, MessageCode
from loadcell.plan.model import Load
from loadcell.plan.parts import Misfit
from loadcell.plan.workload import Run, StatementText, Workload, WorkloadError
from loadcell.workloads.sql import text as sql_text
from loadcell.workloads.sql.options import SqlOptions
from loadcell.workloads.sql.parameters import MOST_VALUES
from loadcell.workloads.sql.text import Scalar

SQL_NOT_READY = MessageCode("sql.not-ready", query=str)
SQL_READY_EMPTY = MessageCode("sql.ready-empty", query=str)
SQL_QUERY_EMPTY = MessageCode("sql.query-empty", parameter=str)
SQL_QUERY_TOO_MANY = MessageCode("sql.query-too-many", parameter=str, most=Count)
SQL_EXTENDED = MessageCode("sql.extended")
SQL_PARAMETER_UNUSED = MessageCode("sql.parameter-unused", place=str)


class Sql(Workload[SqlOptions]):
    """The user's statements, and the user's tables."""

    name = "sql"
    summary = "your own statements on your own tables, with parameters"
    Options = SqlOptions
    needs = frozenset({POSTGRES, MYSQL})
    loaded_by = "loadcell.workloads.sql.loading"

    def __init__(self, options: SqlOptions) -> None:
        super().__init__(options)
        self._queried: dict[str, list[Scalar]] = {}

    def data(self) -> JsonObject | None:
        description = self._description()
        return None if description is None else {_kind(description): description}

    def _description(self) -> JsonObject | None:
        options = self.options
        if options.data is None or not options.files:
            return None
        return {
            "files": [file.model_dump(mode="json") for file in options.data.every],
            "sha256": options.data.sha256,
            "before_treatment": list(options.before_treatment),
        }

    def loading(self) -> JsonObject | None:
        description = self._description()
        if description is None:
            return None
        files = [
            {
                "path": str(path),
                "kind": file.kind,
                "table": file.table or path.stem,
                "delimiter": file.delimiter or ("\t" if path.suffix.lower() == ".tsv" else ","),
                "null": file.null,
            }
            for file, path in self.options.files
        ]
        return {
            _kind(description): {
                "files": files,
                "before_treatment": list(self.options.before_treatment),
            }
        }

    def parallel_statements(self, operations: Mapping[str, int], statements: int) -> int:  # noqa: ARG002
        return statements

    @property
    def changes_data(self) -> bool:
        options = self.options
        statements = [request.sql for transaction in options.transactions for request in transaction.requests]
        statements += [*options.before_trial, *options.after_trial]
        return not all(sql_text.leaves_data(statement) for statement in statements)

    def misfits(self, load: Load, target: TargetKind | None) -> list[Misfit]:
        if target is not None and MYSQL in target.offers and self.options.protocol == "extended":
            return [Misfit("workload.sql.protocol", SQL_EXTENDED())]
        unused = self.options.unused_parameters
        return [
            *super().misfits(load, target),
            *(
                Misfit(f"workload.sql.parameters.{name}", SQL_PARAMETER_UNUSED(place=f":{name}"))
                for name in unused
            ),
        ]

    def engine(self) -> JsonObject:
        options = self.options
        names = list(options.sources)
        return {
            "sql": {
                "transactions": [
                    {
                        "name": transaction.name,
                        "weight": transaction.weight,
                        "statements": [
                            {"name": request.name, "kind": request.kind, "parts": _parts(request.sql, names)}
                            for request in transaction.requests
                        ],
                    }
                    for transaction in options.transactions
                ],
                "parameters": [
                    {"values": self._values(name), **source.section()}
                    for name, source in options.sources.items()
                ],
                "protocol": options.protocol,
                "retry_sqlstates": list(options.retry_sqlstates),
            }
        }

    def _values(self, name: str) -> str | None:
        """The values of a list as JSON text, in which nothing looks like a reference to a secret."""
        source = self.options.sources[name]
        values = self._queried.get(name, [None]) if source.query is not None else source.loaded()
        return None if values is None else json.dumps(list(values)).replace("$", "\\u0024")

    # -- around the load

    def before_load(self, run: Run, *, entered: bool) -> None:
        options = self.options
        if (data := options.data) is not None and data.ready is not None:
            _check_ready(data.ready, run(data.ready, "ready"))
        if entered and not options.files:
            for statement in options.before_treatment:
                run(statement, "before-treatment")
        for statement in options.before_trial:
            run(statement, "before-trial")
        for name, source in options.sources.items():
            if source.query is not None:
                self._queried[name] = _column(name, run(source.query, f"parameters.{name}"))

    def after_load(self, run: Run) -> None:
        for statement in self.options.after_trial:
            run(statement, "after-trial")

    @property
    def resets_statistics(self) -> bool:
        return self.options.reset_statistics

    def explained(self, *, mysql: bool) -> list[list[StatementText]]:
        options = self.options
        if not options.explain:
            return []
        values = {name: source.example(self._queried.get(name)) for name, source in options.sources.items()}
        return [
            [
                StatementText(
                    request.name,
                    request.sql,
                    sql_text.filled(request.sql, values, mysql=mysql),
                    request.kind == "write",
                )
                for request in transaction.requests
                if request.kind != "other"
            ]
            for transaction in options.transactions
        ]


def _kind(description: JsonObject) -> str:
    """Kind of a data set: client groups may have different ones, alongside each other in one database."""
    digest = hashlib.sha256(json.dumps(description, sort_keys=True).encode()).hexdigest()
    return f"sql-{digest[:8]}"


def _parts(statement: str, names: Sequence[str]) -> list[JsonObject]:
    return [
        {"sql": part} if isinstance(part, str) else {"parameter": names.index(part.name)}
        for part in sql_text.parts(statement)
    ]


def _check_ready(query: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Raise WorkloadError unless the query of `ready` gives a true value."""
    if not rows or not rows[0]:
        raise WorkloadError(SQL_READY_EMPTY(query=query))
    if not rows[0][0] or rows[0][0] in ("f", "false", "0"):
        raise WorkloadError(SQL_NOT_READY(query=query))


def _column(name: str, rows: Sequence[tuple[Any, ...]]) -> list[Scalar]:
    """The first column of a query's rows as values of a parameter. Raises WorkloadError."""
    if not rows:
        raise WorkloadError(SQL_QUERY_EMPTY(parameter=name))
    if len(rows) > MOST_VALUES:
        raise WorkloadError(SQL_QUERY_TOO_MANY(parameter=name, most=MOST_VALUES))
    return [_scalar(row[0]) for row in rows]


def _scalar(value: Any) -> Scalar:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, Decimal) and value == value.to_integral_value():
        return int(value)
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


PART = Sql
