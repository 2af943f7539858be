"""Findings of profiles of JVMs, and the table of classes that grew."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.analysis import flames
from loadcell.analysis.flames import Profile
from loadcell.model import numbers
from loadcell.model.message import Bytes, Count, Message, MessageCode, Seconds
from loadcell.model.profile_record import ClassRecord, ProfileRecord
from loadcell.report.blocks import Cell, Column, Table
from loadcell.report.context import ReportContext

JVM_CPU_USER_ONLY = MessageCode("found.jvm-cpu.user-only", "caution", treatment=str)
JVM_CPU_TIMER = MessageCode("found.jvm-cpu.timer", "caution", treatment=str, event=str)
JVM_ALLOCATION_TAKEN = MessageCode(
    "found.jvm-allocation.taken",
    "info",
    treatment=str,
    allocated_bytes=Bytes,
    samples=Count,
    duration_s=Seconds,
    per_second=str,
)
JVM_ALLOCATION_NOTHING = MessageCode("found.jvm-allocation.nothing", "info", treatment=str)
JVM_ALLOCATION_CLASSES = MessageCode("found.jvm-allocation.classes", "info", classes=list)
JVM_LOCK_TAKEN = MessageCode(
    "found.jvm-lock.taken", "info", treatment=str, waited_s=Seconds, duration_s=Seconds, samples=Count
)
JVM_LOCK_NOTHING = MessageCode("found.jvm-lock.nothing", "info", treatment=str)
JVM_LOCK_CLASSES = MessageCode("found.jvm-lock.classes", "info", classes=list)
JVM_CLASSES_TAKEN = MessageCode(
    "found.jvm-classes.taken", "info", treatment=str, before_bytes=Bytes, after_bytes=Bytes, grown=str
)
JVM_CLASSES_NONE = MessageCode("found.jvm-classes.none", "good", treatment=str)

#: Events of a profile of CPU time without perf events.
_TIMERS: Final = frozenset({"ctimer", "itimer"})
_USER_ONLY: Final = ":u"
_MOST_CLASSES: Final = 3
#: Rows of classes outside the page.
MOST_ROWS_IN_BRIEF: Final = 10
_US_PER_S: Final = 1e6


def cpu(profile: Profile, account: ProfileRecord) -> Iterator[Message]:
    """Parts that the kernel did not allow to sample."""
    if account.event in _TIMERS:
        yield JVM_CPU_TIMER(treatment=profile.treatment, event=account.event)
    elif account.event.endswith(_USER_ONLY):
        yield JVM_CPU_USER_ONLY(treatment=profile.treatment)


def allocation(profile: Profile, account: ProfileRecord) -> Iterator[Message]:
    """Allocated bytes, and the classes with the most."""
    if not profile.samples:
        yield JVM_ALLOCATION_NOTHING(treatment=profile.treatment)
        return
    duration_s = profile.measured_s or 0.0
    yield JVM_ALLOCATION_TAKEN(
        treatment=profile.treatment,
        allocated_bytes=profile.samples,
        samples=account.samples,
        duration_s=duration_s,
        per_second=numbers.size(profile.samples / duration_s if duration_s else 0.0),
    )
    yield JVM_ALLOCATION_CLASSES(classes=_classes(profile))


def lock(profile: Profile, account: ProfileRecord) -> Iterator[Message]:
    """Time of waits for locks, and the locks with the longest."""
    if not profile.samples:
        yield JVM_LOCK_NOTHING(treatment=profile.treatment)
        return
    yield JVM_LOCK_TAKEN(
        treatment=profile.treatment,
        waited_s=profile.samples / _US_PER_S,
        duration_s=profile.measured_s or 0.0,
        samples=account.samples,
    )
    yield JVM_LOCK_CLASSES(classes=_classes(profile))


def _classes(profile: Profile) -> list[str]:
    """The innermost frames with the largest shares: classes of objects or of locks."""
    largest = flames.functions(profile.stacks)[:_MOST_CLASSES]
    return [
        f"{function.name} {numbers.share(function.self_samples / profile.samples)}"
        for function in largest
        if function.self_samples
    ]


def classes(profile: Profile, account: ProfileRecord) -> Iterator[Message]:
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


def growth_table(
    profile: Profile, record: ClassRecord, number: int, context: ReportContext, *, brief: bool = False
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
