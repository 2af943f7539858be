"""The brief report of a load without a plan file: the metrics that users of ab, wrk, redis-benchmark and
pgbench expect.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from loadcell.analysis import ranking
from loadcell.analysis.finding import Subject
from loadcell.analysis.treatments import Treatment
from loadcell.analysis.trials import carried, lack
from loadcell.model import numbers
from loadcell.model.run_record import RUN_COMMAND
from loadcell.model.trial_record import ClientUsage, TrialRecord
from loadcell.report.blocks import (
    Block,
    Cell,
    Code,
    Column,
    Paragraph,
    Report,
    Section,
    Sentences,
    Table,
    Tone,
)
from loadcell.report.brief import compare_command, frame, interval, treatment_names, trouble
from loadcell.report.context import ReportContext
from loadcell.report.sections import environment, summary
from loadcell.report.sections.results import adds_nothing
from loadcell.stats.repeats import summarise
from loadcell.store.layout import quoted
from loadcell.store.read import StoredRun

#: Kinds of findings that are shown besides the values: answers, and doubts; all others are for the report.
_ANSWERS = (Subject.SATURATION, Subject.EFFECTS, Subject.LIMIT, Subject.MEMORY)
_DOUBTS = (
    Subject.ANSWERS, Subject.CHECKS, Subject.EXPECTATIONS, Subject.OPEN_LOOP, Subject.STEADY, Subject.SPREAD,
    Subject.TRUST,
)  # fmt: skip
#: Findings that there is room for below the values.
MOST_FINDINGS = 6
_SINGLE = ("mean_ms", "stdev_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms", "p99.9_ms", "max_ms")
_SEVERAL = ("mean_ms", "p50_ms", "p90_ms", "p99_ms", "p99.9_ms", "max_ms")
#: Columns that a narrow terminal leaves out, the first of them first; the report has them.
_SPARE = ("received", "mean_ms", "p99.9_ms")
#: The same where there are repeats: their range says more than the mean beside their medians.
_SPARE_WITH_REPEATS = ("mean_ms", "p99.9_ms", "received", "interval")
_NAMES = {"mean_ms": "compact.mean", "stdev_ms": "compact.stdev", "max_ms": "compact.max"}
#: Operations that are parts of each request, where the workload times them (HTTP).
_STAGES = {"connect": "compact.connect", "first_byte": "compact.first-byte"}
#: A server's message may be a page.
_MESSAGE = 200


@dataclass(frozen=True)
class Figures:
    """Values of one load, or medians of its repeats. Rates per second, times in ms."""

    throughput_per_s: float | None
    statements_per_s: float | None
    #: what services of HTTP sent, headers included
    received_bytes_per_s: float | None
    offered_per_s: float | None
    #: of all trials together, as the counts are
    duration_s: float
    succeeded: int
    failed: int
    retried: int
    response: Mapping[str, float]
    service: Mapping[str, float]
    #: parts of a request that are timed for themselves, by name
    stages: Mapping[str, Mapping[str, float]]


def figures(treatment: Treatment, records: Sequence[TrialRecord] = ()) -> Figures:
    """Values of the succeeded trials; without any, of all that was measured until then.

    `records` are their records.
    """
    trials = [trial for trial in treatment.trials if trial.counts] or [
        trial for trial in treatment.trials if trial.throughput_per_s is not None
    ]

    def median(values: Iterator[float | None]) -> float | None:
        return summarise(list(values)).median

    def times(kind: str) -> dict[str, float]:
        keys = _SINGLE if len(trials) == 1 else _SEVERAL
        quantiles = {key: median((getattr(trial, kind) or {}).get(key) for trial in trials) for key in keys}
        return {key: value for key, value in quantiles.items() if value is not None}

    loops = [trial.open_loop for trial in trials if trial.open_loop is not None]
    return Figures(
        median(trial.throughput_per_s for trial in trials),
        median(trial.queries_per_s for trial in trials),
        median(trial.received_bytes_per_s for trial in trials),
        median(loop.offered_per_s for loop in loops),
        sum(trial.duration_s or 0.0 for trial in trials),
        sum(trial.succeeded for trial in trials),
        sum(trial.failed for trial in trials),
        sum(trial.retried for trial in trials),
        times("response"),
        times("service") if loops else {},
        _stages(records) if len(trials) == 1 else {},
    )


def _stages(records: Sequence[TrialRecord]) -> dict[str, Mapping[str, float]]:
    """Response times of the stages of a request, by stage."""
    stages = {}
    for name in _STAGES:
        for record in records:
            stats = record.operations.get(name)
            if stats is not None and stats.response is not None:
                stages[name] = carried(stats.response.values()) or {}
    return stages


def of_run(stored: StoredRun, language: str) -> Report:
    """The brief report of a run that had no plan file. It needs neither charts nor frames."""
    context = ReportContext.of(stored, language)
    texts, treatments, trials = context.texts, context.analysis.treatments, context.analysis.trials
    results: list[Block] = (
        _single(context, treatments[0]) if len(treatments) == 1 else [_several(context, treatments)]
    )
    if lack(trials, _SINGLE if len(treatments) == 1 else _SEVERAL):
        results.append(Paragraph(texts("table.left-out"), quiet=True))
    repeats = stored.run.repeats or 1
    if repeats > 1:
        results.append(Paragraph(texts("compact.median-of", repeats=repeats), quiet=True))
    sections = [
        Section("results", "", results),
        Section("errors", "", _errors(context)),
        Section("trials", "", _reasons(context)),
        Section("findings", "", _findings(context)),
        Section("next", "", _next(context)),
    ]
    return frame(context, sections)


def _reasons(context: ReportContext) -> list[Block]:
    """Why trials do not count: each reason once, by the first trial that has it."""
    broken = [trial for trial in context.analysis.trials if trial.status != "ok"]
    first = {(trial.status, context.texts.recorded(trial.why)): trial for trial in reversed(broken)}
    return [trouble(trial, context, of_call=True) for trial in reversed(first.values())]


def _findings(context: ReportContext) -> list[Block]:
    """The main findings of the summary of a run that the values do not show."""
    condensed = ranking.condensed(summary.everything(context))
    chosen = [
        finding
        for finding in condensed
        if finding.subject in _ANSWERS
        or (finding.subject in _DOUBTS and finding.severity in ("caution", "problem"))
    ]
    findings = ranking.summary(chosen, context.analysis.trials, MOST_FINDINGS)
    return [Sentences(findings)] if findings else []


def _single(context: ReportContext, treatment: Treatment) -> list[Block]:
    """One load: rates and counts below each other, response times beside each other."""
    texts, values = context.texts, figures(treatment, context.stored.trials)
    if values.throughput_per_s is None:
        return []
    client = next((record.client for record in context.stored.trials if record.client), ClientUsage())
    ended = values.succeeded + values.failed
    work = texts(
        "compact.work",
        connections=next((trial.clients or 0 for trial in treatment.trials), 0),
        threads=len(client.threads) or 1,
        ended=ended,
        duration_s=values.duration_s,
    )
    rows: list[list[Cell]] = []

    def row(key: str, value: str, unit: str = "", tone: Tone = "", *, strong: bool = False) -> None:
        rows.append([Cell(texts(key)), Cell(value, tone=tone, strong=strong), Cell(unit)])

    row("compact.throughput", numbers.rate(values.throughput_per_s), texts("unit.per-second"), strong=True)
    if len(treatment.throughput.values) > 1:
        row(_interval_title(context), interval(treatment) or texts("mark.none"))
    if values.offered_per_s is not None:
        row("compact.offered", numbers.rate(values.offered_per_s), texts("unit.per-second"))
    if values.statements_per_s and abs(values.statements_per_s / (values.throughput_per_s or 1) - 1) > 0.001:
        row("compact.statements", numbers.rate(values.statements_per_s), texts("compact.statements.unit"))
    if values.received_bytes_per_s is not None:
        row("compact.received", numbers.size(values.received_bytes_per_s), texts("compact.received.unit"))
    row("compact.succeeded", numbers.whole(values.succeeded))
    share = texts("compact.failed.of", failed_share=values.failed / ended) if values.failed else ""
    row("compact.failed", numbers.whole(values.failed), share, "problem" if values.failed else "")
    if values.retried:
        row("compact.retried", numbers.whole(values.retried))
    if client.reconnects:
        row("compact.reconnected", numbers.whole(client.reconnects))
    columns = [Column(""), Column("", figure=True), Column("")]
    blocks: list[Block] = [Paragraph(work, quiet=True), Table("table-results", "", columns, rows)]
    return [*blocks, _times(context, values)] if values.response else blocks


def _times(context: ReportContext, values: Figures) -> Table:
    """Percentiles of response time, service time and the stages of a request."""
    texts = context.texts
    keys = [key for key in _SINGLE if key in values.response]
    kinds = {"compact.response": values.response, "compact.service": values.service}
    kinds |= {_STAGES[name]: times for name, times in values.stages.items()}
    columns = [Column(texts("compact.ms")), *(Column(_name(context, key), figure=True) for key in keys)]
    rows = [
        [Cell(texts(name)), *(Cell(_milliseconds(context, times.get(key))) for key in keys)]
        for name, times in kinds.items()
        if times
    ]
    return Table("table-times", "", columns, rows)


def _several(context: ReportContext, treatments: Sequence[Treatment]) -> Table:
    """A row a load; columns that a narrow terminal can do without give way to it."""
    texts, none = context.texts, context.texts("mark.none")
    loads = [figures(treatment) for treatment in treatments]
    rates = [load.throughput_per_s for load in loads]
    columns: dict[str, tuple[str, list[str]]] = {
        "rate": (
            texts("terminal.throughput"),
            [none if rate is None else numbers.rate(rate) for rate in rates],
        )
    }
    repeated = any(len(treatment.throughput.values) > 1 for treatment in treatments)
    if repeated:
        title = texts(_interval_title(context))
        columns["interval"] = (title, [interval(treatment) or none for treatment in treatments])
    received = [load.received_bytes_per_s for load in loads]
    if any(rate is not None for rate in received):
        sizes = [none if rate is None else numbers.size(rate) for rate in received]
        columns["received"] = (texts("compact.column.received"), sizes)
    for key in _SEVERAL:
        if any(key in load.response for load in loads):
            times = [_milliseconds(context, load.response.get(key)) for load in loads]
            columns[key] = (_name(context, key), times)
    columns["errors"] = (texts("column.errors"), [numbers.whole(load.failed) for load in loads])
    names, name = treatment_names(context, treatments)
    spare = _SPARE_WITH_REPEATS if repeated else _SPARE
    rows = []
    for position, (treatment, load) in enumerate(zip(treatments, loads, strict=True)):
        complete = all(trial.status == "ok" for trial in treatment.trials)
        tones: dict[str, Tone] = {
            "rate": "" if complete else "caution", "errors": "problem" if load.failed else ""
        }  # fmt: skip
        rows.append(
            [
                Cell(names[position]),
                *(
                    Cell(
                        cells[position],
                        tone=tones.get(key, ""),
                        strong=key == "rate" and treatment is context.best,
                    )
                    for key, (_, cells) in columns.items()
                ),
            ]
        )
    heads = [
        Column(title, figure=True, yields=spare.index(key) + 1 if key in spare else 0)
        for key, (title, _) in columns.items()
    ]
    return Table("table-results", "", [Column(name), *heads], rows, texts("compact.in-ms"))


def _interval_title(context: ReportContext) -> str:
    return "column.interval" if context.has_intervals else "compact.range"


def _name(context: ReportContext, key: str) -> str:
    """A column of times: `p50`, or a word."""
    return context.texts(_NAMES.get(key) or f"statistic.{key.removesuffix('_ms')}")


def _milliseconds(context: ReportContext, value: float | None) -> str:
    return context.texts("mark.none") if value is None else context.texts.time(value)


def _errors(context: ReportContext) -> list[Block]:
    """Every class of error: how often, its code, its meaning with the first message, and what helps."""
    texts = context.texts
    kinds: dict[str, tuple[int, str, str]] = {}
    helps: dict[str, str] = {}
    for trial in context.analysis.trials:
        for error in trial.errors:
            count, _, _ = kinds.get(error.code, (0, "", ""))
            meaning = texts.value("meaning", error.meaning)
            kinds[error.code] = (count + error.count, meaning, error.message)
            if error.remedy is not None:
                helps[error.code] = texts.recorded(error.remedy)
    rows = []
    for code, (count, meaning, message) in sorted(kinds.items(), key=lambda item: -item[1][0]):
        words = [meaning, "" if adds_nothing(code, meaning, message) else message]
        text = texts("mark.colon").join(word for word in words if word)
        rows.append(
            [Cell(numbers.whole(count), tone="problem"), Cell(code), Cell(" ".join(text[:_MESSAGE].split()))]
        )
        if code in helps:
            rows.append([Cell(""), Cell(""), Cell(helps[code])])
    columns = [Column("", figure=True), Column("", keep=True), Column("", many=True)]
    return [Table("table-errors", texts("compact.errors"), columns, rows)] if rows else []


def _next(context: ReportContext) -> list[Block]:
    """The report, how to compare levels, and how to run it again."""
    path = environment.shown(context.stored.path)
    page = context.stored.path / "report.html"
    blocks: list[Block] = (
        [Code(context.texts("compact.report"), str(path / page.name))] if page.is_file() else []
    )
    if (command := compare_command(context)) is not None:
        blocks.append(Code(context.texts("terminal.compare-levels"), command))
    return [*blocks, Code(context.texts("compact.plan"), f"{RUN_COMMAND} {quoted(path)}")]
