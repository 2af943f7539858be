"""Where the system saturates as its load rises: statements, the picture, and every figure with its
uncertainty; and the search for a load, trial by trial.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import get_args

from loadcell.analysis import effects_findings, recommend, saturation
from loadcell.analysis.effects import Interaction, MainEffect
from loadcell.analysis.finding import Finding
from loadcell.analysis.saturation import Mark, Saturation
from loadcell.analysis.search import Searched, Step
from loadcell.analysis.usl import Estimate
from loadcell.model import numbers
from loadcell.model.message import Labels
from loadcell.model.trial_record import ExpectationResult, Stage, Why
from loadcell.report import charts
from loadcell.report.blocks import Block, Cell, Column, Paragraph, Section, Sentences, Table
from loadcell.report.context import ReportContext
from loadcell.report.sections import summary

_MARK = Labels("column.saturation", ("highest", "between", "enough", "knee", "power"))
_LAW = Labels("column.law", ("rate", "sigma", "kappa", "peak", "top", "missed"))


def section(context: ReportContext) -> Section | None:
    """None where the load was not varied."""
    lines = context.analysis.saturation
    if not lines:
        return None
    sentences = [
        finding for line in lines for finding in (saturation.statement(line), *saturation.details(line))
    ]
    sentences += saturation.reasons(lines)
    blocks: list[Block] = [*_sentences(sentences, context), *charts.drawn_in("saturation", context)]
    judged = [line for line in lines if isinstance(line, Saturation)]
    if judged:
        blocks.append(marks(judged, context))
        if any(line.law.rate is not None and line.law.rate.low is not None for line in judged):
            blocks.append(law(judged, context))
    return Section("saturation", context.texts("section.saturation"), blocks) if blocks else None


def _sentences(findings: Iterable[Finding], context: ReportContext) -> list[Block]:
    """The findings that the summary does not have."""
    sentences = summary.unsaid(context, context.advised(findings))
    return [Sentences(sentences)] if sentences else []


def marks(lines: list[Saturation], context: ReportContext) -> Table:
    """A row a line: the levels at which it saturates, and those at which it might."""
    texts = context.texts
    columns = [
        Column(texts("column.held"), keep=True),
        *(Column(texts(_MARK(name)), figure=True) for name in _MARK.names),
    ]  # fmt: skip
    rows = []
    for line in lines:
        rows.append(
            [
                Cell(line.sweep.where or texts("table.saturation.all")),
                _mark(line, line.peak, context),
                _between(line, context),
                *(_mark(line, mark, context) for mark in (line.enough, line.knee, line.power)),
            ]
        )
    return Table("table-saturation", texts("table.saturation"), columns, rows, texts("table.saturation.note"))


def _between(line: Saturation, context: ReportContext) -> Cell:
    """Where the peak lies: open to a side where no load was tried."""
    low, high = line.between
    if low is None and high is None:
        return Cell(context.texts("table.not-identified"), tone="info")
    if low is None:
        return Cell(context.texts("table.saturation.below", high=f"{high:g}"), sort=0.0)
    if high is None:
        return Cell(context.texts("table.saturation.from", low=f"{low:g}"), sort=low)
    return Cell(f"{low:g} – {high:g}", sort=low)


def _mark(line: Saturation, mark: Mark | None, context: ReportContext) -> Cell:
    """The level, and in brackets others that it might as well be."""
    if mark is None:
        return Cell(context.texts("table.not-identified"), tone="info")
    at, ends = line.load(mark), line.reach(mark)
    if ends is None or ends[0] == ends[1]:
        return Cell(f"{at:g}", sort=at)
    return Cell(f"{at:g} ({ends[0]:g} – {ends[1]:g})", sort=at)


def law(lines: list[Saturation], context: ReportContext) -> Table:
    """A row a line: the fitted law's parameters with their intervals, or that they are not identified."""
    texts = context.texts
    columns = [
        Column(texts("column.held"), keep=True),
        *(Column(texts(_LAW(name)), figure=True) for name in _LAW.names),
    ]  # fmt: skip
    rows = [
        [
            Cell(line.sweep.where or texts("table.saturation.all")),
            _estimate(line.law.rate, numbers.rate, context),
            _estimate(line.law.sigma, numbers.significant, context),
            _estimate(line.law.kappa, _millionths, context),
            _estimate(line.law.peak_load, numbers.significant, context),
            _estimate(line.law.peak_throughput, numbers.rate, context),
            Cell(texts("mark.none"))
            if line.law.missed is None
            else Cell(numbers.share(line.law.missed), sort=line.law.missed),
        ]
        for line in lines
    ]
    return Table("table-law", texts("table.law"), columns, rows, texts("table.law.note"))


def _millionths(value: float) -> str:
    return numbers.significant(value * 1e6)


def _estimate(estimate: Estimate | None, write: Callable[[float], str], context: ReportContext) -> Cell:
    if estimate is None or estimate.low is None:
        return Cell(context.texts("table.not-identified"), tone="info")
    high = "∞" if estimate.high is None else write(estimate.high)
    return Cell(f"{write(estimate.value)} ({write(estimate.low)} – {high})", sort=estimate.value)


def effects(context: ReportContext) -> Section | None:
    """None with fewer than two factors."""
    effects = context.analysis.effects
    findings = [*effects_findings.summary(effects), *effects_findings.choices(effects)]
    if not findings:
        return None
    blocks: list[Block] = [*_sentences(findings, context), *charts.drawn_in("effects", context)]
    if effects.mains:
        blocks.append(variation(context))
    return Section("effects", context.texts("section.effects"), blocks) if blocks else None


def variation(context: ReportContext) -> Table:
    """Every term with the share of the variation it explains; what repeats differ by is the last row."""
    texts, effects = context.texts, context.analysis.effects
    columns = [
        Column(texts("column.term")),
        Column(texts("column.explained"), figure=True),
        Column(texts("column.told-apart")),
    ]
    terms: list[MainEffect | Interaction] = [*effects.mains, *effects.interactions]
    rows = [
        [Cell(_name(term, context)), _share_cell(term.share), Cell(_significance(term.real, context))]
        for term in sorted(terms, key=lambda term: -term.share)
    ]
    none = Cell(texts("mark.none"))
    if len(effects.mains) > 2:
        rows.append([Cell(texts("term.higher")), _share_cell(effects.higher), none])
    if effects.repeated:
        rows.append([Cell(texts("term.noise")), _share_cell(effects.noise), none])
    return Table("table-variation", texts("table.variation"), columns, rows, texts("table.variation.note"))


def _share_cell(share: float) -> Cell:
    return Cell(numbers.share(share), sort=share, bar=share)


def _name(term: MainEffect | Interaction, context: ReportContext) -> str:
    names = context.analysis.effects.names
    return names[term.key] if isinstance(term, MainEffect) else f"{names[term.of]} × {names[term.at]}"


def _significance(real: bool | None, context: ReportContext) -> str:
    if real is None:
        return context.texts("table.descriptive")
    return context.texts("mark.yes" if real else "mark.no")


def recommendation(context: ReportContext) -> Section | None:
    """None where there was no choice."""
    chosen = context.analysis.recommendation
    if chosen is None:
        return None
    # The choice opens the section, even where the summary implies it.
    findings = summary.unsaid(context, [recommend.choice(chosen)], implied=True)
    others = [*recommend.left_out(chosen), *recommend.buys(chosen), *recommend.risks(chosen)]
    findings += summary.unsaid(context, others)
    blocks = [Sentences(findings)] if findings else []
    return Section("recommendation", context.texts("section.recommendation"), blocks) if blocks else None


STAGE = Labels("stage", get_args(Stage))
_WHY = Labels("why", get_args(Why))


def search(context: ReportContext) -> Section | None:
    """A search, trial by trial: where, why there, what came of it; None for other designs."""
    searches = context.analysis.searches
    if not searches:
        return None
    blocks: list[Block] = [Paragraph(context.texts("search.meaning"))]
    blocks += [*charts.drawn_in("search", context), search_table(context)]
    return Section("search", context.texts("section.search"), blocks)


def search_table(context: ReportContext) -> Table:
    """A row a trial, in the order they were run."""
    texts, searches = context.texts, context.analysis.searches
    several, bounded = (
        any(searched.among for searched in searches),
        any(searched.bounds for searched in searches),
    )
    columns = [
        Column(texts("column.number"), figure=True),
        *([Column(texts("column.treatment"))] if several else []),
        Column(searches[0].factor, figure=True),
        Column(texts("column.stage")),
        Column(texts("column.why")),
        Column(
            searches[0].objective.removeprefix("max ") if _is_custom(searches[0])
            else texts("column.throughput"),
            figure=True,
        ),
        *([Column(texts("column.bounds"))] if bounded else []),
        Column(texts("column.outcome")),
    ]  # fmt: skip
    steps = sorted(
        ((step, searched) for searched in searches for step in searched.steps),
        key=lambda pair: pair[0].trial.number,
    )
    rows = [
        [
            Cell(str(step.trial.number), sort=step.trial.number),
            *([Cell(searched.among)] if several else []),
            Cell(step.label, sort=searched.question.values[step.level]),
            Cell(texts(STAGE(step.stage))),
            Cell(texts(_WHY(step.why))),
            Cell(texts("mark.none"))
            if step.value is None
            else Cell(numbers.rate(step.value), sort=step.value),
            *(
                [Cell(texts("mark.list").join(map(_bound, step.bounds)) or texts("mark.none"))]
                if bounded else []
            ),
            _outcome(step, searched, context),
        ]
        for step, searched in steps
    ]  # fmt: skip
    return Table("table-search", texts("table.search"), columns, rows)


def _is_custom(searched: Searched) -> bool:
    """True if something else than throughput is looked for."""
    return searched.question.kind == "maximum" and searched.objective != "max throughput"


def _bound(bound: ExpectationResult) -> str:
    """`latency.p99 < 20ms: 14.2`, in the unit the metric has in a record."""
    metric = bound.expression.split()[0]
    value = "–" if bound.value is None else numbers.significant(bound.value)
    return f"{metric} {value}{' ms' if metric.partition('.')[0] in ('latency', 'service', 'pacing') else ''}"


def _outcome(step: Step, searched: Searched, context: ReportContext) -> Cell:
    if step.met is None:
        return Cell(context.texts("search.lost"), tone="problem")
    if step.met and searched.question.kind == "maximum" and not searched.bounds:
        return Cell(context.texts("search.measured"), tone="good")
    if step.met:
        return Cell(context.texts("search.met"), tone="good")
    return Cell(context.texts("search.too-high"), tone="caution")
