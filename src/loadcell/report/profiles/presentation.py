"""Declaration of a kind of profile for reports: its texts, the unit of widths, and its findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeAlias

from loadcell.analysis.flames import Profile
from loadcell.model import numbers
from loadcell.model.message import Change, Message, MessageCode, Rate
from loadcell.model.profile_record import ProfileRecord

if TYPE_CHECKING:
    from loadcell.report.blocks import Table
    from loadcell.report.context import ReportContext

PROFILE_COST = MessageCode(
    "found.profile.cost", "info", throughput_per_s=Rate, scored_per_s=Rate, change=Change
)
PROFILE_IN_CLIENT = MessageCode("found.profile.in-client", "info")()

US_PER_S: Final = 1e6

#: Findings of a profile that was taken, with the account of it.
Findings = Callable[[Profile, ProfileRecord], Iterator[Message]]

#: Tables of a profile with this number in the report; `brief`: outside the page.
Tables: TypeAlias = "Callable[[Profile, int, ReportContext, bool], Iterator[Table]]"


def _no_tables(profile: Profile, number: int, context: ReportContext, brief: bool) -> Iterator[Table]:  # noqa: ARG001
    yield from ()


class Title(StrEnum):
    """Titles of a section of profiles, from the narrowest: that of several kinds is the widest of theirs."""

    CPU = "section.profile"
    TIME = "section.profile.waits"
    ANY = "section.profile.jvm"


@dataclass(frozen=True)
class Presentation:
    """Codes of a kind's texts: `meaning` explains it; `unit` and `column` are of widths; `note` is below
    functions, `outermost` above the outermost frames; `next_step` announces the picture in a terminal.

    `amount` writes a width. `by_total`: rows of functions have all that is below them, not their own part.
    `is_sampled`: widths are samples, so that small shares have an error. A kind without stacks has
    no `flame`, one with a single outermost frame no `processes`. `tables` are of findings besides stacks.
    """

    kind: str
    findings: Findings
    meaning: str
    title: Title = Title.ANY
    flame: str = ""
    functions: str = ""
    note: str = ""
    processes: str = ""
    outermost: str = "column.thread"
    column: str = "column.samples"
    unit: str = ""
    next_step: str = ""
    amount: Callable[[float], str] = numbers.whole
    by_total: bool = False
    is_sampled: bool = False
    tables: Tables = _no_tables


def seconds(time_us: float) -> str:
    """A width in microseconds as a time."""
    return numbers.seconds(time_us / US_PER_S)


def cost(profile: Profile, account: ProfileRecord) -> Iterator[Message]:
    """Overhead of the profile, and what else is in it."""
    if profile.cost is not None:
        yield PROFILE_COST(
            throughput_per_s=profile.throughput_per_s,
            scored_per_s=profile.scored_per_s,
            change=profile.cost,
        )
    if account.in_client:
        yield PROFILE_IN_CLIENT
