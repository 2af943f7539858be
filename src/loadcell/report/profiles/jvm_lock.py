"""Profiles of the time that threads of JVMs wait for locks; widths are microseconds."""

from __future__ import annotations

from collections.abc import Iterator

from loadcell.analysis.flames import Profile
from loadcell.model.message import Count, Message, MessageCode, Seconds
from loadcell.model.profile_record import ProfileRecord
from loadcell.report.profiles.java_classes import largest_classes
from loadcell.report.profiles.presentation import US_PER_S, Presentation, cost, seconds

JVM_LOCK_TAKEN = MessageCode(
    "found.jvm-lock.taken", "info", treatment=str, waited_s=Seconds, duration_s=Seconds, samples=Count
)
JVM_LOCK_NOTHING = MessageCode("found.jvm-lock.nothing", "info", treatment=str)
JVM_LOCK_CLASSES = MessageCode("found.jvm-lock.classes", "info", classes=list)


def _findings(profile: Profile, account: ProfileRecord) -> Iterator[Message]:
    """Time of waits for locks, and the locks with the longest."""
    if profile.samples:
        yield JVM_LOCK_TAKEN(
            treatment=profile.treatment,
            waited_s=profile.samples / US_PER_S,
            duration_s=profile.measured_s or 0.0,
            samples=account.samples,
        )
        yield JVM_LOCK_CLASSES(classes=largest_classes(profile))
    else:
        yield JVM_LOCK_NOTHING(treatment=profile.treatment)
    yield from cost(profile, account)


PRESENTATION = Presentation(
    kind="jvm-lock",
    findings=_findings,
    meaning="jvm-lock.meaning",
    flame="jvm-lock.flame",
    functions="jvm-lock.functions",
    note="jvm-lock.functions.note",
    processes="jvm-lock.threads",
    column="column.lock-wait",
    unit="jvm-lock.unit",
    next_step="terminal.profile.jvm-lock",
    amount=seconds,
    by_total=True,
)
