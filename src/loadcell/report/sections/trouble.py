"""Problems: every trial that does not count, remarks of the checks, and damaged files."""

from __future__ import annotations

from loadcell.analysis import validity
from loadcell.model.json import JsonObject
from loadcell.report.blocks import Block, Cell, Column, Section, Table
from loadcell.report.context import STATUS, ReportContext
from loadcell.report.sections import check_evidence
from loadcell.report.sections.results import names

#: Trials that a row on a check names.
MOST_NAMED = 2


def trials(context: ReportContext) -> Section | None:
    """Every failed, timed-out, aborted, invalid or missing trial with its reason and what to do; None without
    any.
    """
    texts = context.texts
    rows = []
    for trial in context.analysis.trials:
        if trial.status == "ok":
            continue
        missing = trial.status == "not-run"
        reason = texts("table.not-run") if missing else texts.recorded(trial.why) or texts("table.no-reason")
        advice = (
            texts("table.not-run.advice") if missing else texts.recorded(trial.remedy) or texts("mark.none")
        )
        if incidents := context.incidents.get(trial.name):
            reason += texts("table.trouble.incidents", titles=texts("mark.list").join(incidents))
        rows.append(
            [
                Cell(trial.name, sort=trial.number),
                Cell(texts(STATUS(trial.status)), tone="caution" if missing else "problem"),
                Cell(reason),
                Cell(advice),
            ]
        )
    columns = [
        Column(texts("column.trial"), code=True),
        Column(texts("column.state")),
        Column(texts("column.reason"), sentences=True),
        Column(texts("column.advice"), sentences=True),
    ]
    title = texts("section.trouble")
    return (
        Section("trouble", title, [Table("table-trouble", title, columns, rows, only=True)]) if rows else None
    )


def checks(context: ReportContext) -> Section | None:
    """Every check that noticed something, where, on what evidence, and what to do; then damaged files. None
    without either.
    """
    texts = context.texts
    rows = [
        [
            Cell(title(name, context)),
            Cell(_where(list(where), context)),
            Cell(check_evidence.written(name, next(iter(where.values())), texts)),
            Cell(texts.message(validity.check_advice(name))),
        ]
        for name, where in _noticed(context).items()
    ]
    columns = [
        Column(texts("column.check")),
        Column(texts("column.trials")),
        Column(texts("column.evidence")),
        Column(texts("column.advice"), sentences=True),
    ]
    heading = texts("section.checks")
    blocks: list[Block] = [Table("table-checks", heading, columns, rows, only=True)] if rows else []
    if context.stored.damage:
        damaged = [[Cell(texts.message(damage.reason))] for damage in context.stored.damage]
        blocks.append(
            Table(
                "table-damage",
                texts("table.damage"),
                [Column(texts("column.reason"), sentences=True)],
                damaged,
            )
        )
    return Section("checks", heading, blocks) if blocks else None


def _where(trials: list[str], context: ReportContext) -> str:
    """`2 of 15: a-r1, a-r2`."""
    ran = sum(trial.status != "not-run" for trial in context.analysis.trials)
    count = context.texts("mark.of", part=len(trials), whole=ran)
    if len(trials) == ran:
        return count
    return f"{count}{context.texts('mark.colon')}{names(trials, context, MOST_NAMED)}"


def title(name: str, context: ReportContext) -> str:
    """Name of a check that noticed something."""
    return context.texts.message(validity.check_name(name))


def _noticed(context: ReportContext) -> dict[str, dict[str, JsonObject]]:
    """Check -> trial -> evidence."""
    noticed: dict[str, dict[str, JsonObject]] = {}
    for trial in context.analysis.trials:
        for doubt in validity.doubts(trial):
            noticed.setdefault(doubt.name, {})[trial.name] = dict(doubt.detail)
    return noticed
