"""Profiles of the CPU time of JVMs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.analysis.flames import Profile
from loadcell.model.message import Message, MessageCode
from loadcell.model.profile_record import ProfileRecord
from loadcell.report.profiles import sampled
from loadcell.report.profiles.presentation import Presentation

JVM_CPU_USER_ONLY = MessageCode("found.jvm-cpu.user-only", "caution", treatment=str)
JVM_CPU_TIMER = MessageCode("found.jvm-cpu.timer", "caution", treatment=str, event=str)

#: Events of a profile without perf events.
_TIMERS: Final = frozenset({"ctimer", "itimer"})
_USER_ONLY: Final = ":u"


def _restrictions(profile: Profile, account: ProfileRecord) -> Iterator[Message]:
    """Parts that the kernel did not allow to sample."""
    if account.event in _TIMERS:
        yield JVM_CPU_TIMER(treatment=profile.treatment, event=account.event)
    elif account.event.endswith(_USER_ONLY):
        yield JVM_CPU_USER_ONLY(treatment=profile.treatment)


def _findings(profile: Profile, account: ProfileRecord) -> Iterator[Message]:
    return sampled.findings(profile, account, _restrictions)


PRESENTATION = Presentation(
    kind="jvm-cpu",
    findings=_findings,
    meaning="jvm-cpu.meaning",
    flame="jvm-cpu.flame",
    functions="table.functions",
    note="table.functions.note",
    processes="jvm-cpu.threads",
    next_step="terminal.profile.jvm-cpu",
    is_sampled=True,
)
