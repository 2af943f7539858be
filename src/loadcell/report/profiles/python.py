"""Profiles of Python functions by sampled stacks."""

from __future__ import annotations

from collections.abc import Iterator

from loadcell.analysis import flames
from loadcell.analysis.flames import Profile
from loadcell.model import numbers
from loadcell.model.message import Change, Count, Message, MessageCode, Rate, Seconds
from loadcell.model.profile_record import ProfileRecord
from loadcell.report.profiles import sampled
from loadcell.report.profiles.presentation import Presentation

PYTHON_TAKEN = MessageCode(
    "found.python-profile.taken",
    "info",
    treatment=str,
    tool=str,
    samples=Count,
    frequency=Count,
    duration_s=Seconds,
    half_points=str,
)
PYTHON_NOTHING = MessageCode("found.python-profile.nothing", "caution", treatment=str)
PYTHON_COST = MessageCode(
    "found.python-profile.cost", "info", throughput_per_s=Rate, scored_per_s=Rate, change=Change
)

_SHARE_SHOWN = 0.1


def overhead(profile: Profile) -> Iterator[Message]:
    """The throughput under the profiler."""
    if profile.cost is not None:
        yield PYTHON_COST(
            throughput_per_s=profile.throughput_per_s,
            scored_per_s=profile.scored_per_s,
            change=profile.cost,
        )


def _findings(profile: Profile, account: ProfileRecord) -> Iterator[Message]:
    """The samples with their error, and the widest functions."""
    samples = profile.samples
    if not samples:
        yield PYTHON_NOTHING(treatment=profile.treatment)
        return
    yield PYTHON_TAKEN(
        treatment=profile.treatment,
        tool=account.tool,
        samples=samples,
        frequency=account.frequency or 0,
        duration_s=profile.measured_s or 0.0,
        half_points=numbers.significant(flames.uncertainty(_SHARE_SHOWN, samples) * 100, 2),
    )
    yield from overhead(profile)
    if samples < sampled.FEW_SAMPLES:
        option = f"profile.{account.kind}.frequency"
        yield sampled.PROFILE_FEW(treatment=profile.treatment, samples=samples, option=option)
    elif (widest := sampled.widest_functions(profile)) is not None:
        yield widest


PRESENTATION = Presentation(
    kind="python",
    findings=_findings,
    meaning="python-profile.meaning",
    flame="python-profile.flame",
    functions="table.functions",
    note="table.functions.note",
    next_step="terminal.profile.python",
    is_sampled=True,
)
