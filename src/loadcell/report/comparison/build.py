"""Puts the report of a comparison together, of the same blocks as that of a run."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from loadcell import __version__
from loadcell.analysis.compare import differences as run_differences
from loadcell.analysis.compare import findings, locations
from loadcell.analysis.compare.compare import OVERALL, Row
from loadcell.analysis.compare.differences import disturbed as disturbed_by_side
from loadcell.analysis.compare.findings import DIFFERS
from loadcell.analysis.compare.locations import MOST_NAMED
from loadcell.model import numbers
from loadcell.model.message import Labels, Message
from loadcell.model.trial_record import Status
from loadcell.report.blocks import (
    Block,
    Cell,
    Chart,
    Code,
    Column,
    Definitions,
    Details,
    Paragraph,
    Report,
    Section,
    Sentences,
    Table,
    Tile,
    Tiles,
    Tone,
)
from loadcell.report.comparison import charts as charting
from loadcell.report.comparison import over_time
from loadcell.report.comparison import summary as summaries
from loadcell.report.comparison.gather import Gathered, data
from loadcell.report.comparison.words import Words
from loadcell.report.publish import ComparisonDocument
from loadcell.report.sections.environment import shown
from loadcell.report.texts import Texts
from loadcell.report.values import minute

#: Kinds of differences.
_KIND = Labels("compare.of", DIFFERS)
#: Designs of a comparison, by their pairs and their intervals.
_WAYS = {"block": "paired", "trial": "unpaired", "run": "runs"}
_PAIRS = Labels("compare.method.pairs", tuple(_WAYS.values()))
_INTERVAL = Labels("compare.method.interval", tuple(_WAYS.values()))
_NOTE = {
    "block": "compare.table.figures.note",
    "trial": "compare.table.figures.unpaired",
    "run": "compare.table.figures.runs",
}
#: More differences, or cross-checks, than this are folded away.
MOST_OPEN = 15
#: More rows than this scroll a terminal's sentences away.
MOST_ROWS = 28
#: Words of rows that have values but no verdict.
_WITHOUT_VERDICT = ("insufficient", "no-value")
TONES: dict[str, Tone] = {
    "faster": "good",
    "slower": "problem",
    "higher": "info",
    "lower": "info",
    "same": "",
    "ambiguous": "caution",
    "insufficient": "caution",
    "no-value": "caution",
}


def build(
    gathered: Gathered, lang: str = "en", command: Sequence[str] = (), *, charts: bool = True
) -> Report:
    """The report in one language; without `charts` for a place that shows no pictures (a pull request)."""
    texts = Texts(lang, gathered.unit)
    words = Words(gathered.comparison, texts)
    sections = [
        summary(gathered, words),
        differences(gathered, words),
        ranking(words),
        figures(gathered, words, charts=charts),
        latency(gathered, words) if charts else None,
        series(gathered, words) if charts else None,
        method(gathered, words, command),
    ]
    first = gathered.runs[0].run
    sides = gathered.comparison.sides.sides
    against = (
        texts("compare.against", other=words.side(1), first=words.side(0))
        if len(sides) == 2
        else texts("compare.against.many", count=len(sides) - 1, first=words.side(0))
    )
    return Report(
        language=lang,
        title=first.title_in(lang) or first.plan_name or gathered.runs[0].id,
        question=against,
        run_id=texts("mark.list").join(str(shown(run.path)) for run in gathered.runs),
        badges=_badges(gathered, words),
        sections=[section for section in sections if section is not None],
        version=__version__,
        kind="compare.kind",
        unit=gathered.unit,
    )


def brief(gathered: Gathered, lang: str = "en", page: str | None = None) -> Report:
    """The terminal's report: differences, values, ranking, findings; `page` is the command that writes the
    page. Where no row has a verdict, the reason precedes the values.
    """
    texts = Texts(lang, gathered.unit)
    comparison = gathered.comparison
    words = Words(comparison, texts)
    run = gathered.runs[0]
    differing = list(findings.differing(comparison.sides, gathered.all_differences))
    chosen = words.by_importance(comparison.rows)[:MOST_ROWS]
    rows = [row for row in comparison.rows if row in chosen]
    values: list[Block] = []
    for side in range(1, len(comparison.sides.sides)):
        of_side = [row for row in rows if row.side == side]
        if of_side:
            against = texts("compare.against", other=words.side(side), first=words.side(0))
            values += [Paragraph(against, quiet=True), figures_table(words, of_side, side)]
            values += [Paragraph(text, quiet=True) for text in _whys(words, of_side)]
    if any(row.effect is not None for row in rows):
        values.append(Paragraph(texts(_NOTE[comparison.sides.unit]), quiet=True))
    if len(rows) < len(comparison.rows):
        hidden = texts("compare.terminal.hidden", count=len(comparison.rows) - len(rows))
        values.append(Paragraph(hidden, quiet=True))
    ranked = ranking(words)
    conclusions = Section("summary", "", [Sentences(findings.find(comparison, gathered.noise_from))])
    has_verdict = any(row.verdict.word not in _WITHOUT_VERDICT for row in comparison.rows)
    sections = [
        Section("differences", "", [Sentences(differing)] if differing else []),
        *([] if has_verdict else [conclusions]),
        Section("figures", "", values),
        Section("ranking", "", [] if ranked is None else ranked.blocks),
        *([conclusions] if has_verdict else []),
        Section("next", "", [Code(texts("compare.terminal.hint"), page)] if page else []),
    ]
    title = run.run.title_in(lang) or run.id
    return Report(lang, title, "", run.id, (), sections, unit=gathered.unit)


def document(gathered: Gathered, lang: str, command: Sequence[str] = ()) -> ComparisonDocument:
    """The comparison in every form; `command` is what made it."""
    return ComparisonDocument(
        "comparison",
        lambda pictures: build(gathered, lang, command, charts=pictures),
        lambda page: brief(gathered, lang, page),
        lambda: data(gathered),
        verdicts=gathered.comparison.gate_words,
        incomplete=gathered.comparison.incomplete,
        undecided=gathered.comparison.undecided,
        summary=lambda location: summaries.summary(gathered, lang, location),
    )


def _badges(gathered: Gathered, words: Words) -> list[tuple[str, Tone]]:
    badges: list[tuple[str, Tone]] = []
    if gathered.comparison.sides.kind == "arms":
        badges.append((words.texts("compare.badge.aa"), ""))
    headline = gathered.comparison.headline
    for row in headline if len(headline) == 1 else ():
        tone = TONES[row.verdict.word]
        badges.append((words.verdict(row), tone))
        if row.effect is not None:
            values = locations.values(gathered.comparison.sides, row)
            badges.append((words.texts.message(values), ""))
    hosts = dict.fromkeys(name for run in gathered.runs for name in run.hostnames)
    return [*badges, *((host, "") for host in hosts)]


def differences(gathered: Gathered, words: Words) -> Section | None:
    """Differences besides the compared one; None within one run."""
    texts = words.texts
    listed = list(findings.differing(gathered.comparison.sides, gathered.all_differences))
    if not listed:
        return None
    blocks: list[Block] = [Sentences(listed)]
    several = len(gathered.differences) > 1
    columns = [
        Column(texts("compare.column.kind"), keep=True),
        *([Column(texts("compare.column.side"))] if several else []),
        Column(texts("compare.column.path"), code=True),
        Column(words.side(0), code=True),
        Column(next(iter(gathered.differences)) if not several else texts("column.value"), code=True),
    ]
    rows = [
        [
            Cell(texts(_KIND(difference.kind))),
            *([Cell(label)] if several else []),
            Cell(difference.path),
            Cell(_values(difference.before, texts)),
            Cell(_values(difference.after, texts)),
        ]
        for label, changes in gathered.differences.items()
        for difference in changes
    ]
    if rows:
        title = texts("compare.table.differences")
        table = Table("table-differences", title, columns, rows, only=True)
        blocks.append(table if len(rows) <= MOST_OPEN else Details(title, [table]))
    return Section("differences", texts("compare.section.differences"), blocks)


def _values(value: Any, texts: Texts) -> str:
    """The values of one side, and that there is none."""
    values = run_differences.values(value)
    return texts("mark.list").join(
        texts.message(item) if isinstance(item, Message) else item for item in values
    )


def summary(gathered: Gathered, words: Words) -> Section:
    """The verdict as headline values, and all findings in sentences."""
    blocks: list[Block] = []
    headline = gathered.comparison.headline
    if len(headline) == 1:
        blocks.append(Tiles(_tiles(headline[0], gathered, words)))
    blocks.append(Sentences(findings.find(gathered.comparison, gathered.noise_from)))
    return Section("summary", words.texts("section.summary"), blocks)


def _tiles(row: Row, gathered: Gathered, words: Words) -> list[Tile]:
    texts = words.texts
    floor = texts("compare.method.noise.none") if row.noise is None else numbers.share(row.noise)
    tones: dict[str, Tone] = {"slower": "problem"}
    return [
        Tile(
            texts("column.verdict"),
            words.verdict(row),
            note=words.reason(row),
            tone=tones.get(row.verdict.word, ""),
        ),
        Tile(words.metric(row.metric), words.change(row.effect), note=words.context(row.context)),
        Tile(texts("compare.column.interval"), words.interval(row.effect)),
        Tile(texts("compare.column.blocks"), words.count(row.effect)),
        *([Tile(texts("compare.method.noise"), floor)] if gathered.comparison.sides.kind != "arms" else []),
        *_disturbed_tile(gathered, texts),
    ]


def _disturbed_tile(gathered: Gathered, texts: Texts) -> Iterator[Tile]:
    """Number of disturbed trials of all sides, if there are any."""
    disturbed = disturbed_by_side(gathered.comparison.sides)
    count = sum(item.count for item in disturbed)
    if count:
        value = texts("mark.of", part=count, whole=sum(item.of for item in disturbed))
        yield Tile(texts("compare.tile.disturbed"), value, tone="caution")


def ranking(words: Words) -> Section | None:
    """Several sides from best to worst, with groups that are not distinguishable; None for two."""
    comparison, texts = words.comparison, words.texts
    if not comparison.ranking:
        return None
    columns = [
        Column(texts("column.number"), figure=True),
        Column(texts("compare.column.side")),
        Column(texts("compare.column.change"), figure=True),
        Column(texts("compare.column.interval"), figure=True),
        Column(texts("compare.column.groups"), code=True),
    ]
    of_side = {row.side: row for row in comparison.headline}
    rows = []
    for rank, ranked in enumerate(comparison.ranking, 1):
        row = of_side.get(ranked.index)
        rows.append(
            [
                Cell(str(rank), sort=rank),
                Cell(words.side(ranked.index), sort=ranked.index),
                Cell(texts("compare.first") if row is None else words.change(row.effect), sort=ranked.value),
                Cell(words.interval(row.effect) if row is not None else texts("mark.none")),
                Cell(ranked.groups),
            ]
        )
    title = texts("compare.table.ranking", metric=words.metric(comparison.metrics[0]))
    ranked_sides = {ranked.index for ranked in comparison.ranking}
    unranked = [
        words.side(index) for index in range(len(comparison.sides.sides)) if index not in ranked_sides
    ]
    note = texts("compare.table.ranking.note")
    if unranked:
        note += " " + texts("compare.table.ranking.unranked", names=unranked)
    return Section(
        "ranking", texts("compare.section.ranking"), [Table("table-ranking", title, columns, rows, note)]
    )


def figures(gathered: Gathered, words: Words, *, charts: bool) -> Section:
    """The forest plot and the table of every row."""
    drawn: Chart | None = None
    if charts:
        drawn = charting.forest(gathered, words)
    blocks: list[Block] = [drawn] if drawn is not None else []
    blocks.append(figures_table(words))
    return Section("figures", words.texts("compare.section.figures"), blocks)


def series(gathered: Gathered, words: Words) -> Section | None:
    """Typical trials on one time axis; None without values over time."""
    drawn = over_time.draw(gathered, words)
    return None if drawn is None else Section("series", words.texts("section.series"), [drawn])


def figures_table(words: Words, rows: Sequence[Row] = (), side: int | None = None) -> Table:
    """A row a metric and context: both medians, the change, its interval, the verdict and why.

    For a terminal, `rows` of one `side`, with short headings.
    """
    comparison, texts = words.comparison, words.texts
    sides = comparison.sides.sides
    several, contexts = len(sides) > 2 and side is None, len(comparison.sides.contexts) > 1
    if side is not None:
        heads = [_short(words.side(0)), _short(words.side(side))]
    else:
        heads = [sides[0].label, texts("column.value") if several else sides[1].label]
    columns = [
        *([Column(texts("compare.column.side"))] if several else []),
        *([Column(texts("compare.column.where"), many=True)] if contexts else []),
        Column(texts("compare.column.figure"), keep=True),
        *(Column(head, figure=True) for head in heads),
        Column(texts("compare.column.change"), figure=True),
        Column(texts("compare.column.interval"), figure=True),
        Column(texts("compare.column.blocks"), figure=True, detail=True),
        Column(texts("compare.column.p"), figure=True, detail=True),
        Column(texts("compare.method.noise"), figure=True, detail=True),
        Column(texts("column.verdict"), keep=True),
        Column(texts("compare.column.why"), keep=True, detail=True),
    ]
    none = texts("mark.none")
    cells = [
        [
            *([Cell(words.side(row.side), sort=row.side)] if several else []),
            *([Cell(words.context(row.context))] if contexts else []),
            Cell(_with_unit(row, words, brief=side is not None)),
            Cell(words.figure(row, 0), sort=row.medians[0]),
            Cell(words.figure(row, 1), sort=row.medians[1]),
            Cell(words.marked_change(row), sort=None if row.effect is None else row.effect.ratio),
            Cell(words.interval(row.effect)),
            Cell(words.count(row.effect), sort=None if row.effect is None else row.effect.n),
            Cell(none if row.adjusted_p is None else _p(row.adjusted_p), sort=row.adjusted_p),
            Cell(none if row.noise is None else numbers.share(row.noise), sort=row.noise),
            Cell(words.verdict(row), tone=TONES[row.verdict.word]),
            Cell(words.reason(row)),
        ]
        for row in rows or comparison.rows
    ]
    if side is not None:
        return Table(f"table-figures-{side}", "", columns, cells)
    note = texts(_NOTE[comparison.sides.unit])
    return Table("table-figures", texts("compare.table.figures"), columns, cells, note)


def _whys(words: Words, rows: Sequence[Row]) -> Iterator[str]:
    """For a terminal, whose table has no column for it: why rows have no verdict, by reason."""
    groups: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.verdict.word in {"ambiguous", "insufficient", "no-value"}:
            location = " · ".join(filter(None, (words.context(row.context), words.short(row.metric))))
            groups.setdefault((words.verdict(row), words.reason(row)), []).append(location)
    for (verdict, reason), row_locations in groups.items():
        shown, hidden = (
            words.texts("mark.list").join(row_locations[:MOST_NAMED]),
            len(row_locations) - MOST_NAMED,
        )
        code = "compare.terminal.why" if hidden <= 0 else "compare.terminal.why.many"
        yield words.texts(code, verdict=verdict, reason=reason, rows=shown, count=hidden)


def _short(name: str) -> str:
    """A heading that does not widen its column: a level without its factor."""
    return name.rsplit(" = ", 1)[-1]


def _with_unit(row: Row, words: Words, *, brief: bool) -> str:
    """The name of a metric with the unit of the values next to it; brief for a terminal."""
    name = words.short(row.metric) if brief or row.metric.resource is None else words.metric(row.metric)
    if row.context == OVERALL or row.metric.figure is not None:  # the name of such a metric has its unit
        return name
    unit = "compare.unit.per-second" if row.metric.key is None else "compare.unit.ms"
    return words.texts(unit, metric=name)


def _p(value: float) -> str:
    return "<0.0001" if value < 0.0001 else numbers.significant(value, 2)


def latency(gathered: Gathered, words: Words) -> Section | None:
    """Pictures of the response times; None when no histogram was stored."""
    drawn: list[Block] = [*charting.latencies(gathered, words)]
    return Section("latency", words.texts("compare.section.latency"), drawn) if drawn else None


def method(gathered: Gathered, words: Words, command: Sequence[str]) -> Section:
    """Subject and method of the comparison, the result of other methods, and the command."""
    comparison, texts = gathered.comparison, words.texts
    way = _WAYS[comparison.sides.unit]
    noise = (
        texts("compare.method.noise.value", run=gathered.noise_from)
        if gathered.noise_from
        else texts("compare.method.noise.none")
    )
    entries = [
        (texts("compare.method.pairs"), texts(_PAIRS(way))),
        (texts("compare.method.interval"), texts(_INTERVAL(way))),
        (texts("compare.method.correction"), texts("compare.method.correction.value")),
        (texts("compare.method.least"), _least_effects(words)),
        (texts("compare.method.noise"), noise),
    ]
    blocks: list[Block] = [Definitions(entries), _runs(gathered, words)]
    checked = _checks(words)
    if checked is not None:
        blocks.append(Details(texts("compare.table.checks"), [checked]))
    if command:
        blocks.append(Code(texts("compare.method.again"), shlex.join(command)))
    return Section("method", texts("compare.section.method"), blocks)


def _least_effects(words: Words) -> str:
    """`2% (throughput, p50), 5% (p95, p99)`."""
    comparison = words.comparison
    by_size: dict[float, list[str]] = {}
    for metric in comparison.metrics:
        by_size.setdefault(comparison.least_effects.of(metric), []).append(words.short(metric))
    mark = words.texts("mark.list")
    if len(by_size) == 1:
        return numbers.share(comparison.least_effect)
    return mark.join(f"{numbers.share(size)} ({mark.join(names)})" for size, names in by_size.items())


def _runs(gathered: Gathered, words: Words) -> Table:
    texts = words.texts
    columns = [
        Column(texts("compare.column.side")),
        Column(texts("compare.column.plan")),
        Column(texts("compare.column.begun")),
        Column(texts("compare.column.trials"), figure=True),
        Column(texts("compare.column.place"), code=True),
    ]
    runs = gathered.comparison.sides.kind != "runs"
    rows = [
        [
            Cell(run.short_id if runs else words.side(gathered.side_of(position))),
            Cell(str(run.run.plan_name or "")),
            Cell(minute(run.run.started_utc)),
            Cell(
                texts(
                    "mark.of",
                    part=sum(trial.status is Status.OK for trial in run.trials),
                    whole=max(len(run.planned), len(run.trials)),
                )
            ),
            Cell(str(shown(run.path))),
        ]
        for position, run in enumerate(gathered.runs)
    ]
    return Table("table-runs", texts("compare.table.runs"), columns, rows)


def _checks(words: Words) -> Table | None:
    texts = words.texts
    columns = [
        Column(texts("compare.column.figure")),
        Column(texts("compare.column.change"), figure=True),
        Column(texts("compare.column.medians"), figure=True),
        Column(texts("compare.column.means"), figure=True),
        Column(texts("compare.column.delta"), figure=True),
    ]
    rows = []
    for row in words.comparison.rows:
        if row.checked is None:
            continue
        mean_values = row.checked.means
        rows.append(
            [
                Cell(words.row(row)),
                Cell(f"{words.change(row.effect)}  ({words.interval(row.effect)})"),
                Cell(_triple(row.checked.medians)),
                Cell(texts("mark.none") if mean_values is None else _triple(mean_values)),
                Cell(f"{row.checked.delta:+.2f}", sort=row.checked.delta),
            ]
        )
    return Table("table-checks", texts("compare.table.checks"), columns, rows, only=True) if rows else None


def _triple(triple: tuple[float, float, float]) -> str:
    middle, low, high = (numbers.change(value - 1) for value in triple)
    return f"{middle}  ({low} … {high})"
