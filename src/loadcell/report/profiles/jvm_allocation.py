"""Profiles of the memory that JVMs allocate; widths are bytes."""

from __future__ import annotations

from collections.abc import Iterator

from loadcell.analysis.flames import Profile
from loadcell.model import numbers
from loadcell.model.message import Bytes, Count, Message, MessageCode, Seconds
from loadcell.model.profile_record import ProfileRecord
from loadcell.report.profiles.java_classes import largest_classes
from loadcell.report.profiles.presentation import Presentation, cost

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


def _findings(profile: Profile, account: ProfileRecord) -> Iterator[Message]:
    """Allocated bytes, and the classes with the most."""
    if profile.samples:
        duration_s = profile.measured_s or 0.0
        yield JVM_ALLOCATION_TAKEN(
            treatment=profile.treatment,
            allocated_bytes=profile.samples,
            samples=account.samples,
            duration_s=duration_s,
            per_second=numbers.size(profile.samples / duration_s if duration_s else 0.0),
        )
        yield JVM_ALLOCATION_CLASSES(classes=largest_classes(profile))
    else:
        yield JVM_ALLOCATION_NOTHING(treatment=profile.treatment)
    yield from cost(profile, account)


PRESENTATION = Presentation(
    kind="jvm-allocation",
    findings=_findings,
    meaning="jvm-allocation.meaning",
    flame="jvm-allocation.flame",
    functions="jvm-allocation.functions",
    note="jvm-allocation.functions.note",
    processes="jvm-allocation.threads",
    column="column.allocated",
    unit="jvm-allocation.unit",
    next_step="terminal.profile.jvm-allocation",
    amount=numbers.size,
    by_total=True,
)
