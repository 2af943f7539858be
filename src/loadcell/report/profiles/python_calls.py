"""Calls of Python functions by cProfile: a table of counts and times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.analysis.flames import Profile
from loadcell.model import numbers
from loadcell.model.message import Count, Message, MessageCode, Seconds
from loadcell.model.profile_record import ProfileRecord
from loadcell.model.python_profile import CALLS_FILE, CallsRecord, CallStatistics, short_path
from loadcell.report.blocks import Cell, Column, Table
from loadcell.report.context import ReportContext
from loadcell.report.profiles.presentation import Presentation
from loadcell.report.profiles.python import overhead
from loadcell.store.layout import TRIALS

PYTHON_CALLED = MessageCode(
    "found.python-calls.taken", "info", treatment=str, calls=Count, functions=Count, total_s=Seconds, file=str
)

#: Rows outside the page.
MOST_ROWS_IN_BRIEF: Final = 10
MOST_ROWS: Final = 30


def _record(account: ProfileRecord | None) -> CallsRecord | None:
    return None if account is None or account.python is None else account.python.calls


def _findings(profile: Profile, account: ProfileRecord) -> Iterator[Message]:
    """Number of calls, and the file for other tools."""
    if (record := _record(account)) is not None:
        yield PYTHON_CALLED(
            treatment=profile.treatment,
            calls=record.calls,
            functions=record.functions,
            total_s=record.total_s,
            file=f"{TRIALS}/{profile.trial}/{CALLS_FILE}",
        )
    yield from overhead(profile)


def _table(profile: Profile, number: int, context: ReportContext, brief: bool) -> Iterator[Table]:
    """The functions with the most own time."""
    texts, record = context.texts, _record(profile.account)
    if record is None or not record.largest:
        return
    columns = [
        Column(texts("column.function"), code=True),
        Column(texts("column.position"), code=True, yields=1),
        Column(texts("column.calls"), figure=True),
        Column(texts("column.own-time"), figure=True),
        Column(texts("column.share"), figure=True),
        Column(texts("column.cumulative-time"), figure=True),
        Column(texts("column.own-time-per-call"), figure=True, yields=2),
    ]
    rows = [
        [
            Cell(function.name),
            Cell(_position(function) or texts("mark.none")),
            Cell(numbers.whole(function.calls), sort=function.calls),
            Cell(numbers.milliseconds(function.self_s * 1e3), sort=function.self_s),
            _share(function, record),
            Cell(numbers.milliseconds(function.cumulative_s * 1e3), sort=function.cumulative_s),
            Cell(_per_call(function), sort=function.self_s / max(1, function.calls)),
        ]
        for function in record.largest[: MOST_ROWS_IN_BRIEF if brief else MOST_ROWS]
    ]
    note = texts("table.python-calls.note", shown=len(rows), count=record.functions)
    title = texts("table.python-calls", treatment=profile.treatment)
    yield Table(f"table-calls-{number}", title, columns, rows, note)


def _position(function: CallStatistics) -> str:
    file, _, line = function.position.rpartition(":")
    return f"{short_path(file)}:{line}" if file else ""


def _share(function: CallStatistics, record: CallsRecord) -> Cell:
    share = function.self_s / record.total_s if record.total_s else 0.0
    return Cell(numbers.share(share), sort=share, bar=share)


def _per_call(function: CallStatistics) -> str:
    return numbers.milliseconds(function.self_s * 1e3 / max(1, function.calls))


PRESENTATION = Presentation(kind="calls", findings=_findings, meaning="python-calls.meaning", tables=_table)
