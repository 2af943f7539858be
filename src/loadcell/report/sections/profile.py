"""Profiles of the target: of each a flame graph, its functions and outermost frames, and what it cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from loadcell.analysis import error_codes, flames
from loadcell.analysis.finding import Finding, Subject
from loadcell.analysis.flames import Profile
from loadcell.model import numbers, profile_trials
from loadcell.model.message import Message, MessageCode
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
from loadcell.report.profiles import presentation_of
from loadcell.report.profiles.presentation import Presentation, Title
from loadcell.store.layout import FLAMES, FOLDED, TRIALS

#: In place of a value that is not there.
NO_VALUE = MessageCode("mark.none", "info")()
PROFILE_FAILED = MessageCode("found.profile.failed", "caution", treatment=str, reason=str, advice=str)

#: Functions in the table: beyond the thirtieth none has a share that anyone would act on.
MOST_FUNCTIONS = 30


def profiles(context: ReportContext) -> list[Profile]:
    """Every profile of the run, also those that could not be taken."""
    profiles = []
    scored = {treatment.id: treatment.throughput.median for treatment in context.analysis.treatments}
    for record in context.stored.unscored:
        if record.role == profile_trials.ROLE:
            profiles.append(_profile(record, scored, context))
    return profiles


def _profile(record: TrialRecord, scored: Mapping[str, float | None], context: ReportContext) -> Profile:
    path = context.stored.directory(record.name) / FOLDED
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    return Profile(
        trial=record.name,
        kind=shown_of(record).kind,
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
    kinds = list(dict.fromkeys(_shown(profile) for profile in drawn))
    blocks: list[Block] = [Paragraph(context.texts(kind.meaning)) for kind in kinds]
    for number, profile in enumerate(drawn, 1):
        blocks.append(Sentences(findings(profile)))
        if profile.stacks:
            blocks += [flame(profile, number, context), functions(profile, number, context)]
            if _shown(profile).processes:
                blocks.append(processes(profile, number, context))
        blocks += _shown(profile).tables(profile, number, context, False)
    title = max((kind.title for kind in kinds), key=list(Title).index)
    return Section("profile", context.texts(title), blocks)


def tables(context: ReportContext, *, brief: bool = False) -> list[Table]:
    """Tables of findings besides stacks, of each profile."""
    numbered = enumerate(profiles(context), 1)
    return [
        table
        for number, profile in numbered
        for table in _shown(profile).tables(profile, number, context, brief)
    ]


def findings(profile: Profile) -> list[Finding]:
    """The profile, its overhead, and how far it can be trusted; or why there is none."""
    return [Finding(Subject.PROFILE, message, (profile.trial,)) for message in _messages(profile)]


def _messages(profile: Profile) -> Iterator[Message]:
    if profile.account is None:
        reason, advice = profile.why or NO_VALUE, profile.remedy or NO_VALUE
        yield PROFILE_FAILED(treatment=profile.treatment, reason=reason, advice=advice)
    else:
        yield from _shown(profile).findings(profile, profile.account)


def shown_of(record: TrialRecord) -> Presentation:
    """Presentation of a trial's profile; of one that failed, by the name of the trial."""
    if record.profile is not None:
        return presentation_of(record.profile.kind)
    return presentation_of(profile_trials.kind_of(record.name, record.treatment))


def _shown(profile: Profile) -> Presentation:
    return presentation_of(profile.kind)


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
