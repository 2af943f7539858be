"""Method of the run: design, order, seed, durations, versions, overhead of measuring, and the plan as
written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loadcell.analysis.import_findings import sources
from loadcell.model import numbers
from loadcell.model.json import JsonObject
from loadcell.model.message import Labels
from loadcell.model.run_record import ImportedFile, TreatmentRecord
from loadcell.report.blocks import (
    Block,
    Cell,
    Code,
    Column,
    Definitions,
    Details,
    Section,
    Table,
    without_empty,
)
from loadcell.report.context import STATUS, ReportContext
from loadcell.report.sections import planned
from loadcell.report.sections.environment import facts, summarised
from loadcell.report.sections.summary import COUNTS, loads, phrase_of_count, phrase_of_lengths
from loadcell.stats.repeats import FEWEST_FOR_INTERVAL

#: Designs that are said in the reader's language.
_DESIGN = Labels("design", ("full", "one-at-a-time", "search"))
#: Ends of trials by a number of requests.
_COUNT = Labels("method", (code.code for code in COUNTS.values()))


def section(context: ReportContext) -> Section:
    """Always there."""
    texts = context.texts
    blocks: list[Block] = [Definitions(_entries(context))]
    if context.analysis.trials:
        table = order(context)
        blocks.append(Details(table.title, [table]))
    plan = context.stored.plan_text()
    if plan:
        blocks.append(Code(texts("table.plan"), plan, "yaml"))
    blocks += planned.scripts(context)
    return Section("method", texts("section.method"), blocks)


def _entries(context: ReportContext) -> list[tuple[str, str]]:
    texts, run = context.texts, context.stored.run
    if context.imported:
        return _of_imported(context)
    entries = [*planned.parts(context), *planned.factors(context), *_affinity(context)]
    design = run.design or ""
    entries.append((texts("method.design"), texts(_DESIGN(design)) if design in _DESIGN else design))
    order_key = {"blocks": "method.order.blocks", "as-written": "method.order.as-written"}.get(
        run.order or ""
    )
    entries.append((texts("method.order"), texts(order_key) if order_key else str(run.order)))
    for key, number in (("method.seed", run.seed), ("method.repeats", run.repeats)):
        entries.append((texts(key), texts("mark.none") if number is None else str(number)))
    entries += _lengths(context)
    for instant, name in ((run.started_utc, "method.started"), (run.ended_utc, "method.ended")):
        if instant:
            entries.append((texts(name), _second(instant)))
    executions = len(run.executions)
    if executions > 1:
        text = texts("method.executions.value", count=executions, resumed=executions - 1)
        entries.append((texts("method.executions"), text))
    versions = {key: str(getattr(run, name) or "?") for key, name in _VERSIONS}
    entries.append((texts("method.versions"), texts("method.versions.value", **versions)))
    notes = _notes(context)
    if notes:
        entries.append((texts("method.notes"), notes))
    entries += _overhead(context)
    entries.append((texts("method.median"), texts("method.median.value", needed=FEWEST_FOR_INTERVAL)))
    return entries


def _lengths(context: ReportContext) -> list[tuple[str, str]]:
    """Warm-up of the trials, and what ended them."""
    texts, count, lengths = context.texts, phrase_of_count(context), phrase_of_lengths(context)
    warmup = duration = None
    if lengths is not None and count is None:
        warmup, duration = lengths.arguments.get("warmup_s"), lengths.arguments["duration_s"]
    warmups = {str(load["warmup"]) for load in loads(context) if load.get("warmup")}
    entries = []
    if isinstance(warmup, int | float):
        entries.append((texts("method.warmup"), numbers.seconds(warmup)))
    elif count is not None and len(warmups) == 1:
        entries.append((texts("method.warmup"), warmups.pop()))
    if count is not None:
        entries.append((texts("method.duration"), texts(_COUNT(count.code), **count.arguments)))
    elif isinstance(duration, int | float):
        entries.append((texts("method.duration"), numbers.seconds(duration)))
    return entries


def _of_imported(context: ReportContext) -> list[tuple[str, str]]:
    """When files were read, and when what is in them was run; nothing of it was planned here."""
    texts, run = context.texts, context.stored.run
    entries = [(texts("method.imported"), _second(run.imported_utc))]
    began = sorted(record.started_utc for record in context.stored.trials if record.started_utc)
    if began:
        ends = dict.fromkeys(_second(second) for second in (began[0], began[-1]))
        entries.append((texts("method.imported.of"), " – ".join(ends)))
    versions = {key: str(getattr(run, name) or "?") for key, name in _VERSIONS if key != "engine"}
    entries.append((texts("method.versions"), texts("method.versions.imported", **versions)))
    entries.append((texts("method.median"), texts("method.median.value", needed=FEWEST_FOR_INTERVAL)))
    return entries


def _second(instant: Any) -> str:
    return str(instant)[:19].replace("T", " ")


_VERSIONS = (("loadcell", "loadcell_version"), ("engine", "engine_version"), ("python", "python"))


#: Placeable parts of a plan, with the codes of title and text.
_AFFINITY = {
    "target": ("method.affinity.target", "method.affinity.target.value"),
    "client": ("method.affinity.client", "method.affinity.client.value"),
    "memory": ("method.affinity.memory", "method.affinity.memory.value"),
}


def _affinity(context: ReportContext) -> list[tuple[str, str]]:
    """Where target and client ran, and where the target's memory came from: in the plan's words, and what
    that was here.
    """
    texts = context.texts
    placements: dict[str, dict[str, None]] = {}
    for record in context.stored.trials:
        placed = record.affinity or {}
        for key, asked in (placed.get("asked") or {}).items():
            in_client = key == "client" or placed.get("target_in_client")
            side = placed.get("client" if in_client else "target") or {}
            processors = side.get("memory" if key == "memory" else "cpus")
            if processors:
                value = texts(_AFFINITY[key][1], asked=str(asked), what=str(processors))
                placements.setdefault(key, {})[value] = None
    return [
        (texts(title), texts("mark.list").join(placements[key]))
        for key, (title, _) in _AFFINITY.items()
        if key in placements
    ]


def _notes(context: ReportContext) -> str:
    """Notes of the workload for readers of its results."""
    keys = dict.fromkeys(key for record in context.stored.trials for key in record.notes)
    return " ".join(context.texts.or_none(f"note.{key}") or str(key) for key in keys)


def _overhead(context: ReportContext) -> list[tuple[str, str]]:
    """Overhead of measuring: CPU time of the monitors, and use of the client."""
    texts = context.texts
    cost: dict[str, float] = {}
    asked: dict[str, float] = {}
    busy: list[float] = []
    for record in context.stored.trials:
        for name, monitor in record.monitors.items():
            if monitor.imported:
                continue  # the cost of the program that sampled is unknown
            cost[name] = cost.get(name, 0.0) + (monitor.cpu_s or 0.0)
            if monitor.server_cpu_s is not None:
                asked[name] = asked.get(name, 0.0) + monitor.server_cpu_s
        if record.client and record.client.busy_max is not None:
            busy.append(record.client.busy_max)
    entries = []
    if cost:
        costs = [texts("method.monitors.value", name=name, cpu_s=spent) for name, spent in cost.items()]
        costs += [texts("method.monitors.asked", name=name, cpu_s=spent) for name, spent in asked.items()]
        entries.append((texts("method.monitors"), texts("mark.list").join(costs)))
    if busy:
        entries.append((texts("method.client"), texts("method.client.value", busy_share=max(busy))))
    return entries


def order(context: ReportContext) -> Table:
    """Every trial in the order it ran."""
    texts = context.texts
    columns = [
        Column(texts("column.order"), figure=True),
        Column(texts("column.treatment")),
        Column(texts("column.block"), figure=True),
        Column(texts("column.state")),
        Column(texts("column.throughput"), figure=True),
        Column(texts("column.p99"), figure=True, spare=True),
    ]
    rows = [
        [
            Cell(str(trial.number), sort=trial.number),
            Cell(context.labels.get(trial.treatment, trial.treatment)),
            Cell(str(trial.block), sort=trial.block),
            Cell(texts(STATUS(trial.status)), tone="" if trial.status == "ok" else "problem"),
            _figure(trial.throughput_per_s, numbers.rate, context),
            _figure((trial.response or {}).get("p99_ms"), texts.time, context),
        ]
        for trial in context.analysis.trials
    ]
    title = texts("table.order.imported" if context.imported else "table.order")
    return Table("table-order", title, *without_empty(columns, rows))


def _figure(value: float | None, write: numbers.Write, context: ReportContext) -> Cell:
    return Cell(context.texts("mark.none")) if value is None else Cell(write(value), sort=value)


def files_read(context: ReportContext) -> Section | None:
    """None for a run that loadcell made itself."""
    read = sources(context.stored.run)
    if not read:
        return None
    blocks: list[Block] = [sources_table(read, context)]
    lines = [
        (key.partition(".")[2] or key, summarised(key, values, context.texts))
        for key, values in facts(_settings(treatment) for treatment in context.stored.run.treatments).items()
    ]
    if lines:
        blocks.append(Definitions(lines, context.texts("sources.settings")))
    return Section("sources", context.texts("section.sources"), blocks)


def sources_table(read: Sequence[ImportedFile], context: ReportContext) -> Table:
    """A row a file."""
    texts = context.texts
    samples = any(source.samples for source in read)
    unread = any(source.unread for source in read)
    columns = [
        Column(texts("column.source.file"), code=True),
        Column(texts("column.source.tool")),
        Column(texts("column.source.executions"), figure=True),
        *([Column(texts("column.looks"), figure=True)] if samples else []),
        Column(texts("column.source.unread"), figure=True),
        *([Column(texts("column.source.examples"), code=True)] if unread else []),
    ]
    rows = [
        [
            Cell(source.file),
            Cell(source.tool),
            _count_cell(source.measured),
            *([_count_cell(source.samples)] if samples else []),
            _count_cell(source.unread, problem=True),
            *([Cell(" ⏎ ".join(source.examples))] if unread else []),
        ]
        for source in read
    ]
    return Table("table-sources", texts("table.sources"), columns, rows, texts("table.sources.note"))


def _count_cell(count: int, *, problem: bool = False) -> Cell:
    return Cell(numbers.whole(count), sort=count, tone="caution" if problem and count else "")


def _settings(treatment: TreatmentRecord) -> JsonObject:
    """Settings as the tool reported them, under its names; clients first."""
    settings = treatment.settings
    tool, load = settings.get("tool"), settings.get("load")
    return {**({"load": load} if load else {}), **(tool if isinstance(tool, Mapping) else {})}
