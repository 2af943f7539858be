"""Reports of a plan's history: the runs of one plan, their page, brief report
and JSON.
"""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from loadcell import __version__
from loadcell.analysis.compare.metrics import Metric
from loadcell.analysis.history import Change, Event, History, Options, Run, find, history, run_of
from loadcell.analysis.treatments import unit_of
from loadcell.model import numbers
from loadcell.model.message import Labels, Message, MessageCode
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
    without_empty,
)
from loadcell.report.charts import history as chart
from loadcell.report.publish import Document
from loadcell.report.sections import provenance
from loadcell.report.texts import STATE, Texts
from loadcell.report.values import minute
from loadcell.stats.change_points import PLACE_COVERAGE
from loadcell.store.find import runs_under
from loadcell.store.layout import StoreError
from loadcell.store.read import read_run

RESULTS_NO_DIRECTORY = MessageCode("results.no-directory", path=str)
RESULTS_NO_DIRECTORY_HERE = MessageCode("results.no-directory-here", path=str)
HISTORY_NO_RUNS_HERE = MessageCode("history.no-runs-here", name=str, results=str)
HISTORY_NO_RUNS = MessageCode("history.no-runs", name=str, results=str)
HISTORY_NO_RUNS_NEAR = MessageCode("history.no-runs-near", name=str, results=str, near=str, plans=list)
HISTORY_NO_RUNS_LISTED = MessageCode("history.no-runs-listed", name=str, results=str, plans=list)

#: How many plans a message lists.
MOST_LISTED = 8


@dataclass(frozen=True)
class Gathered:
    """A plan's history, where it was read, its title, and what could not be read."""

    plan: str
    title: str
    results: Path
    history: History
    left_out: tuple[str, ...]

    @property
    def unit(self) -> str:
        """Unit of throughput in these runs."""
        return unit_of(record for run in self.history.runs for record in run.records)


def plan_name(named: str) -> str:
    """The name that runs of a plan go by, from the plan's file or the name itself."""
    path = Path(named)
    return path.stem if path.suffix in {".yaml", ".yml"} else path.name


def gather(
    named: str, results: Path, metric: Metric, options: Options, last: int | None = None, lang: str = "en"
) -> Gathered:
    """The history of a plan; of its `last` runs only, if given.

    Raises StoreError when there is no results directory, or no run of this plan in it.
    """
    name = plan_name(named)
    if not results.is_dir():
        here = _has_runs_here(name)
        raise StoreError((RESULTS_NO_DIRECTORY_HERE if here else RESULTS_NO_DIRECTORY)(path=results))
    runs: list[Run] = []
    titles: list[str] = []
    others: set[str] = set()
    left_out = []
    for path in runs_under(results):
        try:
            stored = read_run(path)
        except StoreError as error:
            left_out.append(f"{path.name}: {error.finding}")
            continue
        plan = str(stored.run.plan_name or path.parent.name)
        if plan.lower() != name.lower():
            others.add(plan)
            continue
        runs.append(run_of(stored.id, stored.state, stored.run, stored.trials, stored.environment, metric))
        titles.append(stored.run.title_in(lang) or plan)
    if not runs:
        elsewhere = results.resolve() != Path.cwd() and _has_runs_here(name)
        message = HISTORY_NO_RUNS_HERE(name=repr(name), results=results)
        raise StoreError(message if elsewhere else _no_runs(name, results, others))
    runs.sort(key=lambda run: (run.started_utc, run.name))
    chosen = runs if last is None else runs[-last:]
    return Gathered(name, titles[-1], results, history(chosen, metric, options), tuple(left_out))


def _has_runs_here(name: str) -> bool:
    """True if runs of this plan lie in the working directory, as those of `--out NAME` do."""
    for path in runs_under(Path()):
        with contextlib.suppress(StoreError):
            if str(read_run(path).run.plan_name).lower() == name.lower():
                return True
    return False


def _no_runs(name: str, results: Path, others: set[str]) -> Message:
    """The message that no run of this plan exists, with the nearest name of those that have runs."""
    if not others:
        return HISTORY_NO_RUNS(name=repr(name), results=results)
    plans = sorted(others)[:MOST_LISTED]
    if len(others) > MOST_LISTED:
        plans.append("…")
    if near := difflib.get_close_matches(name, others, n=1):
        return HISTORY_NO_RUNS_NEAR(name=repr(name), results=results, near=near[0], plans=plans)
    return HISTORY_NO_RUNS_LISTED(name=repr(name), results=results, plans=plans)


_METHOD = Labels("history.method", ("t-test", "permutation", "windows"))
BARS = "▁▂▃▄▅▆▇█"
#: Width of a terminal's curve, and treatments listed there: those that changed come first.
CURVE, MOST_ROWS = 24, 30
#: A curve's height stands for at least this share of its level: noise is no mountain.
LEAST_HEIGHT = 0.2


def document(gathered: Gathered, lang: str) -> Document:
    """The history in every form."""
    return Document(
        "history",
        lambda _: build(gathered, lang),
        lambda page: brief(gathered, lang, page),
        lambda: data(gathered),
    )


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
    metric = texts.message(history.metric_name)
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
    metric = texts.message(history.metric_name)
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
    values += _covered(gathered, texts)
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
    metric = gathered.history.metric
    if metric.resource is not None:
        return numbers.share(value) if metric.resource.kind == "share" else numbers.size(value)
    return numbers.rate(value) if metric.name == "throughput" else numbers.milliseconds(value)


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
        Column(texts("history.column.place", confidence_share=PLACE_COVERAGE), code=True),
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
                Cell(f"{runs[change.since].short}–{runs[change.until].short}"),
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
                Cell(texts("value.not-set") if difference.before is None else str(difference.before)),
                Cell(texts("value.not-set") if difference.after is None else str(difference.after)),
                Cell(texts("mark.list").join(difference.treatments[:3]) or none),
            ]
            for difference in event.differences
        ]
        heads = [
            Column(texts("column.setting"), code=True),
            Column(runs[event.changes[0].since].short, code=True),
            Column(runs[event.changes[0].until].short, code=True),
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
        Column(texts("coverage.share"), figure=True, spare=True),
        Column("loadcell", code=True),
        Column(texts("history.column.labels"), code=True, spare=True),
    ]
    rows = []
    for index, run in reversed(list(enumerate(history.runs))):
        state = texts.or_none(STATE(run.state)) or texts("state.unknown")
        repeats = sum(run.repeats.values())
        rows.append(
            [
                Cell(run.name, sort=index),
                Cell(minute(run.started_utc), sort=index),
                Cell(state, tone="" if run.state == "finished" else "caution"),
                Cell(numbers.whole(len(run.values)), sort=len(run.values)),
                Cell(numbers.whole(repeats), sort=repeats),
                _coverage(run),
                Cell(str(run.run.loadcell_version or texts("mark.none"))),
                _labels(run),
            ]
        )
    title = texts("history.section.runs")
    shown_columns, shown_rows = without_empty(columns, rows)
    return Section("runs", title, [Table("table-runs", title, shown_columns, shown_rows, only=True)])


def _coverage(run: Run) -> Cell:
    """Coverage of a test suite; empty of other runs."""
    coverage = run.run.coverage
    return Cell("") if coverage is None else Cell(numbers.share(coverage.share), sort=coverage.share)


def _covered(gathered: Gathered, texts: Texts) -> list[Block]:
    """Coverage over the runs of a test suite, as a curve; nothing of other runs."""
    shares = [run.run.coverage.share for run in gathered.history.runs if run.run.coverage is not None]
    if not shares:
        return []
    curve = texts("coverage.history", curve=spark(shares), covered_share=shares[-1])
    return [Paragraph(curve)]


def _labels(run: Run) -> Cell:
    """Labels and commit of a run."""
    text = " ".join(provenance.names(run.run))
    return Cell(text, sort=1.0 if text else None)


def data(gathered: Gathered) -> Mapping[str, object]:
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
                "labels": run.run.labels or {}, "about": run.run.about or {}, "checkout": run.run.checkout,
                "coverage": run.run.coverage and run.run.coverage.share,
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
                        "certainly_before": history.runs[change.since].name,
                        "certainly_after": history.runs[change.until].name,
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
