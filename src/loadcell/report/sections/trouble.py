"""Problems: every trial that does not count, remarks of the checks, and damaged files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loadcell.analysis import validity
from loadcell.model import latency, numbers
from loadcell.model.json import JsonObject
from loadcell.model.message import Labels, Milliseconds, Share, Unit, with_unit
from loadcell.model.trial_record import EVIDENCE_UNITS
from loadcell.report.blocks import Block, Cell, Column, Section, Table
from loadcell.report.context import STATUS, ReportContext
from loadcell.report.sections.results import names
from loadcell.report.texts import Texts
from loadcell.report.values import plain

#: Trials that a row on a check names.
MOST_NAMED = 2
#: Names of the values that checks were decided on; `loadcell.execution.checks` and its neighbours write them.
EVIDENCE = Labels("evidence", (
    "asked_for", "attempted", "busiest", "client", "client_seconds", "commits", "connections_refused",
    "cores", "corrupt", "covered_s", "difference", "failed", "failed_total", "first", "group", "groups",
    "in_flight", "intervals", "kind", "largest_s", "latencies", "limit", "limit_s", "lines", "looks", "lost",
    "name", "not_read_back", "of_its_cores", "operation", "overdue_s", "pids", "pipeline", "printed",
    "quota_share", "reconnecting_seconds", "response_seconds", "resting_seconds", "rows_changed", "server",
    "share", "side", "stale", "stored", "succeeded", "succeeded_total", "swapped_bytes", "taken", "threads",
    "tolerance", "too_hot_times", "transactions_ended", "under", "unsent", "window_s", "wrong",
))  # fmt: skip


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
            Cell(evidence(next(iter(where.values())), context)),
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


def evidence(detail: JsonObject, context: ReportContext) -> str:
    """A check's detail in one line."""
    texts = context.texts
    # A limit next to a share is one, too.
    shares = any(EVIDENCE_UNITS.get(key) is Share for key in detail)
    units = {**EVIDENCE_UNITS, "limit": Share} if shares else EVIDENCE_UNITS
    sentences = [
        f"{_called(key, texts)}{texts('mark.colon')}{_value(key, value, units, texts)}"
        for key, value in detail.items()
        if value is not None
    ]
    return texts("mark.list").join(sentences) or texts("mark.none")


def _called(key: str, texts: Texts) -> str:
    """Name of a check's value; names of processes and conditions stay as they are."""
    return texts(EVIDENCE(key)) if key in EVIDENCE else key


def _value(key: str, value: Any, units: Mapping[str, Unit], texts: Texts) -> str:
    if isinstance(value, dict):
        parts = (f"{_called(part, texts)} {_value(part, item, units, texts)}" for part, item in value.items())
        return texts("mark.list").join(parts)
    if isinstance(value, list | tuple):
        return texts("mark.list").join(_value(key, item, units, texts) for item in value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        unit = Milliseconds if latency.is_time(key) else units.get(key)
        if unit is not None:
            return with_unit(unit, value)
        if isinstance(value, float):
            return numbers.short(value)
    return plain(key, value, units, texts)
