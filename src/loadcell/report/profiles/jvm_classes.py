"""Objects of JVMs before and after the load: findings, and the table of classes that grew."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.analysis.flames import Profile
from loadcell.model import numbers
from loadcell.model.message import Bytes, Message, MessageCode
from loadcell.model.profile_record import ClassRecord, ProfileRecord
from loadcell.report.blocks import Cell, Column, Table
from loadcell.report.context import ReportContext
from loadcell.report.profiles.presentation import Presentation

JVM_CLASSES_TAKEN = MessageCode(
    "found.jvm-classes.taken", "info", treatment=str, before_bytes=Bytes, after_bytes=Bytes, grown=str
)
JVM_CLASSES_NONE = MessageCode("found.jvm-classes.none", "good", treatment=str)

#: Rows of classes outside the page.
MOST_ROWS_IN_BRIEF: Final = 10


def _findings(profile: Profile, account: ProfileRecord) -> Iterator[Message]:
    """Growth of all live objects."""
    record = account.classes
    if record is None:
        return
    if not record.classes:
        yield JVM_CLASSES_NONE(treatment=profile.treatment)
        return
    yield JVM_CLASSES_TAKEN(
        treatment=profile.treatment,
        before_bytes=record.before.bytes,
        after_bytes=record.after.bytes,
        grown=_signed_size(record.after.bytes - record.before.bytes),
    )


def _growth(profile: Profile, number: int, context: ReportContext, brief: bool) -> Iterator[Table]:
    record = None if profile.account is None else profile.account.classes
    if record is not None and record.classes:
        yield _growth_table(profile, record, number, context, brief=brief)


def _growth_table(
    profile: Profile, record: ClassRecord, number: int, context: ReportContext, *, brief: bool
) -> Table:
    """The classes whose objects grew most, by bytes."""
    texts = context.texts
    columns = [
        Column(texts("column.class"), code=True),
        Column(texts("column.instances-before"), figure=True, yields=1),
        Column(texts("column.instances-after"), figure=True, yields=1),
        Column(texts("column.instances-growth"), figure=True),
        Column(texts("column.bytes-before"), figure=True, yields=2),
        Column(texts("column.bytes-after"), figure=True, yields=2),
        Column(texts("column.bytes-growth"), figure=True),
    ]
    rows = [
        [
            Cell(growth.name),
            Cell(numbers.whole(growth.before.instances), sort=growth.before.instances),
            Cell(numbers.whole(growth.after.instances), sort=growth.after.instances),
            Cell(f"{growth.instances:+,}", sort=growth.instances),
            Cell(numbers.size(growth.before.bytes), sort=growth.before.bytes),
            Cell(numbers.size(growth.after.bytes), sort=growth.after.bytes),
            Cell(_signed_size(growth.bytes), sort=growth.bytes),
        ]
        for growth in (record.classes[:MOST_ROWS_IN_BRIEF] if brief else record.classes)
    ]
    note = texts("table.classes.note", shown=len(rows), count=record.grown)
    title = texts("table.classes", treatment=profile.treatment)
    return Table(f"table-classes-{number}", title, columns, rows, note)


def _signed_size(value: int) -> str:
    return f"{'−' if value < 0 else '+'}{numbers.size(abs(value))}"


PRESENTATION = Presentation(
    kind="jvm-classes", findings=_findings, meaning="jvm-classes.meaning", tables=_growth
)
