"""Main effects and interactions, then the recommended configuration: its gain and its risks."""

from __future__ import annotations

from loadcell.analysis import effects_findings, recommend
from loadcell.analysis.effects import Interaction, MainEffect
from loadcell.model import numbers
from loadcell.report import charts
from loadcell.report.blocks import Block, Cell, Column, Section, Sentences, Table
from loadcell.report.context import ReportContext


def section(context: ReportContext) -> Section | None:
    """None with fewer than two factors."""
    effects = context.analysis.effects
    findings = [*effects_findings.summary(effects), *effects_findings.choices(effects)]
    if not findings:
        return None
    blocks: list[Block] = [Sentences(context.advised(findings)), *charts.drawn_in("effects", context)]
    if effects.mains:
        blocks.append(variation(context))
    return Section("effects", context.texts("section.effects"), blocks)


def variation(context: ReportContext) -> Table:
    """Every term with the share of the variation it explains; what repeats differ by is the last row."""
    texts, effects = context.texts, context.analysis.effects
    columns = [
        Column(texts("column.term")),
        Column(texts("column.explained"), figure=True),
        Column(texts("column.told-apart")),
    ]
    terms: list[MainEffect | Interaction] = [*effects.mains, *effects.together]
    rows = [
        [Cell(_name(term, context)), _share(term.share), Cell(_significance(term.real, context))]
        for term in sorted(terms, key=lambda term: -term.share)
    ]
    none = Cell(texts("mark.none"))
    if len(effects.mains) > 2:
        rows.append([Cell(texts("term.higher")), _share(effects.higher), none])
    if effects.repeated:
        rows.append([Cell(texts("term.noise")), _share(effects.noise), none])
    return Table("table-variation", texts("table.variation"), columns, rows, texts("table.variation.note"))


def _share(share: float) -> Cell:
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
    findings = [
        recommend.choice(chosen),
        *recommend.buys(chosen),
        *recommend.risks(chosen),
    ]
    return Section("recommendation", context.texts("section.recommendation"), [Sentences(findings)])
