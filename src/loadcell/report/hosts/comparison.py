"""The page on two machines: what differs first, baselines as ratios, and what a workload's ratio follows."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt

from loadcell import __version__
from loadcell.analysis.hosts import findings as saying
from loadcell.analysis.hosts.compare import Row
from loadcell.analysis.hosts.facts import Fact
from loadcell.analysis.hosts.hypothesis import Candidate, Hypothesis
from loadcell.analysis.hosts.names import candidate_name
from loadcell.model import numbers
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
    Tone,
)
from loadcell.report.charts import style
from loadcell.report.comparison.build import TONES
from loadcell.report.comparison.charts import VERDICT_COLOURS, VERDICT_SHAPES
from loadcell.report.hosts import words
from loadcell.report.hosts.compared import Compared
from loadcell.report.sections.reproduce import shown
from loadcell.report.texts import Texts

_STANDING_TONES: dict[str, Tone] = {"near": "good", "part": "info"}


def build(found: Compared, lang: str, command: Sequence[str] = (), *, charts: bool = True) -> Report:
    """The report in one language; without `charts` for a place that shows no pictures."""
    texts = Texts(lang)
    first, second = (machine.label for machine in found.machines.machines)
    sections = [
        Section("summary", texts("section.summary"), [Sentences(list(saying.of_machines(found.machines)))]),
        *_workloads(found, texts),
        _inventories(found, texts),
        _baselines(found, texts, charts=charts),
        _method(found, texts, command),
    ]
    return Report(
        language=lang,
        title=texts("hosts.compare.title", first=first, second=second),
        question=texts("hosts.compare.question"),
        run_id=texts("mark.list").join(str(shown(source.path)) for source in found.sources),
        badges=[(first, ""), (second, "")],
        sections=[section for section in sections if section is not None],
        version=__version__,
        kind="hosts.compare.kind",
    )


def _workloads(found: Compared, texts: Texts) -> Iterator[Section]:
    """What each workload follows: sentences, and every candidate."""
    for place, each in enumerate(found.workloads, 1):
        one = each.hypothesis
        blocks: list[Block] = [Sentences(list(found.of(each)))]
        if one.differs and one.candidates:
            blocks.append(candidates(one, texts, place))
        title = texts("hosts.section.follows", workload=one.workload.name)
        yield Section(f"follows-{place}", title, blocks)


def candidates(one: Hypothesis, texts: Texts, place: int = 1) -> Table:
    """Every difference between the machines against the workload's: the likeliest first."""
    columns = [
        Column(texts("hosts.column.candidate"), keep=True),
        Column(texts("hosts.column.times"), figure=True),
        Column(texts("hosts.column.ends"), figure=True),
        Column(texts("hosts.column.from-workload"), figure=True),
        Column(texts("hosts.column.overlap")),
        Column(texts("hosts.column.standing"), keep=True),
    ]
    rows = [
        [
            Cell(texts.value("name", candidate_name(each))),
            Cell(words.times(each.times.value), sort=math.log(each.times.value)),
            Cell(words.ends(each.times, texts)),
            Cell(numbers.share(each.apart), sort=each.apart),
            Cell(texts("mark.none" if each.overlap is None else "mark.yes" if each.overlap else "mark.no")),
            Cell(_standing(each, texts), tone=_STANDING_TONES.get(each.standing, "")),
        ]
        for each in one.candidates
    ]
    note = texts("hosts.table.candidates.note")
    return Table(f"table-candidates-{place}", texts("hosts.table.candidates"), columns, rows, note)


def _standing(one: Candidate, texts: Texts) -> str:
    if one.share is not None:
        return texts("hosts.standing.part", needed_share=one.share)
    return texts(f"hosts.standing.{one.standing}")


def _inventories(found: Compared, texts: Texts) -> Section:
    facts = found.machines.facts
    open_, same = (
        [fact for fact in facts if fact.differs],
        [fact for fact in facts if fact.known and not fact.differs],
    )
    alone = [fact for fact in facts if not fact.known]
    blocks: list[Block] = []
    if open_:
        blocks.append(_facts(found, open_, "differ", texts))
    else:
        blocks.append(Paragraph(texts("hosts.facts.none")))
    for kind, rest in (("alone", alone), ("same", same)):
        if rest:
            table = _facts(found, rest, kind, texts)
            blocks.append(Details(texts(f"hosts.facts.{kind}", count=len(rest)), [table]))
    return Section("inventory", texts("hosts.section.inventories"), blocks)


def _facts(found: Compared, facts: Sequence[Fact], kind: str, texts: Texts) -> Table:
    first, second = (machine.label for machine in found.machines.machines)
    columns = [
        Column(texts("hosts.column.fact"), keep=True),
        Column(first),
        Column(second),
        *([Column(texts("hosts.column.ratio"), figure=True)] if kind == "differ" else []),
    ]
    rows = []
    for fact in facts:
        values = [Cell(value) for value in words.fact_values(fact, texts)]
        ratio = Cell(texts("mark.none") if fact.times is None else words.times(fact.times), sort=fact.times)
        rows.append([Cell(words.fact_name(fact, texts)), *values, *([ratio] if kind == "differ" else [])])
    title = texts(f"hosts.facts.{kind}", count=len(facts))
    return Table(f"table-facts-{kind}", title, columns, rows, only=kind != "differ")


def _baselines(found: Compared, texts: Texts, *, charts: bool) -> Section | None:
    if not found.machines.rows and not found.machines.alone:
        return None
    blocks: list[Block] = []
    if found.machines.rows:
        if charts:
            blocks.append(forest(found, texts))
        blocks.append(ratios(found, texts))
    if found.machines.alone:
        blocks.append(Details(texts("hosts.table.alone"), [_alone(found, texts)]))
    return Section("baselines", texts("hosts.section.baselines"), blocks)


def ratios(found: Compared, texts: Texts) -> Table:
    """Every baseline of both machines, the greatest difference first."""
    first, second = (machine.label for machine in found.machines.machines)
    columns = [
        Column(texts("hosts.column.score"), keep=True),
        Column(first, figure=True),
        Column(second, figure=True),
        Column(texts("hosts.column.unit")),
        Column(texts("hosts.column.times"), figure=True),
        Column(texts("hosts.column.ends"), figure=True),
        Column(texts("hosts.column.repeats"), figure=True),
        Column(texts("column.verdict"), keep=True),
        Column(texts("compare.column.why"), keep=True),
    ]
    rows = [
        [
            Cell(words.row(row, texts)),
            *(Cell(words.figure(one.median), sort=one.median) for one in row.scores),
            Cell(words.unit(row.score, texts)),
            Cell(words.times(row.times.value), sort=abs(math.log(row.times.value))),
            Cell(words.ends(row.times, texts)),
            Cell(_repeats(row), sort=row.effect.n),
            Cell(texts(f"compare.verdict.{row.verdict.word}"), tone=TONES[row.verdict.word]),
            Cell(texts(f"compare.reason.{row.verdict.reason}")),
        ]
        for row in found.machines.rows
    ]
    sure = all(row.times.sure for row in found.machines.rows)
    note = texts("hosts.table.ratios.note" if sure else "hosts.table.ratios.few", first=first, second=second)
    return Table("table-ratios", texts("hosts.table.ratios"), columns, rows, note)


def _repeats(row: Row) -> str:
    first, second = (len(one.values) for one in row.scores)
    return str(first) if first == second else f"{first}, {second}"


def _alone(found: Compared, texts: Texts) -> Table:
    columns = [
        Column(texts("hosts.column.machine")),
        Column(texts("hosts.column.score"), keep=True),
        Column(texts("axis.median"), figure=True),
        Column(texts("hosts.column.unit")),
    ]
    rows = [
        [
            Cell(found.machines.machines[place].label),
            Cell(words.name(score, texts)),
            Cell(words.figure(score.median), sort=score.median),
            Cell(words.unit(score, texts)),
        ]
        for place, score in found.machines.alone
    ]
    return Table("table-alone", texts("hosts.table.alone"), columns, rows, only=True)


def forest(found: Compared, texts: Texts) -> Chart:
    """Every ratio on one logarithmic axis, its interval or spread, and where each workload's own lies."""
    rows = found.machines.rows
    names = _apart([words.row(row, texts) for row in rows], [row.score.id for row in rows])
    points: list[dict[str, Any]] = [
        {
            "row": name, "times": row.times.value, "low": row.times.low, "high": row.times.high,
            "verdict": texts(f"compare.verdict.{row.verdict.word}"), "why": texts(f"compare.reason.{row.verdict.reason}"),
        }
        for row, name in zip(rows, names, strict=True)
    ]  # fmt: skip
    ran = [each.hypothesis.workload for each in found.workloads]
    works: list[dict[str, Any]] = [{"times": each.times.value, "name": each.name} for each in ran]
    used = [word for word in VERDICT_COLOURS if any(row.verdict.word == word for row in rows)]
    spoken = [texts(f"compare.verdict.{word}") for word in used]
    ends = [value for point in points for value in (point["times"], point["low"], point["high"]) if value]
    ends += [one["times"] for one in works]
    low, high = min(*ends, 0.9), max(*ends, 1.1)
    scale = alt.Scale(type="log", nice=False, padding=10, domain=[low, high])
    axis = alt.Axis(
        values=sorted({1.0, *style.log_ticks([low, high])}), labelExpr="'×' + format(datum.value, ',.3~r')",
        labelOverlap="greedy", titleAnchor="end",
    )  # fmt: skip
    first, second = (machine.label for machine in found.machines.machines)
    title = texts("hosts.axis.times", first=first, second=second)
    x = alt.X("times:Q", title=title, scale=scale, axis=axis)
    y = alt.Y("row:N", title=None, sort=names, axis=alt.Axis(grid=True, labelOverlap=False, labelLimit=320))
    legend = alt.Legend(title=None, symbolOpacity=1)
    colour = alt.Color(
        "verdict:N", scale=alt.Scale(domain=spoken, range=[VERDICT_COLOURS[word] for word in used]), legend=legend
    )  # fmt: skip
    shape = alt.Shape(
        "verdict:N", scale=alt.Scale(domain=spoken, range=[VERDICT_SHAPES[word] for word in used]), legend=legend
    )  # fmt: skip
    tips = [
        alt.Tooltip("row:N", title=texts("hosts.column.score")),
        alt.Tooltip("times:Q", title=texts("hosts.column.times"), format=",.3~r"),
        alt.Tooltip("low:Q", title=texts("axis.low"), format=",.3~r"),
        alt.Tooltip("high:Q", title=texts("axis.high"), format=",.3~r"),
        alt.Tooltip("verdict:N", title=texts("column.verdict")),
        alt.Tooltip("why:N", title=texts("compare.column.why")),
    ]
    base = alt.Chart(style.data("points"))
    one = alt.Chart(style.data("one")).mark_rule(color="var(--soft)", strokeDash=[3, 3]).encode(x=x)
    line = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title=title, scale=scale, axis=axis), x2="high:Q", y=y, color=colour, tooltip=tips
    )  # fmt: skip
    point = base.mark_point(size=70, filled=True, opacity=1).encode(
        x=x, y=y, color=colour, shape=shape, tooltip=tips
    )
    marks = alt.Chart(style.data("workloads")).mark_rule(color="var(--accent)", strokeWidth=2).encode(
        x=x, tooltip=[alt.Tooltip("name:N", title=texts("hosts.column.workload")), tips[1]]
    )  # fmt: skip
    lines = [line] if any(point["low"] is not None for point in points) else []
    captions = [texts("hosts.caption.forest", first=first, second=second)]
    if works:
        captions.append(texts("hosts.caption.forest.workload", workloads=[str(one["name"]) for one in works]))
    layers = [one, *([marks] if works else []), *lines, point]
    data: dict[str, list[dict[str, Any]]] = {
        "points": points,
        "one": [{"times": 1.0}],
        **({"workloads": works} if works else {}),
    }
    chart = style.layered(*layers, height=style.ROW * len(rows))
    return Chart("chart-ratios", texts("hosts.chart.ratios"), style.document(chart), data, captions)


def _apart(names: Sequence[str], ids: Sequence[str]) -> list[str]:
    """Names as they are, or with the score's own: on a machine of one processor one thread is all there are."""
    return [
        name if names.count(name) == 1 else f"{name} ({own.partition('/')[0]})"
        for name, own in zip(names, ids, strict=True)
    ]


def _method(found: Compared, texts: Texts, command: Sequence[str]) -> Section:
    entries = [
        (texts("hosts.method.ratio"), texts("hosts.method.ratio.value")),
        (texts("compare.method.interval"), texts("compare.method.interval.unpaired")),
        (texts("compare.method.correction"), texts("compare.method.correction.value")),
        (texts("compare.method.least"), numbers.share(found.machines.least_effect)),
        *((source.machine.label, str(shown(source.path))) for source in found.sources),
    ]
    blocks: list[Block] = [Definitions(entries)]
    if command:
        blocks.append(Code(texts("compare.method.again"), shlex.join(command)))
    return Section("method", texts("compare.section.method"), blocks)
