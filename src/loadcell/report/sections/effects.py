"""What each factor does and what two do together, then the configuration to choose: what it buys, what it risks."""

from __future__ import annotations

from loadcell.analysis import effects_findings, recommend_findings
from loadcell.analysis.effects import Main, Together
from loadcell.model import numbers
from loadcell.report import charts
from loadcell.report.blocks import Block, Cell, Column, Section, Sentences, Table
from loadcell.report.context import Scene


def section(scene: Scene) -> Section | None:
    """None with fewer than two factors."""
    effects = scene.analysis.effects
    said = [*effects_findings.summary(effects), *effects_findings.choices(effects)]
    if not said:
        return None
    blocks: list[Block] = [Sentences(scene.advised(said)), *charts.drawn_in("effects", scene)]
    if effects.mains:
        blocks.append(variation(scene))
    return Section("effects", scene.texts("section.effects"), blocks)


def variation(scene: Scene) -> Table:
    """Every term with the share of the variation it explains; what repeats differ by is the last row."""
    texts, effects = scene.texts, scene.analysis.effects
    columns = [
        Column(texts("column.term")),
        Column(texts("column.explained"), figure=True),
        Column(texts("column.told-apart")),
    ]
    terms: list[Main | Together] = [*effects.mains, *effects.together]
    rows = [
        [Cell(_name(term, scene)), _share(term.share), Cell(_told(term.real, scene))]
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


def _name(term: Main | Together, scene: Scene) -> str:
    names = scene.analysis.effects.names
    return names[term.key] if isinstance(term, Main) else f"{names[term.of]} × {names[term.at]}"


def _told(real: bool | None, scene: Scene) -> str:
    if real is None:
        return scene.texts("table.descriptive")
    return scene.texts("mark.yes" if real else "mark.no")


def recommendation(scene: Scene) -> Section | None:
    """None where there was no choice."""
    found = scene.analysis.recommendation
    if found is None:
        return None
    said = [
        recommend_findings.choice(found),
        *recommend_findings.buys(found),
        *recommend_findings.risks(found),
    ]
    return Section("recommendation", scene.texts("section.recommendation"), [Sentences(said)])
