"""Where the target's CPU time goes: a flame graph of each profile, its functions and processes, and what it
cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from loadcell.analysis import error_codes, flames
from loadcell.analysis.finding import Finding, Subject
from loadcell.analysis.flames import Profile
from loadcell.model import numbers
from loadcell.model.message import Change, Count, Message, MessageCode, Rate, Seconds, Share
from loadcell.model.profile_record import ProfileRecord
from loadcell.model.trial_record import TrialRecord
from loadcell.report.blocks import (
    FLAME_KINDS,
    Block,
    Cell,
    Column,
    Flame,
    Paragraph,
    Section,
    Sentences,
    Table,
)
from loadcell.report.context import ReportContext
from loadcell.report.sections import jvm_profiles
from loadcell.report.sections.profile_kinds import (
    CPU,
    JVM_ALLOCATION,
    JVM_CLASSES,
    JVM_CPU,
    JVM_LOCK,
    OFF_CPU,
    SHOWN,
    Shown,
    kind_of_trial,
)
from loadcell.store.layout import FLAMES, FOLDED, TRIALS

#: In place of a value that is not there.
NO_VALUE = MessageCode("mark.none", "info")()
PROFILE_FAILED = MessageCode("found.profile.failed", "caution", treatment=str, reason=str, advice=str)
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
PROFILE_COST = MessageCode(
    "found.profile.cost", "info", throughput_per_s=Rate, scored_per_s=Rate, change=Change
)
PROFILE_IN_CLIENT = MessageCode("found.profile.in-client", "info")()
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
PROFILE_FEW = MessageCode("found.profile.few", "caution", treatment=str, samples=Count, option=str)
PROFILE_WIDEST = MessageCode("found.profile.widest", "info", functions=list, threshold_share=Share)
PROFILE_NONE_WIDE = MessageCode("found.profile.none-wide", "info", function=str, widest_share=Share)
PROFILE_UNRESOLVED = MessageCode("found.profile.unresolved", "caution", treatment=str, unresolved_share=Share)

#: Functions in the table: beyond the thirtieth none has a share that anyone would act on.
MOST_FUNCTIONS = 30
#: With fewer samples, a share of 10% is not known to within 6 percentage points.
FEW_SAMPLES = 100
#: From this share on, code without names hides what the picture is for.
MUCH_UNRESOLVED = 0.2
_SHARE_SHOWN = 0.1
#: Self share of a wide function: halving its time gains at most 5% (Amdahl's law).
WIDE = 0.1
#: Functions that the sentence on the widest ones names.
MOST_WIDE = 3
_US_PER_S = 1e6
_OF_JVM: Mapping[str, Callable[[Profile, ProfileRecord], Iterator[Message]]] = {
    JVM_ALLOCATION: jvm_profiles.allocation,
    JVM_LOCK: jvm_profiles.lock,
    JVM_CLASSES: jvm_profiles.classes,
}


def profiles(context: ReportContext) -> list[Profile]:
    """Every profile of the run, also those that could not be taken."""
    profiles = []
    scored = {treatment.id: treatment.throughput.median for treatment in context.analysis.treatments}
    for record in context.stored.unscored:
        if record.role == "profile":
            profiles.append(_profile(record, scored, context))
    return profiles


def _profile(record: TrialRecord, scored: Mapping[str, float | None], context: ReportContext) -> Profile:
    path = context.stored.directory(record.name) / FOLDED
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    return Profile(
        trial=record.name,
        treatment=context.labels.get(record.treatment, record.treatment),
        status=str(record.status),
        why=error_codes.why(record),
        remedy=error_codes.remedy(record),
        account=record.profile,
        measured_s=record.measure.duration_s if record.measure else None,
        throughput_per_s=record.totals.throughput_per_s if record.totals else None,
        scored_per_s=scored.get(record.treatment),
        stacks=flames.read(text),
    )


def section(context: ReportContext) -> Section | None:
    """None where nothing was profiled."""
    drawn = profiles(context)
    if not drawn:
        return None
    kinds = {_kind(profile) for profile in drawn}
    blocks: list[Block] = [Paragraph(context.texts(SHOWN[kind].meaning)) for kind in SHOWN if kind in kinds]
    for number, profile in enumerate(drawn, 1):
        blocks.append(Sentences(findings(profile)))
        if profile.stacks:
            blocks += [
                flame(profile, number, context),
                functions(profile, number, context),
                processes(profile, number, context),
            ]
        record = None if profile.account is None else profile.account.classes
        if record is not None and record.classes:
            blocks.append(jvm_profiles.growth_table(profile, record, number, context))
    title = "section.profile"
    if any(kind.startswith("jvm-") for kind in kinds):
        title = "section.profile.jvm"
    elif OFF_CPU in kinds:
        title = "section.profile.waits"
    return Section("profile", context.texts(title), blocks)


def growth(context: ReportContext, *, brief: bool = False) -> list[Table]:
    """The classes that grew during the load, a table for each profile of them."""
    tables = []
    for number, profile in enumerate(profiles(context), 1):
        record = None if profile.account is None else profile.account.classes
        if record is not None and record.classes:
            tables.append(jvm_profiles.growth_table(profile, record, number, context, brief=brief))
    return tables


def findings(profile: Profile) -> list[Finding]:
    """The profile, its overhead, and how far it can be trusted; or why there is none."""
    return [Finding(Subject.PROFILE, message, (profile.trial,)) for message in _messages(profile)]


def _messages(profile: Profile) -> Iterator[Message]:
    samples, treatment = profile.samples, profile.treatment
    if profile.account is None:
        reason, advice = profile.why or NO_VALUE, profile.remedy or NO_VALUE
        yield PROFILE_FAILED(treatment=treatment, reason=reason, advice=advice)
        return
    if profile.account.kind == OFF_CPU:
        yield from _off_cpu(profile, profile.account)
        return
    if (messages := _OF_JVM.get(profile.account.kind)) is not None:
        yield from messages(profile, profile.account)
        if profile.account.classes is None:
            yield from _cost(profile, profile.account)
        return
    if not samples:
        yield PROFILE_NOTHING(treatment=treatment)
        return
    yield PROFILE_TAKEN(
        treatment=treatment,
        samples=samples,
        event=profile.account.event,
        frequency=profile.account.frequency or 0,
        duration_s=profile.measured_s or 0.0,
        half_points=numbers.significant(flames.uncertainty(_SHARE_SHOWN, samples) * 100, 2),
    )
    yield from _cost(profile, profile.account)
    if profile.account.kind == JVM_CPU:
        yield from jvm_profiles.cpu(profile, profile.account)
    if samples < FEW_SAMPLES:
        option = f"profile.{profile.account.kind}.frequency"
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


def _cost(profile: Profile, account: ProfileRecord) -> Iterator[Message]:
    """Overhead of the profile, and what else is in it."""
    if profile.cost is not None:
        yield PROFILE_COST(
            throughput_per_s=profile.throughput_per_s,
            scored_per_s=profile.scored_per_s,
            change=profile.cost,
        )
    if account.in_client:
        yield PROFILE_IN_CLIENT


def _off_cpu(profile: Profile, account: ProfileRecord) -> Iterator[Message]:
    """Findings of a profile of waits, whose counts are microseconds."""
    if not profile.samples:
        yield OFF_CPU_NOTHING(treatment=profile.treatment)
        return
    yield OFF_CPU_TAKEN(
        treatment=profile.treatment,
        waits=account.waits or 0,
        recorded=account.samples,
        waited_s=profile.samples / _US_PER_S,
        duration_s=profile.measured_s or 0.0,
    )
    yield from _cost(profile, account)
    longest = flames.waits(profile.stacks)[:MOST_WIDE]
    if longest:
        yield OFF_CPU_LONGEST(
            functions=[f"{name} {numbers.share(time_us / profile.samples)}" for name, time_us in longest]
        )


def _kind(profile: Profile) -> str:
    """Kind of a profile; of one that failed, by the name of its trial."""
    kind = profile.account.kind if profile.account is not None else kind_of_trial(profile.trial)
    return kind if kind in SHOWN else CPU


def _shown(profile: Profile) -> Shown:
    return SHOWN[_kind(profile)]


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


def flame(profile: Profile, number: int, context: ReportContext) -> Flame:
    """The picture."""
    texts, file, shown = context.texts, f"{TRIALS}/{profile.trial}/{FLAMES}", _shown(profile)
    return Flame(
        id=f"flame-{number}",
        title=texts(shown.flame, treatment=profile.treatment),
        caption=texts("flame.caption", file=file),
        plain=texts("flame.plain", file=file),
        root=flames.tree(profile.stacks),
        unit=texts(shown.unit) if shown.unit else "",
    )


def functions(profile: Profile, number: int, context: ReportContext) -> Table:
    """The functions on which most samples fell, and all others together."""
    texts, samples, shown = context.texts, profile.samples, _shown(profile)
    listed, others = flames.ranked(profile.stacks, MOST_FUNCTIONS)
    rows = [
        [
            Cell(function.name),
            Cell(texts(FLAME_KINDS(function.kind))),
            _share(function.self_samples, profile),
            Cell(numbers.share(function.total / samples), sort=function.total),
            _amount(function, profile),
        ]
        for function in listed
    ]
    if others is not None:
        rows.append(
            [
                Cell(texts("functions.others", count=others.count)),
                Cell(texts("kind.several")),
                _share(others.self_samples, profile),
                Cell(numbers.share(others.total / samples), sort=others.total),
                _amount(others, profile),
            ]
        )
    columns = [
        Column(texts("column.function"), code=True),
        Column(texts("column.kind")),
        Column(texts("column.self"), figure=True),
        Column(texts("column.total"), figure=True),
        Column(texts(shown.column), figure=True),
    ]
    return Table(
        f"table-functions-{number}",
        texts(shown.functions, treatment=profile.treatment),
        columns,
        rows,
        texts(shown.note)
        if not shown.is_sampled
        else texts(
            shown.note,
            shown=len(listed),
            count=len(listed) + (others.count if others is not None else 0),
            samples=samples,
            least=flames.LEAST_RESOLVED,
        ),
    )


def _amount(function: flames.Function | flames.Others, profile: Profile) -> Cell:
    """A function's own samples, or all that is below it, such as the time of waits."""
    return _count(function.total if _shown(profile).by_total else function.self_samples, profile)


def _count(count: int, profile: Profile) -> Cell:
    """Samples, or a time or size."""
    return Cell(_shown(profile).amount(count), sort=count)


def _share(count: int, profile: Profile) -> Cell:
    """A share of the samples; for too few samples, an upper bound."""
    samples = profile.samples
    if _shown(profile).is_sampled and 0 < count < flames.LEAST_RESOLVED < samples:
        return Cell(f"<{numbers.share(flames.LEAST_RESOLVED / samples)}", sort=count)
    return Cell(numbers.share(count / samples), sort=count, bar=count / samples)


def processes(profile: Profile, number: int, context: ReportContext) -> Table:
    """The processes on which samples fell."""
    texts, shown = context.texts, _shown(profile)
    rows = [
        [
            Cell(name),
            _share(count, profile),
            _count(count, profile),
        ]
        for name, count in flames.processes(profile.stacks)
    ]
    columns = [
        Column(texts(shown.outermost), code=True),
        Column(texts("column.share"), figure=True),
        Column(texts(shown.column), figure=True),
    ]
    title = texts(shown.processes, treatment=profile.treatment)
    return Table(f"table-processes-{number}", title, columns, rows)
