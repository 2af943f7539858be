"""The page of a plan's history, of the same blocks as a run's report."""

from __future__ import annotations

from pathlib import Path

from loadcell import __version__
from loadcell.analysis.history import findings
from loadcell.analysis.history.changes import Event
from loadcell.model import numbers
from loadcell.report import html
from loadcell.report.blocks import (
    Block,
    Cell,
    Column,
    Paragraph,
    Report,
    Section,
    Sentences,
    Table,
    Tile,
    Tiles,
    Tone,
)
from loadcell.report.history import chart
from loadcell.report.history.gather import Gathered
from loadcell.report.texts import Texts
from loadcell.store.durable import write_text
from loadcell.store.errors import StoreError, cannot_write


def write(gathered: Gathered, lang: str, out: Path) -> Path:
    """Write the page to `out`, a directory or an .html file; returns where it is. Raises StoreError."""
    place = out / "history.html" if out.is_dir() or not out.suffix else out
    if place.suffix not in {".html", ".htm"}:
        raise StoreError(
            f"{out} does not end in .html", advice="Name a directory, or a file that ends in .html."
        )
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        write_text(place, html.render(build(gathered, lang)))
    except OSError as error:
        raise cannot_write(place, error, place.parent) from None
    return place


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
    metric = texts(f"history.metric.{history.metric.name}")
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
    blocks: list[Block] = [Tiles(tiles), Sentences(list(findings.find(history)))]
    blocks += [Paragraph(one, quiet=True) for one in gathered.left_out]
    method = texts(f"history.method.{history.options.method}")
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
    """What changed between two runs, and what else differs between them."""
    runs, none = gathered.history.runs, texts("mark.none")
    before, after = runs[event.last], runs[event.first]
    columns = [
        Column(texts("column.treatment")),
        Column(texts("history.column.before"), figure=True),
        Column(texts("history.column.after"), figure=True),
        Column(texts("history.column.change"), figure=True),
        Column(texts("history.column.p"), figure=True),
    ]
    throughput = gathered.history.metric.name == "throughput"
    rows = []
    for change in event.changes:
        better = (change.share > 0) == gathered.history.metric.higher_is_better
        rows.append(
            [
                Cell(change.series.label),
                *(
                    Cell(numbers.rate(value) if throughput else numbers.milliseconds(value), sort=value)
                    for value in (change.before, change.after)
                ),
                Cell(
                    ("+" if change.share > 0 else "−") + numbers.share(abs(change.share)),
                    sort=change.share,
                    tone="good" if better else "problem",
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
                Cell(one.path),
                Cell(texts("history.not-set") if one.before is None else str(one.before)),
                Cell(texts("history.not-set") if one.after is None else str(one.after)),
                Cell(texts("mark.list").join(one.treatments[:3]) or none),
            ]
            for one in event.differences
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
    for place, run in reversed(list(enumerate(history.runs))):
        known = texts.or_none(f"state.{run.state}") or texts("state.unknown")
        repeats = sum(run.repeats.values())
        rows.append(
            [
                Cell(run.name, sort=place),
                Cell(run.started_utc[:16].replace("T", " "), sort=place),
                Cell(known, tone="" if run.state == "finished" else "caution"),
                Cell(numbers.whole(len(run.values)), sort=len(run.values)),
                Cell(numbers.whole(repeats), sort=repeats),
                Cell(str(run.run.get("loadcell_version") or texts("mark.none"))),
            ]
        )
    title = texts("history.section.runs")
    return Section("runs", title, [Table("table-runs", title, columns, rows, only=True)])
