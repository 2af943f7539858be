"""Findings of profiles whose widths are samples of CPU time."""

from __future__ import annotations

from collections.abc import Iterator

from loadcell.analysis import flames
from loadcell.analysis.flames import Profile
from loadcell.model import numbers
from loadcell.model.message import Count, Message, MessageCode, Seconds, Share
from loadcell.model.profile_record import ProfileRecord
from loadcell.report.profiles.presentation import Findings, cost

PROFILE_NOTHING = MessageCode("found.profile.nothing", "caution", treatment=str)
PROFILE_TAKEN = MessageCode(
    "found.profile.taken",
    "info",
    treatment=str,
    samples=Count,
    event=str,
    frequency=Count,
    duration_s=Seconds,
    half_points=str,
)
PROFILE_FEW = MessageCode("found.profile.few", "caution", treatment=str, samples=Count, option=str)
PROFILE_WIDEST = MessageCode("found.profile.widest", "info", functions=list, threshold_share=Share)
PROFILE_NONE_WIDE = MessageCode("found.profile.none-wide", "info", function=str, widest_share=Share)
PROFILE_UNRESOLVED = MessageCode("found.profile.unresolved", "caution", treatment=str, unresolved_share=Share)

#: With fewer samples, a share of 10% is not known to within 6 percentage points.
FEW_SAMPLES = 100
#: From this share on, code without names hides what the picture is for.
MUCH_UNRESOLVED = 0.2
_SHARE_SHOWN = 0.1
#: Self share of a wide function: halving its time gains at most 5% (Amdahl's law).
WIDE = 0.1
#: Functions that the sentence on the widest ones names.
MOST_WIDE = 3


def _nothing_more(profile: Profile, account: ProfileRecord) -> Iterator[Message]:  # noqa: ARG001
    yield from ()


def findings(
    profile: Profile, account: ProfileRecord, restrictions: Findings = _nothing_more
) -> Iterator[Message]:
    """The samples with their error, the `restrictions` of the kernel, and the widest functions."""
    samples, treatment = profile.samples, profile.treatment
    if not samples:
        yield PROFILE_NOTHING(treatment=treatment)
        return
    yield PROFILE_TAKEN(
        treatment=treatment,
        samples=samples,
        event=account.event,
        frequency=account.frequency or 0,
        duration_s=profile.measured_s or 0.0,
        half_points=numbers.significant(flames.uncertainty(_SHARE_SHOWN, samples) * 100, 2),
    )
    yield from cost(profile, account)
    yield from restrictions(profile, account)
    if samples < FEW_SAMPLES:
        option = f"profile.{account.kind}.frequency"
        yield PROFILE_FEW(treatment=treatment, samples=samples, option=option)
    if samples >= FEW_SAMPLES and (widest := widest_functions(profile)) is not None:
        yield widest
    unresolved = sum(
        function.self_samples
        for function in flames.functions(profile.stacks)
        if function.kind == "unresolved"
    )
    if unresolved / samples >= MUCH_UNRESOLVED:
        yield PROFILE_UNRESOLVED(treatment=treatment, unresolved_share=unresolved / samples)


def widest_functions(profile: Profile) -> Message | None:
    """The named functions with the largest self shares, or that none is wide; None without any."""
    ranked = [function for function in flames.functions(profile.stacks) if function.kind != "unresolved"]
    if not ranked:
        return None
    shares = [(function.name, function.self_samples / profile.samples) for function in ranked[:MOST_WIDE]]
    wide = [f"{name} {numbers.share(share)}" for name, share in shares if share >= WIDE]
    if wide:
        return PROFILE_WIDEST(functions=wide, threshold_share=WIDE)
    return PROFILE_NONE_WIDE(function=shares[0][0], widest_share=shares[0][1])
