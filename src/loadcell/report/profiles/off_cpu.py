"""Profiles of the time that threads are not on a CPU; widths are microseconds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.analysis import flames
from loadcell.analysis.flames import Profile
from loadcell.model import numbers
from loadcell.model.message import Count, Message, MessageCode, Seconds
from loadcell.model.profile_record import ProfileRecord
from loadcell.report.profiles.presentation import US_PER_S, Presentation, Title, cost, seconds

OFF_CPU_TAKEN = MessageCode(
    "found.off-cpu.taken",
    "info",
    treatment=str,
    waits=Count,
    recorded=Count,
    waited_s=Seconds,
    duration_s=Seconds,
)
OFF_CPU_NOTHING = MessageCode("found.off-cpu.nothing", "caution", treatment=str)
OFF_CPU_LONGEST = MessageCode("found.off-cpu.longest", "info", functions=list)

#: Functions that the sentence on the longest waits names.
_MOST_LONG: Final = 3


def _findings(profile: Profile, account: ProfileRecord) -> Iterator[Message]:
    """Number and time of waits, and the functions with the longest."""
    if not profile.samples:
        yield OFF_CPU_NOTHING(treatment=profile.treatment)
        return
    yield OFF_CPU_TAKEN(
        treatment=profile.treatment,
        waits=account.waits or 0,
        recorded=account.samples,
        waited_s=profile.samples / US_PER_S,
        duration_s=profile.measured_s or 0.0,
    )
    yield from cost(profile, account)
    longest = flames.waits(profile.stacks)[:_MOST_LONG]
    if longest:
        yield OFF_CPU_LONGEST(
            functions=[f"{name} {numbers.share(time_us / profile.samples)}" for name, time_us in longest]
        )


PRESENTATION = Presentation(
    kind="off-cpu",
    findings=_findings,
    title=Title.TIME,
    meaning="off-cpu.meaning",
    flame="off-cpu.flame",
    functions="off-cpu.functions",
    note="off-cpu.functions.note",
    processes="off-cpu.processes",
    outermost="column.process",
    column="column.waited",
    unit="off-cpu.unit",
    next_step="terminal.profile.off-cpu",
    amount=seconds,
    by_total=True,
)
