"""Growth of the resident memory by source line of Python functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.analysis.flames import Profile
from loadcell.model import numbers
from loadcell.model.message import Count, Message, MessageCode
from loadcell.model.profile_record import ProfileRecord
from loadcell.model.python_profile import FunctionLines, SourceLine, short_path
from loadcell.report.blocks import Cell, Column, Table
from loadcell.report.context import ReportContext
from loadcell.report.profiles.presentation import Presentation
from loadcell.report.profiles.python import overhead

PYTHON_LINE = MessageCode(
    "found.python-lines.largest", "info", function=str, line=str, text=str, growth=str, calls=Count
)
PYTHON_LINES_FLAT = MessageCode("found.python-lines.flat", "info", function=str, calls=Count)
PYTHON_LINES_NEVER = MessageCode("found.python-lines.never", "caution", function=str)

#: Rows of a function outside the page.
MOST_ROWS_IN_BRIEF: Final = 10
#: A growth for one call below half a page of memory is noise.
_LEAST_BYTES: Final = 2048


def _functions(account: ProfileRecord | None) -> tuple[FunctionLines, ...]:
    return () if account is None or account.python is None else account.python.lines or ()


def _findings(profile: Profile, account: ProfileRecord) -> Iterator[Message]:
    """The line of each function with the largest growth."""
    for function in _functions(account):
        if not function.calls:
            yield PYTHON_LINES_NEVER(function=function.name)
            continue
        largest = max(function.lines, key=_growth, default=None)
        if largest is None or _growth(largest) < _LEAST_BYTES:
            yield PYTHON_LINES_FLAT(function=function.name, calls=function.calls)
        else:
            yield PYTHON_LINE(
                function=function.name,
                line=str(largest.number),
                text=largest.text.strip(),
                growth=signed_size(_growth(largest)),
                calls=function.calls,
            )
    yield from overhead(profile)


def _growth(line: SourceLine) -> float:
    return line.increment_bytes


def _tables(profile: Profile, number: int, context: ReportContext, brief: bool) -> Iterator[Table]:
    """A table of each function, in the order of its lines; outside the page the lines that grow most."""
    texts = context.texts
    columns = [
        Column(texts("column.line"), figure=True),
        Column(texts("column.executions"), figure=True, yields=1),
        Column(texts("column.increment"), figure=True),
        Column(texts("column.resident-after"), figure=True),
        Column(texts("column.source-text"), code=True),
    ]
    for index, function in enumerate(_functions(profile.account), 1):
        lines = list(function.lines)
        if brief and len(lines) > MOST_ROWS_IN_BRIEF:
            lines = sorted(lines, key=_growth, reverse=True)[:MOST_ROWS_IN_BRIEF]
        if not lines:
            continue
        rows = [
            [
                Cell(str(line.number), sort=line.number),
                Cell(numbers.whole(line.executions), sort=line.executions),
                Cell(signed_size(line.increment_bytes), sort=line.increment_bytes),
                Cell(numbers.size(line.total_bytes), sort=line.total_bytes),
                Cell(line.text),
            ]
            for line in lines
        ]
        title = texts("table.python-lines", function=function.name, treatment=profile.treatment)
        note = texts(
            "table.python-lines.note", calls=function.calls, file=short_path(function.file) or "code"
        )
        yield Table(f"table-lines-{number}-{index}", title, columns, rows, note)


def signed_size(value: float) -> str:
    """A growth, as `+1.5 MiB`; `0 B` of less than half a byte."""
    sign = "−" if value <= -0.5 else "+" if value >= 0.5 else ""
    return f"{sign}{numbers.size(abs(round(value)))}"


PRESENTATION = Presentation(kind="lines", findings=_findings, meaning="python-lines.meaning", tables=_tables)
