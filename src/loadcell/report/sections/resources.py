"""Resources that the machine, the target and the client used, by treatment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loadcell.analysis import busy_threads
from loadcell.analysis.busy_threads import BusyThread
from loadcell.analysis.limits import findings as limit_findings
from loadcell.analysis.limits.judge import Limit
from loadcell.analysis.resource_use import Used
from loadcell.analysis.server import FEW_SIGHTINGS
from loadcell.model import numbers
from loadcell.report.blocks import Block, Cell, Column, Details, Section, Table
from loadcell.report.context import ReportContext
from loadcell.report.sections.breakdown import factor_columns, numbered_cells, treatment_cells


@dataclass(frozen=True)
class _Figure:
    """A column: the code of its heading, its metric, and how a value is written.

    `spare`: left out where every value is at most `least`. `yields`: as of a `Column`.
    """

    heading: str
    metric: str
    write: numbers.Write
    spare: bool = False
    yields: int = 0
    least: float = 0.0

    def is_in(self, used: Sequence[Used]) -> bool:
        """True if any treatment has a value worth a column. Where target and client are one process, the
        columns of the target are those of the client, too.
        """
        if self.metric.startswith("client.") and all(item.in_client for item in used):
            return False
        values = [item.values[self.metric] for item in used if self.metric in item.values]
        return any(value > self.least for value in values) if self.spare else bool(values)


def _per_s(value: float) -> str:
    return f"{numbers.size(value)}/s"


_CPU = (
    _Figure("column.host-cpu", "host.cpu", numbers.share),
    _Figure("column.host-cpu-max", "host.cpu.max", numbers.share),
    _Figure("column.busiest-core", "host.core.max", numbers.share),
    _Figure("column.target-cores", "target.cpu", numbers.significant),
    _Figure("column.target-cores-max", "target.cpu.max", numbers.significant),
    _Figure("column.busiest-thread", "target.thread.max", numbers.share),
    _Figure("column.client-cores", "client.cores", numbers.significant),
    _Figure("column.client-cores-max", "client.cores.max", numbers.significant),
    _Figure("column.target-memory", "target.memory", numbers.size),
    _Figure("column.memory-bandwidth", "host.memory.bandwidth", _per_s),
    _Figure("column.context-switches", "host.context_switches", numbers.rate),
)
_IO = (
    _Figure("column.disk-utilisation", "disk.utilisation", numbers.share),
    _Figure("column.disk-queue", "disk.queue", numbers.significant),
    _Figure("column.disk-await", "disk.await", numbers.milliseconds),
    _Figure("column.disk-read", "disk.read", _per_s),
    _Figure("column.disk-written", "disk.write", _per_s),
    _Figure("column.net-received", "net.received", _per_s, spare=True),
    _Figure("column.net-sent", "net.sent", _per_s, spare=True),
    _Figure("column.pressure-cpu", "pressure.cpu", numbers.share),
    _Figure("column.pressure-io", "pressure.io", numbers.share),
    _Figure("column.pressure-memory", "pressure.memory", numbers.share),
)
#: Share of the time in which waiting tasks are worth a column.
LEAST_PRESSURE = 0.05
#: Columns that stand open; the tables below them have all.
_MAIN = (
    _Figure("column.host-cpu", "host.cpu", numbers.share),
    _Figure("column.target-cores", "target.cpu", numbers.significant),
    _Figure("column.client-cores", "client.cores", numbers.significant),
    _Figure("column.target-memory", "target.memory", numbers.size),
    _Figure("terminal.disk-utilisation", "disk.utilisation", numbers.share),
    _Figure("column.disk-await.named", "disk.await", numbers.milliseconds),
    _Figure("column.net-sent", "net.sent", _per_s, spare=True),
    _Figure("column.pressure-cpu", "pressure.cpu", numbers.share, spare=True, least=LEAST_PRESSURE),
    _Figure("column.pressure-io", "pressure.io", numbers.share, spare=True, least=LEAST_PRESSURE),
)
#: Columns of a brief report: 80 characters have room for those that do not yield.
_BRIEF = (
    _Figure("terminal.host-cpu", "host.cpu", numbers.share),
    _Figure("terminal.target-cores", "target.cpu", numbers.significant),
    _Figure("terminal.client-cores", "client.cores", numbers.significant),
    _Figure("terminal.target-memory", "target.memory", numbers.size),
    _Figure("terminal.disk-utilisation", "disk.utilisation", numbers.share),
    _Figure("column.disk-await", "disk.await", numbers.milliseconds, yields=6),
    _Figure("column.pressure-cpu", "pressure.cpu", numbers.share, yields=5),
    _Figure("column.pressure-io", "pressure.io", numbers.share, yields=4),
    _Figure("column.net-received", "net.received", _per_s, spare=True, yields=3),
    _Figure("column.net-sent", "net.sent", _per_s, spare=True, yields=2),
    _Figure("column.context-switches", "host.context_switches", numbers.rate, yields=1),
)


def section(context: ReportContext) -> Section | None:
    """None where no trial recorded its resources."""
    texts = context.texts
    if not context.resources:
        return None
    threads = _threads(context)
    folded = [
        _table("table-cpu", texts("table.cpu"), texts("table.cpu.note"), _CPU, context),
        _table("table-io", texts("table.io"), texts("table.io.note"), _IO, context, disks=True),
        *([threads] if threads is not None else []),
    ]
    blocks: list[Block] = [_limits(context)] if context.analysis.limits else []
    blocks.append(
        _table("table-resources", texts("table.resources"), texts("table.resources.note"), _MAIN, context)
    )
    blocks.append(Details(texts("resources.more"), folded, instead=""))
    return Section("resources", texts("section.resources"), blocks)


def _limits(context: ReportContext) -> Table:
    """The limiting resource of each treatment, with the evidence for it and against it."""
    texts, factors = context.texts, factor_columns(context)
    columns = [
        Column(texts("column.number"), figure=True),
        *(Column(heading, figure=numeric) for _, heading, numeric in factors),
        *([] if factors else [Column(texts("column.treatment"))]),
        Column(texts("column.limit"), keep=True),
        Column(texts("column.limit-evidence"), sentences=True),
        Column(texts("column.limit-against"), sentences=True),
        Column(texts("column.limit-trials"), figure=True),
    ]
    rows = [
        [
            *numbered_cells(limit.treatment, factors),
            *map(Cell, _limit_texts(limit, context)),
            _limit_trials(limit, context),
        ]
        for limit in context.analysis.limits
    ]
    return Table("table-limits", texts("table.limits"), columns, rows, texts("table.limits.note"))


def _limit_trials(limit: Limit, context: ReportContext) -> Cell:
    """The number of trials that support the limit, or that have the incident, and of all."""
    incident = context.limiting_incidents.get(limit.treatment.id)
    count, of = (limit.agreeing, limit.trials) if incident is None else (incident.count, incident.of)
    return Cell(f"{count}/{of}", sort=count / of)


def _limit_texts(limit: Limit, context: ReportContext) -> tuple[str, str, str]:
    """Name, evidence, and the objections to it."""
    texts, objection = context.texts, context.texts.message(limit_findings.objection(limit))
    if incident := context.limiting_incidents.get(limit.treatment.id):
        return texts.message(incident.title), texts.message(incident.summary), texts("mark.none")
    if limit.named is None:
        return texts("limit.unknown"), texts("mark.none"), objection
    return (
        texts.message(limit.named.label),
        texts.message(limit.named.sign.evidence),
        objection,
    )


def _threads(context: ReportContext) -> Table | None:
    """The busiest threads of each treatment; None without samples of threads."""
    analysis, texts, factors = context.analysis, context.texts, factor_columns(context)
    samples = context.samples("target.threads")
    threads = busy_threads.by_treatment(samples, analysis.treatments, analysis.trials)
    if not threads:
        return None
    columns = [
        Column(texts("column.number"), figure=True),
        *(Column(heading, figure=numeric) for _, heading, numeric in factors),
        *([] if factors else [Column(texts("column.treatment"))]),
        Column(texts("column.thread")),
        Column(texts("column.thread-cpu"), figure=True),
        Column(texts("column.thread-delay"), figure=True),
        Column(texts("column.thread-states")),
    ]
    rows = [
        [
            *numbered_cells(thread.treatment, factors),
            Cell(thread.name or texts("mark.none")),
            Cell(numbers.share(thread.running), sort=thread.running),
            Cell(numbers.share(thread.delayed), sort=thread.delayed),
            Cell(_states(thread, context)),
        ]
        for thread in threads
    ]
    in_client = any(trial.resources is not None and trial.resources.in_client for trial in analysis.trials)
    title = texts("table.threads.in-client" if in_client else "table.threads")
    return Table("table-threads", title, columns, rows, texts("table.threads.note"))


def _states(thread: BusyThread, context: ReportContext) -> str:
    """States with their shares; or that there are too few samples for shares."""
    if thread.samples < FEW_SIGHTINGS:
        return context.texts("table.waits.few", count=thread.samples)
    return ", ".join(f"{state} {numbers.share(share)}" for state, share in thread.states)


def brief(context: ReportContext) -> Table | None:
    """The table of a brief report; None where no trial recorded its resources."""
    if not context.resources:
        return None
    return _table("table-resources", "", "", _BRIEF, context)


def _table(
    name: str,
    title: str,
    note: str,
    figures: Sequence[_Figure],
    context: ReportContext,
    *,
    disks: bool = False,
) -> Table:
    """A row a treatment; columns without any value are left out."""
    texts, factors, used = context.texts, factor_columns(context), context.resources
    present = [figure for figure in figures if figure.is_in(used)]
    columns = [
        *([Column(texts("column.number"), figure=True)] if title else []),
        *(Column(heading, figure=numeric) for _, heading, numeric in factors),
        *([] if factors else [Column(texts("column.treatment"))]),
        *([Column(texts("column.busiest-disk"))] if disks else []),
        *(Column(texts(figure.heading), figure=True, yields=figure.yields) for figure in present),
    ]
    rows = [
        [
            *([Cell(str(item.treatment.index), sort=item.treatment.index)] if title else []),
            *treatment_cells(item.treatment, factors),
            *([Cell(item.disk or texts("mark.none"))] if disks else []),
            *(_cell(item, figure, context) for figure in present),
        ]
        for item in used
    ]
    notes = [note] if note else []
    if any(item.in_client for item in used) and not disks:
        notes.append(texts("table.in-client"))
    return Table(name, title, columns, rows, ("" if texts.language == "zh" else " ").join(notes))


def _cell(item: Used, figure: _Figure, context: ReportContext) -> Cell:
    value = item.values.get(figure.metric)
    return Cell(context.texts("mark.none")) if value is None else Cell(figure.write(value), sort=value)
