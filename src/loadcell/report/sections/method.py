"""Method of the run: its subject in the plan's words (targets, workloads, factors and scripts), design,
order, seed, durations, versions, overhead of measuring, and the plan as written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from loadcell.analysis.import_findings import sources
from loadcell.analysis.systems import planned_parts
from loadcell.analysis.treatments import short_keys
from loadcell.model import numbers
from loadcell.model.json import JsonObject
from loadcell.model.message import Labels
from loadcell.model.run_record import FactorRecord, ImportedFile, LevelRecord, TreatmentRecord
from loadcell.report.blocks import (
    Block,
    Cell,
    Code,
    Column,
    Definitions,
    Details,
    Paragraph,
    Section,
    Sentences,
    Table,
    without_empty,
)
from loadcell.report.context import STATUS, ReportContext
from loadcell.report.sections import summary
from loadcell.report.sections.breakdown import count_cell
from loadcell.report.sections.environment import facts, summarised
from loadcell.report.sections.summary import COUNTS, loads, phrase_of_count, phrase_of_lengths
from loadcell.stats.repeats import FEWEST_FOR_INTERVAL

#: Options and levels that are shown of one part or factor; the plan below has all.
_MOST_OPTIONS = 8
_MOST_LEVELS = 12
#: The option that holds settings by names of the server's own.
_SETTINGS = "settings"
#: The option that holds the texts of scripts by name.
_SCRIPTS = "script_texts"
#: Options that say what the one request is, and nothing where several are listed.
_OF_ONE_REQUEST = ("method", "path", "body")


#: Options that have a meaning only with one distribution of keys.
_OF_DISTRIBUTIONS = {
    "hot_data": "hotspot",
    "hot_operations": "hotspot",
    "deviation": "gaussian",
    "percentile": "exponential",
    "fraction": "exponential",
}


#: Switches without which a result cannot be interpreted: others are reported only when on.
_ALWAYS_REPORTED = ("sync",)


def _as_written(value: Any) -> str:
    """As a plan has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def parts(context: ReportContext) -> list[tuple[str, str]]:
    """Target and workload by name, with options that are the same in all treatments that have them."""
    texts, run = context.texts, context.stored.run
    entries = []
    for section, title in (("target", "method.target"), ("workload", "method.workload")):
        for part in planned_parts(run, section):
            name = texts(title)
            if part.label:
                name = texts("mark.detail", text=name, detail=part.label)
            entries.append((name, described(part.name, part.options[0], _varied(part.options))))
    settings = run.treatments[0].settings if run.treatments else {}
    for name, group in (settings.get("workloads") or {}).items():
        workload = next((key for key in group if key not in ("share", "load")), "")
        entries.append((texts("method.group", name=name), described(workload, group.get(workload))))
    return entries


def factors(context: ReportContext) -> list[tuple[str, str]]:
    """Each factor with its levels, and what these set."""
    run = context.stored.run
    short = short_keys([factor.key for factor in run.factors])
    return [
        (context.texts("method.factor", name=short[factor.key]), _levels(factor, context))
        for factor in run.factors
        if factor.levels
    ]


def _levels(factor: FactorRecord, context: ReportContext) -> str:
    texts = context.texts
    shown = [_level(level, context) for level in factor.levels[:_MOST_LEVELS]]
    if len(factor.levels) > _MOST_LEVELS:
        shown.append(texts("table.more", count=len(factor.levels) - _MOST_LEVELS))
    named = any(level.sets for level in factor.levels)
    return texts("mark.semicolon" if named else "mark.list").join(shown)


def _level(level: LevelRecord, context: ReportContext) -> str:
    """`64MB`; with what it sets where it has a name."""
    settings = level.sets or (level.value if isinstance(level.value, dict) else {})
    options = [f"{path} {_as_written(value)}".rstrip() for path, value in _flat(settings)]
    if not options or (level.sets is None and level.label.startswith("{")):
        return level.label  # which is all of its value already
    return context.texts("mark.detail", text=level.label, detail=", ".join(options[:_MOST_OPTIONS]))


def scripts(context: ReportContext) -> Iterator[Block]:
    """Texts of the scripts that treatments ran, which are no part of the plan's text."""
    seen: dict[tuple[str, str], None] = {}
    for part in planned_parts(context.stored.run, "workload"):
        for options in part.options:
            held = options.get(_SCRIPTS)
            if isinstance(held, Mapping):
                seen.update(dict.fromkeys((str(name), str(text)) for name, text in held.items()))
    for name, text in seen:
        yield Code(context.texts("table.script", name=name), text.rstrip("\n"), "sql")


def _flat(options: JsonObject, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted paths with their single values; what is empty is left as a path."""
    for key, value in options.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", "" if value in ({}, None) else value


def _varied(options: Sequence[JsonObject]) -> set[str]:
    """Options, and settings by their path, that are not the same in all treatments: none of their values
    holds for the whole run.
    """
    keys = {key for others in options for key in _differing(options[0], others)} - {_SETTINGS}
    settings = [treatment.get(_SETTINGS) or {} for treatment in options]
    return keys | {f"{_SETTINGS}.{key}" for others in settings for key in _differing(settings[0], others)}


def _differing(options: JsonObject, others: JsonObject) -> set[str]:
    """Keys whose values differ."""
    return {key for key in options.keys() | others.keys() if options.get(key) != others.get(key)}


def described(name: str, options: Any, varied: Set[str] = frozenset()) -> str:
    """A part in a line: its name, and its options without the `varied` ones."""
    if not isinstance(options, dict):
        return str(name)
    distribution = options.get("distribution")
    unused = {key for key, needs in _OF_DISTRIBUTIONS.items() if distribution not in (None, needs)}
    options = {key: value for key, value in options.items() if key not in varied | unused}
    listed = options.get("requests")
    shown = [f"requests {', '.join(map(str, listed))}"] if isinstance(listed, dict) and listed else []
    shown += [
        f"{key} {_as_written(value)}"
        for key, value in options.items()
        if isinstance(value, str | int)
        and (key in _ALWAYS_REPORTED or not isinstance(value, bool))
        and not (shown and key in _OF_ONE_REQUEST)
    ]
    settings = options.get(_SETTINGS)
    values = [
        f"{path} {_as_written(value)}"
        for path, value in _flat({_SETTINGS: settings} if isinstance(settings, dict) and settings else {})
        if path not in varied
    ]
    shown = [*shown[:_MOST_OPTIONS], *values[:_MOST_OPTIONS]]
    return f"{name}: {', '.join(shown)}" if shown else str(name)


#: Designs that are said in the reader's language.
_DESIGN = Labels("design", ("full", "one-at-a-time", "search"))
#: Ends of trials by a number of requests.
_COUNT = Labels("method", (code.code for code in COUNTS.values()))


def section(context: ReportContext) -> Section:
    """The method in sentences, remarks on the workload; folded, details, order, plan and scripts."""
    texts = context.texts
    done = summary.unsaid(context, context.advised(summary.what_was_done(context)))
    blocks: list[Block] = [Sentences(done)] if done else []
    notes = _notes(context)
    if notes:
        blocks.append(Paragraph(notes))
    folded: list[Block] = [Definitions(_entries(context))]
    if context.analysis.trials:
        folded.append(order(context))
    plan = context.stored.plan_text()
    if plan:
        folded.append(Code(texts("table.plan"), plan, "yaml"))
    folded += scripts(context)
    instead = texts("method.instead.imported" if context.imported else "method.instead")
    return Section(
        "method", texts("section.method"), [*blocks, Details(texts("method.more"), folded, instead=instead)]
    )


def _entries(context: ReportContext) -> list[tuple[str, str]]:
    texts, run = context.texts, context.stored.run
    if context.imported:
        return _of_imported(context)
    entries = [*parts(context), *factors(context), *_affinity(context)]
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
    programs: dict[str, float] = {}
    busy: list[float] = []
    for record in context.stored.trials:
        for name, monitor in record.monitors.items():
            if monitor.imported:
                continue  # the cost of the program that sampled is unknown
            cost[name] = cost.get(name, 0.0) + (monitor.cpu_s or 0.0)
            if monitor.program_cpu_s is not None:
                programs[name] = programs.get(name, 0.0) + monitor.program_cpu_s
            if monitor.server_cpu_s is not None:
                asked[name] = asked.get(name, 0.0) + monitor.server_cpu_s
        if record.client and record.client.busy_max is not None:
            busy.append(record.client.busy_max)
    entries = []
    if cost:
        costs = [texts("method.monitors.value", name=name, cpu_s=spent) for name, spent in cost.items()]
        costs += [texts("method.monitors.asked", name=name, cpu_s=spent) for name, spent in asked.items()]
        costs += [
            texts("method.monitors.program", name=name, cpu_s=spent) for name, spent in programs.items()
        ]
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
            count_cell(source.measured),
            *([count_cell(source.samples)] if samples else []),
            count_cell(source.unread, problem=True),
            *([Cell(" ⏎ ".join(source.examples))] if unread else []),
        ]
        for source in read
    ]
    return Table("table-sources", texts("table.sources"), columns, rows, texts("table.sources.note"))


def _settings(treatment: TreatmentRecord) -> JsonObject:
    """Settings as the tool reported them, under its names; clients first."""
    settings = treatment.settings
    tool, load = settings.get("tool"), settings.get("load")
    return {**({"load": load} if load else {}), **(tool if isinstance(tool, Mapping) else {})}
