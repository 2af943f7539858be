"""The page of a plan's history, of the same blocks as a run's report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from loadcell import __version__
from loadcell.analysis.history import Change, Event, find
from loadcell.model import numbers
from loadcell.model.message import Labels
from loadcell.report.blocks import (
    Block,
    Cell,
    Code,
    Column,
    Paragraph,
    Remark,
    Report,
    Section,
    Sentences,
    Table,
    Tile,
    Tiles,
    Tone,
)
from loadcell.report.history import chart
from loadcell.report.history.gather import METRIC, Gathered
from loadcell.report.messages import OUT_NOT_HTML
from loadcell.report.render import html
from loadcell.report.texts import STATE, Texts
from loadcell.store.layout import StoreError, cannot_write
from loadcell.store.write import write_text

_METHOD = Labels("history.method", ("t-test", "permutation", "windows"))
BARS = "▁▂▃▄▅▆▇█"
#: Width of a terminal's curve, and treatments listed there: those that changed come first.
CURVE, MOST_ROWS = 24, 30
#: A curve's height stands for at least this share of its level: noise is no mountain.
LEAST_HEIGHT = 0.2


def write(gathered: Gathered, lang: str, out: Path) -> Path:
    """Write the page to `out`, a directory or an .html file; returns where it is. Raises StoreError."""
    path = out / "history.html" if out.is_dir() or not out.suffix else out
    if path.suffix not in {".html", ".htm"}:
        raise StoreError(OUT_NOT_HTML(path=out))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, html.render(build(gathered, lang)))
    except OSError as error:
        raise cannot_write(path, error, path.parent) from None
    return path


def build(gathered: Gathered, lang: str) -> Report:
    """The page in one language."""
    texts, history = Texts(lang, gathered.unit), gathered.history
    runs = history.runs
    sections = [
        _summary(gathered, texts),
        _chart(gathered, texts),
        *(_event(event, gathered, texts, number) for number, event in enumerate(reversed(history.events), 1)),
        _runs(gathered, texts),
    ]
    metric = texts(METRIC(history.metric.name))
    badges: list[tuple[str, Tone]] = [
        (texts("history.badge.runs", count=len(runs)), ""),
        (f"{runs[0].started_utc[:10]} – {runs[-1].started_utc[:10]}", ""),
    ]
    return Report(
        language=lang,
        title=gathered.title,
        question=texts("history.question", metric=metric),
        run_id=str(gathered.results / gathered.plan),
        badges=badges,
        sections=[section for section in sections if section is not None],
        version=__version__,
        kind="history.kind",
        unit=gathered.unit,
    )


def brief(gathered: Gathered, lang: str, page: str | None = None) -> Report:
    """The terminal's report: a row per treatment with its runs as a small curve, then findings.

    `page` is the command that writes the page.
    """
    texts, history = Texts(lang, gathered.unit), gathered.history
    runs = history.runs
    metric = texts(METRIC(history.metric.name))
    first, last = runs[0].started_utc[:10], runs[-1].started_utc[:10]
    question = texts("history.head", count=len(runs), metric=metric, first=first, last=last)
    ordered = sorted(history.series, key=lambda series: not history.changes_of(series))
    columns = [
        Column(texts("column.treatment")),
        Column(texts("history.column.runs"), figure=True),
        Column(texts("history.column.curve"), keep=True),
        Column(texts("history.column.now"), figure=True),
        Column(texts("history.column.changes")),
    ]
    rows = []
    for series in ordered[:MOST_ROWS]:
        changes = history.changes_of(series)[-2:]
        marks = " ".join(_mark(change, gathered) for change in changes)
        tone: Tone = _tone(changes[-1], gathered) if changes else ""
        latest = _written(series.values[-1], gathered)
        cells = (series.label, str(len(series.values)), spark(series.values), latest)
        rows.append([*map(Cell, cells), Cell(marks, tone=tone)])
    values: list[Block] = [Table("table-series", "", columns, rows)]
    if len(ordered) > MOST_ROWS:
        values.append(Paragraph(texts("terminal.more-rows", count=len(ordered) - MOST_ROWS), quiet=True))
    unread = [Remark("caution", line) for line in gathered.left_out]
    sections = [
        Section("series", "", values),
        Section("summary", "", [Sentences(list(find(history))), *unread]),
        Section("next", "", [Code(texts("history.page"), page)] if page else []),
    ]
    return Report(lang, gathered.title, question, "", (), sections, unit=gathered.unit)


def _mark(change: Change, gathered: Gathered) -> str:
    """`▼15% @0008`: direction, size, and the first run after the change."""
    after = gathered.history.runs[change.first].short
    return f"{'▲' if change.share > 0 else '▼'}{numbers.share(abs(change.share))} @{after}"


def _tone(change: Change, gathered: Gathered) -> Tone:
    return "good" if (change.share > 0) == gathered.history.metric.higher_is_better else "problem"


def _written(value: float, gathered: Gathered) -> str:
    throughput = gathered.history.metric.name == "throughput"
    return numbers.rate(value) if throughput else numbers.milliseconds(value)


def spark(values: Sequence[float], width: int = CURVE) -> str:
    """Values as a curve of blocks, the latest at the right; more than `width` are joined to their means."""
    if not values:
        return ""
    size = -(-len(values) // width)
    first = len(values) % size
    parts = [values[:first]] if first else []
    parts += [values[begin : begin + size] for begin in range(first, len(values), size)]
    joined = [sum(part) / len(part) for part in parts]
    low, high = min(joined), max(joined)
    middle, height = (low + high) / 2, max(high - low, LEAST_HEIGHT * abs(low + high) / 2)
    if height == 0:
        return BARS[len(BARS) // 2] * len(joined)
    places = [(value - middle) / height + 0.5 for value in joined]
    return "".join(BARS[min(len(BARS) - 1, int(position * len(BARS)))] for position in places)


def _summary(gathered: Gathered, texts: Texts) -> Section:
    history = gathered.history
    changed = {change.series.treatment for event in history.events for change in event.changes}
    tiles = [
        Tile(texts("history.tile.runs"), numbers.whole(len(history.runs))),
        Tile(texts("history.tile.changes"), numbers.whole(len(history.events))),
        Tile(
            texts("history.tile.treatments"), texts("mark.of", part=len(changed), whole=len(history.judged))
        ),
    ]
    blocks: list[Block] = [Tiles(tiles), Sentences(list(find(history)))]
    blocks += [Remark("caution", line) for line in gathered.left_out]
    method = texts(_METHOD(history.options.method))
    note = texts(
        "history.method", method=method, level_share=history.options.level,
        least_share=history.options.least_change,
    )  # fmt: skip
    blocks.append(Paragraph(note, quiet=True))
    return Section("summary", texts("section.summary"), blocks)


def _chart(gathered: Gathered, texts: Texts) -> Section | None:
    drawn = chart.draw(gathered.history, texts)
    return Section("history", texts("history.section.chart"), [drawn]) if drawn else None


def _event(event: Event, gathered: Gathered, texts: Texts, number: int) -> Section:
    """Changes between two runs, and other differences between them."""
    runs, none = gathered.history.runs, texts("mark.none")
    before, after = runs[event.last], runs[event.first]
    columns = [
        Column(texts("column.treatment")),
        Column(texts("history.column.before"), figure=True),
        Column(texts("history.column.after"), figure=True),
        Column(texts("history.column.change"), figure=True),
        Column(texts("history.column.p"), figure=True),
    ]
    rows = []
    for change in event.changes:
        rows.append(
            [
                Cell(change.series.label),
                *(Cell(_written(value, gathered), sort=value) for value in (change.before, change.after)),
                Cell(
                    ("+" if change.share > 0 else "−") + numbers.share(abs(change.share)),
                    sort=change.share,
                    tone=_tone(change, gathered),
                ),
                Cell(numbers.share(change.p), sort=change.p),
            ]
        )
    title = texts(
        "history.section.change", before=before.short, after=after.short, date=after.started_utc[:10]
    )
    blocks: list[Block] = [Table(f"table-change-{number}", texts("history.table.changes"), columns, rows)]
    if event.differences:
        differing = [
            [
                Cell(difference.path),
                Cell(texts("history.not-set") if difference.before is None else str(difference.before)),
                Cell(texts("history.not-set") if difference.after is None else str(difference.after)),
                Cell(texts("mark.list").join(difference.treatments[:3]) or none),
            ]
            for difference in event.differences
        ]
        heads = [
            Column(texts("column.setting"), code=True),
            Column(before.short, code=True),
            Column(after.short, code=True),
            Column(texts("history.column.only")),
        ]
        blocks.append(Table(f"table-differs-{number}", texts("history.table.differs"), heads, differing))
    else:
        blocks.append(Paragraph(texts("history.nothing-differs")))
    return Section(f"change-{number}", title, blocks)


def _runs(gathered: Gathered, texts: Texts) -> Section:
    """Every run, the latest first."""
    history = gathered.history
    columns = [
        Column(texts("history.column.run"), code=True),
        Column(texts("history.column.started"), keep=True),
        Column(texts("column.state")),
        Column(texts("history.column.treatments"), figure=True),
        Column(texts("history.column.repeats"), figure=True),
        Column("loadcell", code=True),
    ]
    rows = []
    for index, run in reversed(list(enumerate(history.runs))):
        state = texts.or_none(STATE(run.state)) or texts("state.unknown")
        repeats = sum(run.repeats.values())
        rows.append(
            [
                Cell(run.name, sort=index),
                Cell(run.started_utc[:16].replace("T", " "), sort=index),
                Cell(state, tone="" if run.state == "finished" else "caution"),
                Cell(numbers.whole(len(run.values)), sort=len(run.values)),
                Cell(numbers.whole(repeats), sort=repeats),
                Cell(str(run.run.loadcell_version or texts("mark.none"))),
            ]
        )
    title = texts("history.section.runs")
    return Section("runs", title, [Table("table-runs", title, columns, rows, only=True)])


def document(gathered: Gathered) -> Mapping[str, object]:
    """The history for scripts."""
    history = gathered.history
    return {
        "plan": gathered.plan, "title": gathered.title, "results": gathered.results,
        "unit": gathered.unit,
        "metric": history.metric.name, "method": history.options.method, "level": history.options.level,
        "runs": [
            {
                "run": run.name, "started_utc": run.started_utc, "state": run.state,
                "values": run.values, "repeats": run.repeats,
            }
            for run in history.runs
        ],
        "treatments": [
            {"id": series.treatment, "label": series.label, "runs": len(series.values)}
            for series in history.series
        ],
        "changes": [
            {
                "last_before": history.runs[event.last].name, "first_after": history.runs[event.first].name,
                "treatments": [
                    {
                        "treatment": change.series.treatment, "before": change.before, "after": change.after,
                        "change": change.share, "p": change.p,
                    }
                    for change in event.changes
                ],
                "differences": event.differences,
            }
            for event in history.events
        ],
        "latest": [
            {"treatment": series.series.treatment, "change": series.share, "p": series.p}
            for series in history.latest
        ],
        "findings": list(find(history)),
        "left_out": gathered.left_out,
    }  # fmt: skip
