"""What went wrong: every trial that does not count, what the checks noticed, and files that are not whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loadcell.analysis import validity
from loadcell.report.blocks import Block, Cell, Column, Paragraph, Section, Table
from loadcell.report.scene import Scene
from loadcell.report.sections.results import names
from loadcell.report.values import plain


def trials(scene: Scene) -> Section:
    """Every failed, timed-out, aborted, invalid or missing trial with its reason and what to do."""
    texts = scene.texts
    rows = []
    for trial in scene.analysis.trials:
        if trial.status == "ok":
            continue
        missing = trial.status == "not-run"
        reason = texts("table.not-run") if missing else texts.recorded(trial.why) or texts("table.no-reason")
        advice = (
            texts("table.not-run.advice") if missing else texts.recorded(trial.remedy) or texts("mark.none")
        )
        rows.append(
            [
                Cell(trial.name, sort=trial.number),
                Cell(texts(f"status.{trial.status}"), tone="caution" if missing else "problem"),
                Cell(reason),
                Cell(advice),
            ]
        )
    columns = [
        Column(texts("column.trial"), code=True),
        Column(texts("column.state")),
        Column(texts("column.reason")),
        Column(texts("column.advice")),
    ]
    title = texts("section.trouble")
    blocks: list[Block] = [
        Table("table-trouble", title, columns, rows, only=True)
        if rows
        else Paragraph(texts("table.no-trouble"))
    ]
    return Section("trouble", title, blocks)


def checks(scene: Scene) -> Section:
    """Every check that noticed something, where, on what evidence, and what to do; then damaged files."""
    texts = scene.texts
    rows = [
        [
            Cell(title(name, scene)),
            Cell(names(list(where), scene)),
            Cell(evidence(next(iter(where.values())), scene)),
            Cell(texts.or_none(f"advice.{name}") or texts("advice.other")),
        ]
        for name, where in _noticed(scene).items()
    ]
    columns = [
        Column(texts("column.check")),
        Column(texts("column.trials")),
        Column(texts("column.evidence")),
        Column(texts("column.advice")),
    ]
    heading = texts("section.checks")
    blocks: list[Block] = [
        Table("table-checks", heading, columns, rows, only=True)
        if rows
        else Paragraph(texts("table.no-checks"))
    ]
    if scene.stored.damage:
        damaged = [[Cell(texts.reason(damage.reason))] for damage in scene.stored.damage]
        blocks.append(Table("table-damage", texts("table.damage"), [Column(texts("column.reason"))], damaged))
    return Section("checks", heading, blocks)


def title(name: str, scene: Scene) -> str:
    """What a check that noticed something is called."""
    return scene.texts.or_none(f"check.{name}") or scene.texts("check.other", name=name)


def _noticed(scene: Scene) -> dict[str, dict[str, Mapping[str, Any]]]:
    """Check -> trial -> evidence."""
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for trial in scene.analysis.trials:
        for doubt in validity.doubts(trial):
            found.setdefault(doubt.name, {})[trial.name] = doubt.detail
    return found


def evidence(detail: Mapping[str, Any], scene: Scene) -> str:
    """A check's detail in one line."""
    colon = scene.texts("mark.colon")
    said = [
        f"{key}{colon}{plain(key, value, scene.texts)}" for key, value in detail.items() if value is not None
    ]
    return scene.texts("mark.list").join(said) or scene.texts("mark.none")
