"""The brief report of a run, as a terminal shows it: result table, findings, and what to look at next."""

from __future__ import annotations

from collections.abc import Sequence

from loadcell.analysis import error_codes
from loadcell.analysis.compare import sides
from loadcell.analysis.import_findings import samples_alone
from loadcell.analysis.open_loop import all_results, open_loop_result
from loadcell.analysis.treatments import Treatment
from loadcell.analysis.trials import Trial, lack
from loadcell.model import numbers
from loadcell.report.blocks import (
    Block,
    Cell,
    Code,
    Column,
    Link,
    Paragraph,
    Remark,
    Report,
    Section,
    Sentences,
    Table,
)
from loadcell.report.context import STATUS, ReportContext
from loadcell.report.sections import (
    breakdown,
    environment,
    faults,
    jvm,
    memory,
    numbered_writes,
    profile,
    provenance,
    resources,
    summary,
)
from loadcell.report.sections.breakdown import factor_columns
from loadcell.report.values import foremost, metric_value
from loadcell.store.layout import FLAMES, OUTPUT, quoted, resume_command
from loadcell.store.read import StoredRun

#: More rows than this scroll the sentences below them away.
MOST_ROWS = 40
#: Trials that do not count of which the reasons are shown; the report has all of them.
MOST_REASONS = 3
#: Systems under test that are named.
MOST_SYSTEMS = 4

_BROKEN = ("failed", "timed-out", "invalid")
#: Response times of a row.
_TIMES = {
    "mean_ms": "terminal.mean",
    "p50_ms": "terminal.p50",
    "p95_ms": "terminal.p95",
    "p99_ms": "terminal.p99",
}
#: Response times that are left out where the better one is known.
_BETTER = {"terminal.p95": "terminal.p99"}


def of_run(stored: StoredRun, language: str) -> Report:
    """The brief report of a stored run. It needs neither charts nor frames."""
    return build(ReportContext.of(stored, language))


def build(context: ReportContext) -> Report:
    """The brief report of an analysed run."""
    texts = context.texts
    findings = summary.findings(context)
    homes = [summary.section_of(finding) for finding in findings]
    links = [None if home == summary.SUMMARY else Link(home, texts(f"section.{home}")) for home in homes]
    lost, used = memory.lost_memory(context, brief=True), resources.brief(context)
    writes = numbered_writes.table(context)
    broken = [*faults.brief(context), *([] if writes is None else [writes])]
    operations = breakdown.of_operations(context)
    next_blocks = [Code(reason, command) for reason, command in next_steps(context)]
    provenance_section = Section("provenance", "", [Paragraph(line, quiet=True) for line in _origin(context)])
    if (reasons := _nothing_measured(context)) is not None:
        sections = [
            provenance_section,
            Section("findings", "", reasons),
            Section("next", texts("terminal.next"), next_blocks),
        ]
        return frame(context, sections, context.stored.run.question_in(texts.language))
    sections = [
        provenance_section,
        Section("results", "", _results(context) or _samples(context)),
        Section("faults", "", broken),
        Section("operations", "", [] if operations is None else [operations]),
        Section("resources", "", [] if used is None else [used]),
        Section("memory", "", [*([] if lost is None else [lost]), *profile.tables(context, brief=True)]),
        Section("findings", "", [Sentences(findings, links), *_reasons(context)]),
        Section("next", texts("terminal.next"), next_blocks),
    ]
    return frame(context, sections, context.stored.run.question_in(texts.language))


def _origin(context: ReportContext) -> list[str]:
    """Labels and commit, facts that the plan states, the run that was repeated, and the systems under test,
    in a line each.
    """
    colon, facts = context.texts("mark.colon"), context.stored.run.about or {}
    stated = " · ".join(f"{name}{colon}{text}" for name, text in facts.items())
    source = context.stored.run.repeats_run
    repeated = "" if source is None else context.texts("terminal.repeats-run", run=source.id)
    lines = (_names(context), stated, repeated, " · ".join(_systems(context)))
    return [line for line in lines if line]


def _samples(context: ReportContext) -> list[Block]:
    """Pauses of a garbage collector, of an import without a load."""
    table = jvm.pauses(context)
    return [] if table is None else [table]


def _names(context: ReportContext) -> str:
    """`labels: branch=main · git commit: 3f2a9c1d2e-dirty`."""
    run, texts = context.stored.run, context.texts
    labels, colon = provenance.labels(run), texts("mark.colon")
    parts = [f"{texts('terminal.labels')}{colon}{' '.join(labels)}"] if labels else []
    if run.checkout is not None and run.checkout.name:
        parts.append(f"{texts('terminal.commit')}{colon}{run.checkout.name}")
    return " · ".join(parts)


def _systems(context: ReportContext) -> list[str]:
    """Systems under test with their version and where they come from: `PostgreSQL 16.4 (embedded)`."""
    described = (facts for system in context.systems for facts in system.described)
    names = list(
        dict.fromkeys(name for facts in described if (name := environment.in_line(facts, context.texts)))
    )
    return [*names[:MOST_SYSTEMS], *(["…"] if len(names) > MOST_SYSTEMS else [])]


def frame(context: ReportContext, sections: Sequence[Section], question: str = "") -> Report:
    """A brief report with the run's title."""
    stored, texts = context.stored, context.texts
    title = stored.run.title_in(texts.language) or stored.id
    return Report(
        texts.language, title, question, stored.id, (), sections, unit=texts.unit, micro=texts.micro
    )


def _results(context: ReportContext) -> list[Block]:
    """The result table with its notes."""
    treatments, texts = context.analysis.treatments, context.texts
    if not treatments or samples_alone(context.stored.run):
        return []
    blocks: list[Block] = [table(context)]
    hidden = len(treatments) - len(_shown(context))
    if hidden > 0:
        blocks.append(Paragraph(texts("terminal.more-rows", count=hidden), quiet=True))
    repeated = any(len(treatment.throughput.values) > 1 for treatment in treatments)
    ranges = repeated and not context.has_intervals and not _is_open(context)
    if ranges and _foremost(context) is None:
        blocks.append(Paragraph(texts("terminal.descriptive"), quiet=True))
    if lack(context.analysis.trials, ("p50_ms", "p99_ms")):
        blocks.append(Paragraph(texts("terminal.left-out"), quiet=True))
    return blocks


def _nothing_measured(context: ReportContext) -> list[Remark] | None:
    """The reasons of a run none of whose trials was measured; None of any other run, or without a reason."""
    trials, texts = context.analysis.trials, context.texts
    if any(trial.throughput_per_s is not None or trial.counts for trial in trials):
        return None
    subject = texts("terminal.nothing-measured")
    return [
        Remark("problem", texts.recorded(trial.why), subject, texts.recorded(trial.remedy))
        for trial in _with_reasons(context)
    ] or None


def _with_reasons(context: ReportContext) -> list[Trial]:
    """Trials that do not count: each reason once, by the first trial that has it."""
    broken = [trial for trial in context.analysis.trials if trial.status in _BROKEN and trial.why is not None]
    reasons = {context.texts.recorded(trial.why): trial for trial in reversed(broken)}
    return list(reversed(reasons.values()))[:MOST_REASONS]


def _reasons(context: ReportContext) -> list[Remark]:
    """Why trials do not count, and what to do about it."""
    return [trouble(trial, context) for trial in _with_reasons(context)]


def trouble(trial: Trial, context: ReportContext, *, of_call: bool = False) -> Remark:
    """One trial that does not count: its state, the reason, and what to do.

    `of_call`: the load has no plan file.
    """
    texts = context.texts
    names = [trial.name] if len(context.analysis.trials) > 1 else []
    subject = texts("mark.colon").join([*names, texts(STATUS(trial.status))])
    remedy = trial.why.call_remedy if of_call and trial.why is not None else None
    return Remark("problem", texts.recorded(trial.why), subject, texts.recorded(remedy or trial.remedy))


def next_steps(context: ReportContext) -> list[tuple[str, str]]:
    """Next steps: the reason, and the command or file."""
    texts, stored = context.texts, context.stored
    path = environment.shown(stored.path)
    page = stored.path / "report.html"
    steps = []
    if page.is_file():
        steps.append((texts("terminal.report"), str(path / "report.html")))
    else:
        steps.append((texts("terminal.write-report"), f"loadcell report {quoted(path)}"))
    for record in context.stored.unscored:
        if FLAMES in (record.files or {}):
            picture = stored.directory(record.name) / FLAMES
            steps.append((texts(profile.shown_of(record).next_step), str(environment.shown(picture))))
    broken = [trial for trial in context.analysis.trials if trial.status in _BROKEN]
    for trial in broken[:MOST_REASONS]:
        log = stored.directory(trial.name) / OUTPUT
        if log.is_file():  # a trial that was never started has no output
            steps.append((texts("terminal.output", trial=trial.name), str(environment.shown(log))))
    if stored.run.aa:
        steps.append((texts("terminal.compare-arms"), f"loadcell compare {quoted(path)}"))
    if (command := compare_command(context)) is not None:
        steps.append((texts("terminal.compare-levels"), command))
    if any(trial.status in {"not-run", "aborted"} for trial in context.analysis.trials):
        steps.append((texts("terminal.resume"), resume_command(path, stored.run.resumed_by)))
    return steps


def compare_command(context: ReportContext) -> str | None:
    """The command that compares levels of this run's factor, of several the one with the largest effect;
    None where there are no levels to compare.
    """
    analysis, run = context.analysis, context.stored.run
    measured = [treatment for treatment in analysis.treatments if treatment.measured]
    keys = sides.factors(run)
    if run.aa or analysis.searches or not analysis.comparable or len(measured) < 2 or not keys:
        return None
    command = f"loadcell compare {quoted(environment.shown(context.stored.path))}"
    if len(keys) == 1:
        return command
    mains = analysis.effects.mains
    return f"{command} --factor {quoted(mains[0].key if mains else keys[0])}"


def _shown(context: ReportContext) -> Sequence[Treatment]:
    """The rows there is room for, the best treatment always among them."""
    treatments = context.analysis.treatments
    if len(treatments) <= MOST_ROWS:
        return treatments
    first = list(treatments[:MOST_ROWS])
    if context.best is not None and context.best not in first:
        first[-1] = context.best
    return first


def table(context: ReportContext) -> Table:
    """A row a treatment: its levels, its throughput, response times, errors, and trials that succeeded."""
    texts, shown = context.texts, _shown(context)
    values = _open_loop(context, shown) if _is_open(context) else _closed_loop(context, shown)
    values = {key: column for key, column in values.items() if any(cell is not None for cell in column)}
    values = {key: column for key, column in values.items() if _BETTER.get(key) not in values}
    foremost = _foremost(context)
    if foremost is not None:
        # The metric asked for takes the place of the interval of the throughput it is derived from.
        values.pop("terminal.interval", None)
        items = list(values.items())
        items.insert(1, (error_codes.figure_code(foremost), _figure(foremost, shown)))
        values = dict(items)
    titles = {"terminal.throughput": "terminal.throughput.mixed"} if context.mixed else {}
    descriptive = {item.throughput.descriptive_only for item in shown if len(item.throughput.values) > 1}
    if len(descriptive) == 1:
        titles["terminal.interval"] = "compact.range" if descriptive == {True} else "column.interval"
    names, name = treatment_names(context, shown)
    columns = [
        Column(name),
        *(Column(texts(titles.get(key, key)), figure=True) for key in values),
        Column(texts("column.errors"), figure=True),
        Column(texts("terminal.ok"), figure=True),
    ]
    rows = []
    for position, treatment in enumerate(shown):
        strong = treatment is context.best and len(shown) > 1
        complete = set(treatment.statuses) <= {"ok"}
        succeeded = f"{treatment.statuses.get('ok', 0)}/{len(treatment.trials)}"
        failed = numbers.whole(treatment.failed)
        rows.append(
            [
                *(
                    Cell(text or texts("mark.none"), strong=strong)
                    for text in (names[position], *(column[position] for column in values.values()))
                ),
                Cell(failed, tone="problem" if treatment.failed else "", strong=strong),
                Cell(succeeded, tone="" if complete else "caution", strong=strong),
            ]
        )
    return Table("table-results", "", columns, rows)


def treatment_names(context: ReportContext, treatments: Sequence[Treatment]) -> tuple[list[str], str]:
    """Labels of treatments in one column, and its heading: their levels, or their names."""
    factors = factor_columns(context)
    names = [
        ", ".join(treatment.levels[key] for key, _, _ in factors) or treatment.label
        for treatment in treatments
    ]
    titles = [short for _, short, _ in factors] or [context.texts("column.treatment")]
    return names, context.texts("mark.list").join(titles)


def _is_open(context: ReportContext) -> bool:
    return bool(all_results(context.analysis.treatments))


def _foremost(context: ReportContext) -> str | None:
    """The metric of the workload that the whole run is about."""
    return foremost([treatment for treatment in context.analysis.treatments if treatment.measured])


def _figure(name: str, treatments: Sequence[Treatment]) -> list[str | None]:
    metrics = [treatment.figures.get(name) for treatment in treatments]
    return [
        None if metric is None or metric.median is None else metric_value(name, metric.median, treatment)
        for treatment, metric in zip(treatments, metrics, strict=True)
    ]


def _closed_loop(context: ReportContext, treatments: Sequence[Treatment]) -> dict[str, list[str | None]]:
    """Columns by the key of their title."""
    columns = {
        "terminal.throughput": [
            context.throughput(treatment) if treatment.throughput.median is not None else None
            for treatment in treatments
        ],
        "terminal.interval": [
            interval(treatment) if len(treatment.throughput.values) > 1 else None for treatment in treatments
        ],
    }
    return columns | {_TIMES[key]: _latencies(context, treatments, key) for key in _TIMES}


def _open_loop(context: ReportContext, treatments: Sequence[Treatment]) -> dict[str, list[str | None]]:
    """The same for an open loop; of a closed loop among them what it has of this."""
    loops = [open_loop_result(treatment) for treatment in treatments]
    offered = [loop.offered.median if loop else None for loop in loops]
    achieved = [
        treatment.throughput.median if loop is None else loop.achieved.median
        for treatment, loop in zip(treatments, loops, strict=True)
    ]
    service = [loop.service["p99_ms"].median if loop else None for loop in loops]
    return {
        "terminal.offered": _written(offered, numbers.rate),
        "terminal.throughput": _written(achieved, numbers.rate),
        **{_TIMES[key]: _latencies(context, treatments, key) for key in ("p50_ms", "p99_ms")},
        "terminal.service-p99": _written(service, context.texts.time),
    }


def _latencies(context: ReportContext, treatments: Sequence[Treatment], key: str) -> list[str | None]:
    return _written([treatment.latency_ms(key) for treatment in treatments], context.texts.time)


def _written(values: Sequence[float | None], write: numbers.Write) -> list[str | None]:
    return [None if value is None else write(value) for value in values]


def interval(treatment: Treatment) -> str | None:
    """`1,172–1,233`: the interval of the median throughput, or with few repeats their range."""
    ends = treatment.throughput.reach
    return None if ends is None else "–".join(map(numbers.rate, ends))
