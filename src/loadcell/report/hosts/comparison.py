"""The page on two machines: what differs first, baselines as ratios, and what a workload's ratio follows."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence

from loadcell import __version__
from loadcell.analysis.hosts import findings as saying
from loadcell.analysis.hosts.compare import Row, Times
from loadcell.analysis.hosts.facts import Fact
from loadcell.analysis.hosts.findings import candidate_name
from loadcell.analysis.hosts.hypothesis import STANDINGS, Candidate, Hypothesis
from loadcell.model import numbers
from loadcell.model.message import Labels
from loadcell.report.blocks import (
    Block,
    Cell,
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
from loadcell.report.comparison import words
from loadcell.report.hosts import charts
from loadcell.report.hosts.gather import Compared
from loadcell.report.publish import ComparisonDocument
from loadcell.report.sections.environment import shown
from loadcell.report.texts import Texts

_STANDING = Labels("hosts.standing", STANDINGS)
_FACTS = Labels("hosts.facts", ("differ", "alone", "same"))
#: More rows than this scroll a terminal's sentences away.
MOST_FACTS, MOST_ROWS = 14, 24
_STANDING_TONES: dict[str, Tone] = {"near": "good", "part": "info"}


def build(compared: Compared, lang: str, command: Sequence[str] = (), *, pictures: bool = True) -> Report:
    """The report in one language; without `pictures` for a pull request."""
    texts = Texts(lang)
    first, second = (machine.label for machine in compared.machines.machines)
    sections = [
        Section(
            "summary", texts("section.summary"), [Sentences(list(saying.of_machines(compared.machines)))]
        ),
        *_workloads(compared, texts),
        _inventories(compared, texts),
        _baselines(compared, texts, pictures=pictures),
        _method(compared, texts, command),
    ]
    return Report(
        language=lang,
        title=texts("hosts.compare.title", first=first, second=second),
        question=texts("hosts.compare.question"),
        run_id=texts("mark.list").join(str(shown(source.path)) for source in compared.sources),
        badges=[(first, ""), (second, "")],
        sections=[section for section in sections if section is not None],
        version=__version__,
        kind="hosts.compare.kind",
    )


def brief(compared: Compared, lang: str, page: str | None = None) -> Report:
    """The terminal's report: sentences, differing facts, ratios; `page` is the command that writes a page."""
    texts, machines = Texts(lang), compared.machines
    first, second = (machine.label for machine in machines.machines)
    facts: list[Block] = []
    if machines.differing:
        facts.append(_facts(compared, machines.differing[:MOST_FACTS], "brief", texts))
        facts += _hidden(len(machines.differing) - MOST_FACTS, texts)
    rows: list[Block] = []
    if machines.rows:
        rows = [ratios(compared, texts, MOST_ROWS), *_hidden(len(machines.rows) - MOST_ROWS, texts)]
    sections = [
        Section("summary", "", [Sentences(list(saying.of_machines(machines)))]),
        *(
            Section(
                "follows", texts("hosts.section.follows", workload=workload.hypothesis.workload.name),
                [Sentences(list(compared.of(workload)))],
            )
            for workload in compared.workloads
        ),
        Section("inventory", "", facts),
        Section("baselines", "", rows),
        Section("next", "", [Code(texts("compare.terminal.hint"), page)] if page else []),
    ]  # fmt: skip
    return Report(lang, texts("hosts.compare.title", first=first, second=second), "", "", (), sections)


def document(compared: Compared, lang: str, command: Sequence[str] = ()) -> ComparisonDocument:
    """The comparison in every form; `command` is what made it."""
    return ComparisonDocument(
        "hosts",
        lambda pictures: build(compared, lang, command, pictures=pictures),
        lambda page: brief(compared, lang, page),
        lambda: data(compared),
        Texts(lang),
        incomplete=compared.incomplete,
    )


def _hidden(count: int, texts: Texts) -> list[Paragraph]:
    return [Paragraph(texts("compare.terminal.hidden", count=count), quiet=True)] if count > 0 else []


def _workloads(compared: Compared, texts: Texts) -> Iterator[Section]:
    """The resource that each workload follows: sentences, and every candidate."""
    for index, workload in enumerate(compared.workloads, 1):
        hypothesis = workload.hypothesis
        blocks: list[Block] = [Sentences(list(compared.of(workload)))]
        if hypothesis.differs and hypothesis.candidates:
            blocks.append(candidates(hypothesis, texts, index))
        title = texts("hosts.section.follows", workload=hypothesis.workload.name)
        yield Section(f"follows-{index}", title, blocks)


def candidates(hypothesis: Hypothesis, texts: Texts, index: int = 1) -> Table:
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
            Cell(texts.value("name", candidate_name(candidate))),
            Cell(words.times(candidate.times.value), sort=math.log(candidate.times.value)),
            Cell(words.ends(candidate.times, texts)),
            Cell(numbers.share(candidate.apart), sort=candidate.apart),
            Cell(
                texts(
                    "mark.none"
                    if candidate.overlap is None
                    else "mark.yes"
                    if candidate.overlap
                    else "mark.no"
                )
            ),
            Cell(_standing(candidate, texts), tone=_STANDING_TONES.get(candidate.standing, "")),
        ]
        for candidate in hypothesis.candidates
    ]
    note = texts("hosts.table.candidates.note")
    return Table(f"table-candidates-{index}", texts("hosts.table.candidates"), columns, rows, note)


def _standing(candidate: Candidate, texts: Texts) -> str:
    if candidate.share is not None:
        return texts("hosts.standing.part", needed_share=candidate.share)
    return texts(_STANDING(candidate.standing))


def _inventories(compared: Compared, texts: Texts) -> Section:
    facts = compared.machines.facts
    open_, same = (
        [fact for fact in facts if fact.differs],
        [fact for fact in facts if fact.is_complete and not fact.differs],
    )
    alone = [fact for fact in facts if not fact.is_complete]
    blocks: list[Block] = []
    if open_:
        blocks.append(_facts(compared, open_, "differ", texts))
    else:
        blocks.append(Paragraph(texts("hosts.facts.none")))
    for kind, remaining_facts in (("alone", alone), ("same", same)):
        if remaining_facts:
            table = _facts(compared, remaining_facts, kind, texts)
            blocks.append(Details(texts(_FACTS(kind), count=len(remaining_facts)), [table]))
    return Section("inventory", texts("hosts.section.inventories"), blocks)


def _facts(compared: Compared, facts: Sequence[Fact], kind: str, texts: Texts) -> Table:
    first, second = (machine.label for machine in compared.machines.machines)
    brief, differing = kind == "brief", kind in ("brief", "differ")
    columns = [
        Column(texts("hosts.column.fact"), keep=True),
        Column(first, many=brief),
        Column(second, many=brief),
        *([Column(texts("hosts.column.ratio"), figure=True)] if differing else []),
    ]
    rows = []
    for fact in facts:
        values = [Cell(value) for value in words.fact_values(fact, texts)]
        ratio = Cell(texts("mark.none") if fact.times is None else words.times(fact.times), sort=fact.times)
        rows.append([Cell(words.fact_name(fact, texts)), *values, *([ratio] if differing else [])])
    title = "" if brief else texts(_FACTS(kind), count=len(facts))
    return Table(f"table-facts-{kind}", title, columns, rows, only=kind != "differ")


def _baselines(compared: Compared, texts: Texts, *, pictures: bool) -> Section | None:
    if not compared.machines.rows and not compared.machines.alone:
        return None
    blocks: list[Block] = []
    if compared.machines.rows:
        if pictures:
            blocks.append(charts.forest(compared, texts))
        blocks.append(ratios(compared, texts))
    if compared.machines.alone:
        blocks.append(Details(texts("hosts.table.alone"), [_alone(compared, texts)]))
    return Section("baselines", texts("hosts.section.baselines"), blocks)


def ratios(compared: Compared, texts: Texts, most: int | None = None) -> Table:
    """Every baseline of both machines, the greatest difference first; for a terminal the first `most`."""
    first, second = (machine.label for machine in compared.machines.machines)
    columns = [
        Column(texts("hosts.column.score"), keep=most is None, many=most is not None),
        Column(first, figure=True),
        Column(second, figure=True),
        Column(texts("hosts.column.unit")),
        Column(texts("hosts.column.times"), figure=True),
        Column(texts("hosts.column.ends"), figure=True, detail=True),
        Column(texts("hosts.column.repeats"), figure=True, detail=True),
    ]
    rows = [
        [
            Cell(words.both_text(row, texts)),
            *(Cell(numbers.rate(score.median), sort=score.median) for score in row.scores),
            Cell(words.unit(row.score, texts)),
            Cell(words.times(row.times.value), sort=abs(math.log(row.times.value))),
            Cell(words.ends(row.times, texts)),
            Cell(_repeats(row), sort=row.repeats),
        ]
        for row in compared.machines.rows[:most]
    ]
    if most is not None:
        return Table("table-ratios", "", columns, rows)
    sure = all(row.times.sure for row in compared.machines.rows)
    note = texts("hosts.table.ratios.note" if sure else "hosts.table.ratios.few", first=first, second=second)
    return Table("table-ratios", texts("hosts.table.ratios"), columns, rows, note)


def _repeats(row: Row) -> str:
    first, second = (len(score.values) for score in row.scores)
    return str(first) if first == second else f"{first}, {second}"


def _alone(compared: Compared, texts: Texts) -> Table:
    columns = [
        Column(texts("hosts.column.machine")),
        Column(texts("hosts.column.score"), keep=True),
        Column(texts("axis.median"), figure=True),
        Column(texts("hosts.column.unit")),
    ]
    rows = [
        [
            Cell(compared.machines.machines[index].label),
            Cell(words.score_text(score, texts)),
            Cell(numbers.rate(score.median), sort=score.median),
            Cell(words.unit(score, texts)),
        ]
        for index, score in compared.machines.alone
    ]
    return Table("table-alone", texts("hosts.table.alone"), columns, rows, only=True)


def _method(compared: Compared, texts: Texts, command: Sequence[str]) -> Section:
    entries = [
        (texts("hosts.method.ratio"), texts("hosts.method.ratio.value")),
        (texts("compare.method.interval"), texts("compare.method.interval.unpaired")),
        (texts("column.verdict"), texts("hosts.method.verdict")),
        *((source.machine.label, str(shown(source.path))) for source in compared.sources),
    ]
    blocks: list[Block] = [Definitions(entries)]
    if command:
        blocks.append(Code(texts("compare.method.again"), shlex.join(command)))
    return Section("method", texts("compare.section.method"), blocks)


def data(compared: Compared) -> Mapping[str, object]:
    """Two machines for scripts: facts, ratios, and what workloads follow."""
    return {
        "what": "hosts",
        "machines": [
            {"label": source.machine.label, "path": source.path} for source in compared.sources
        ],
        "facts": [
            {"key": fact.key, "values": fact.values, "differs": fact.differs, "ratio": fact.times}
            for fact in compared.machines.facts
        ],
        "rows": [
            {
                "id": row.score.id, "figure": row.score.figure,
                "higher_is_better": row.score.higher_is_better,
                "medians": [score.median for score in row.scores],
                "values": [score.values for score in row.scores],
                **_times(row.times),
            }
            for row in compared.machines.rows
        ],
        "alone": [
            {"machine": compared.machines.machines[index].label, "id": score.id}
            for index, score in compared.machines.alone
        ],
        "workloads": [_hypothesis(workload.hypothesis) for workload in compared.workloads],
        "findings": list(compared.findings()),
    }  # fmt: skip


def _times(times: Times) -> Mapping[str, object]:
    """The speed ratio; `interval` where there are repeats enough, else the `range` of the existing ones."""
    ends = None if times.low is None else [times.low, times.high]
    return {
        "times": times.value,
        "interval": ends if times.sure else None,
        "range": None if times.sure else ends,
    }


def _hypothesis(hypothesis: Hypothesis) -> Mapping[str, object]:
    return {
        "workload": hypothesis.workload.name,
        **_times(hypothesis.workload.times),
        "differs": hypothesis.differs,
        "hypothesis": [
            candidate.score.id if candidate.score else candidate.resource
            for candidate in hypothesis.of("near")
        ]
        if hypothesis.differs
        else [],
        "candidates": [_candidate(candidate) for candidate in hypothesis.candidates],
    }


def _candidate(candidate: Candidate) -> Mapping[str, object]:
    return {
        "resource": candidate.resource, "id": candidate.score.id if candidate.score else None,
        **_times(candidate.times),
        "standing": candidate.standing, "apart": candidate.apart, "overlap": candidate.overlap,
        "share": candidate.share,
    }  # fmt: skip
