"""Profiles of a kind that this version does not know: nothing is claimed about the unit of widths."""

from __future__ import annotations

from collections.abc import Iterator

from loadcell.analysis.flames import Profile
from loadcell.model.message import Message, MessageCode
from loadcell.model.profile_record import ProfileRecord
from loadcell.report.profiles.presentation import Presentation, cost

PROFILE_UNKNOWN = MessageCode("found.profile.unknown", "caution", treatment=str, kind=str, tool=str)


def _findings(profile: Profile, account: ProfileRecord) -> Iterator[Message]:
    yield PROFILE_UNKNOWN(treatment=profile.treatment, kind=account.kind, tool=account.tool)
    yield from cost(profile, account)


UNKNOWN = Presentation(
    kind="",
    findings=_findings,
    meaning="profile.unknown.meaning",
    flame="profile.unknown.flame",
    functions="profile.unknown.functions",
    note="profile.unknown.note",
    processes="profile.unknown.outermost",
    outermost="column.outermost",
    column="column.width",
    unit="profile.unknown.unit",
    next_step="terminal.profile.unknown",
    by_total=True,
)
