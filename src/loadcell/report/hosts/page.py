"""host.html: description of a machine, remarks on it and on the run that measured it, and its scores."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace

from loadcell import __version__
from loadcell.analysis import host_remarks, trials, validity
from loadcell.analysis.finding import Finding, Subject
from loadcell.analysis.hosts import scores as scoring
from loadcell.analysis.hosts.compare import Machine
from loadcell.analysis.hosts.findings import WIDE, score_name
from loadcell.analysis.hosts.scores import Score
from loadcell.model import numbers
from loadcell.model.message import Count, Labels, Message, MessageCode, Share
from loadcell.model.probes import CPU, DISK, LATENCY, MEMORY, NETWORK, PROBES
from loadcell.model.trial_record import Status
from loadcell.report.blocks import (
    Block,
    Cell,
    Code,
    Column,
    Definitions,
    Paragraph,
    Report,
    Section,
    Sentences,
    Table,
    Tile,
    Tiles,
    Tone,
)
from loadcell.report.charts import nodes, style
from loadcell.report.comparison import words
from loadcell.report.host import HOST_NOTHING_NOTICED, head, parts
from loadcell.report.hosts import charts
from loadcell.report.hosts.gather import Source
from loadcell.report.publish import Document
from loadcell.report.sections.environment import shown
from loadcell.report.texts import STATE, Texts
from loadcell.report.values import minute
from loadcell.stats.repeats import FEWEST_FOR_INTERVAL
from loadcell.store.layout import quoted
from loadcell.store.read import StoredRun

BASELINE_MISSING = MessageCode("hosts.found.missing", count=Count, of=Count, run=str)
BASELINE_INCOMPLETE = MessageCode("hosts.found.incomplete", count=Count, of=Count)
BASELINE_FAILED = MessageCode("hosts.found.why", names=list, reason=str, advice=str)
BASELINE_FAILED_BARE = MessageCode("hosts.found.why.bare", names=list, reason=str)
BASELINE_WITHOUT_SCORE = MessageCode("hosts.found.no-figure", count=Count, names=list)
BASELINE_WITHOUT_SCORE_MANY = MessageCode("hosts.found.no-figure.many", count=Count, names=list)
BASELINE_WIDE = MessageCode(
    "hosts.found.wide", "caution", count=Count, wide_share=Share, worst=str, most_share=Share
)

_PART = Labels("hosts.part", PROBES)
#: Number of headline values in a row.
MOST_TILES = 6
#: More findings than this would scroll a terminal's scores away.
MOST_FINDINGS = 4
#: Steps of the latency staircase on a terminal: one for each layer, and the ends.
MOST_STEPS = 6
#: As many are named in a sentence.
MOST_NAMED = 4
#: Of more reasons the run's own report has the rest.
MOST_REASONS = 3


def document(source: Source, lang: str, command: Sequence[str] = ()) -> Document:
    """A machine with its scores in every form; `command` is what measured them."""
    return Document(
        "host",
        lambda _: build(source, lang, command),
        lambda page: brief(source, lang, [page] if page else ()),
        lambda: data(source, lang),
        Texts(lang),
        source.path,
    )


def build(source: Source, lang: str, command: Sequence[str] = ()) -> Report:
    """The page in one language."""
    texts, machine, stored = Texts(lang), source.machine, source.run
    assert stored is not None
    started = minute(stored.run.started_utc)
    state: Tone = "good" if stored.state == "finished" else "caution"
    badges: list[tuple[str, Tone]] = [(texts(STATE(stored.state)), state)]
    badges += [(f"{started} UTC", "")] if started else []
    return Report(
        language=lang,
        title=machine.label,
        question=texts("hosts.page.question"),
        run_id=f"{stored.run.plan_name}/{stored.id}".strip("/"),
        badges=badges,
        sections=[
            Section("summary", texts("section.summary"), list(_summary(source, texts))),
            *_pictures(machine, texts),
            Section("scores", texts("hosts.section.scores"), [table(machine.distinct, texts)]),
            inventory(machine, texts),
            _method(stored, texts, command),
        ],
        version=__version__,
        kind="hosts.page.kind",
    )


def brief(source: Source, lang: str, files: Sequence[str] = ()) -> Report:
    """The terminal's report: the machine, its scores, remarks; `files` are the written pages."""
    texts, scores = Texts(lang), source.machine.distinct
    sentences = findings(source, texts)
    blocks: list[Block] = [Sentences(sentences[:MOST_FINDINGS])]
    if len(sentences) > MOST_FINDINGS:
        more = texts("hosts.terminal.more", count=len(sentences) - MOST_FINDINGS)
        blocks.append(Paragraph(more, quiet=True))
    following: list[Block] = [Code("", file) for file in files]
    if source.run is not None and scores:
        other = f"loadcell compare {quoted(shown(source.path))} {texts('hosts.terminal.other')}"
        following.append(Code(texts("hosts.terminal.compare"), other))
    sections = [
        Section("machine", "", [Definitions(list(head(source.machine.host, texts)))]),
        Section("scores", "", [replace(table(_steps(scores), texts), note="")] if scores else []),
        Section("summary", "", blocks if sentences else []),
        Section("next", "", following),
    ]
    return Report(lang, source.machine.label, "", "", (), sections)


def _steps(scores: Sequence[Score]) -> list[Score]:
    """All, but of a long staircase of latencies only some steps, its ends among them."""
    steps = [score for score in scores if score.section == LATENCY.name]
    if len(steps) <= MOST_STEPS:
        return list(scores)
    ids = {steps[round(n * (len(steps) - 1) / (MOST_STEPS - 1))].id for n in range(MOST_STEPS)}
    return [score for score in scores if score.section != LATENCY.name or score.id in ids]


def _summary(source: Source, texts: Texts) -> Iterator[Block]:
    tiles = list(_tiles(source.machine.distinct, texts))
    if tiles:
        yield Tiles(tiles)
    sentences = findings(source, texts)
    yield Sentences(sentences or [Finding(Subject.HOST, HOST_NOTHING_NOTICED)])


def headline(scores: Sequence[Score]) -> list[Score]:
    """The few that a machine is known by: processors, memory, disk, network."""
    latency = [score for score in scores if score.section == LATENCY.name]
    moved = _largest(
        [score for score in scores if score.section == MEMORY.name and score.definition.working_set == "size"]
    )
    alone = [score for score in moved if score.threads == 1]
    disk = [score for score in scores if score.section == DISK.name]
    wanted = [
        *[score for score in scores if score.section == CPU.name],
        *([max(alone, key=lambda score: score.median)] if alone else []),
        *([max(latency, key=lambda score: score.size_bytes or 0)] if latency else []),
        *[score for score in disk if score.test == "randread" and score.threads == score.depth == 1],
        *[score for score in disk if score.figure == "sync_ms"],
        *[score for score in scores if score.section == NETWORK.name],
        *moved,
    ]
    return list(dict.fromkeys(wanted))[:MOST_TILES]


def _largest(moved: Sequence[Score]) -> list[Score]:
    """Those that work on the most memory: less of it fits into caches."""
    most = max((score.size_bytes or 0 for score in moved), default=0)
    return [score for score in moved if (score.size_bytes or 0) == most]


def _tiles(scores: Sequence[Score], texts: Texts) -> Iterator[Tile]:
    for score in headline(scores):
        spread = words.spread(score, texts) if len(score.values) > 1 else ""
        yield Tile(
            words.score_text(score, texts), numbers.rate(score.median), words.unit(score, texts), spread
        )


def _pictures(machine: Machine, texts: Texts) -> Iterator[Section]:
    drawn: list[Block] = [
        chart
        for draw in (charts.ceilings, charts.staircase)
        if (chart := draw(machine.host, machine.distinct, texts)) is not None
    ]
    if drawn:
        yield Section("pictures", texts("hosts.section.pictures"), drawn)


def table(scores: Sequence[Score], texts: Texts) -> Table:
    """Every score with its unit and spread."""
    columns = [
        Column(texts("hosts.column.part"), keep=True),
        Column(texts("hosts.column.score"), keep=True, many=True),
        Column(texts("axis.median"), figure=True),
        Column(texts("hosts.column.unit")),
        Column(texts("hosts.column.spread"), figure=True),
        Column(texts("hosts.column.apart"), figure=True, detail=True),
        Column(texts("hosts.column.repeats"), figure=True, detail=True),
    ]
    none = texts("mark.none")
    rows = [
        [
            Cell(texts(_PART(score.section)), sort=[*PROBES].index(score.section)),
            Cell(words.score_text(score, texts)),
            Cell(numbers.rate(score.median), sort=score.median),
            Cell(words.unit(score, texts)),
            Cell(words.spread(score, texts)),
            Cell(
                none if score.repeats.spread is None else numbers.share(score.repeats.spread),
                sort=score.repeats.spread,
                tone="caution" if (score.repeats.spread or 0) > WIDE else "",
            ),
            Cell(str(len(score.values)), sort=len(score.values)),
        ]
        for score in scores
    ]  # fmt: skip
    few = bool(scores) and min(len(score.values) for score in scores) < FEWEST_FOR_INTERVAL
    note = texts("hosts.table.scores.few" if few else "hosts.table.scores.note")
    return Table("table-scores", texts("hosts.section.scores"), columns, rows, note, only=True)


def inventory(machine: Machine, texts: Texts) -> Section:
    """Description of the machine, as `loadcell host` shows it."""
    blocks: list[Block] = [Definitions(part.rows, part.title) for part in parts(machine.host, texts)]
    with style.unchecked():
        picture = nodes.of_host(machine.host, texts)
    blocks += [picture] if picture is not None else []
    return Section("inventory", texts("hosts.section.inventory"), blocks)


def _method(stored: StoredRun, texts: Texts, command: Sequence[str]) -> Section:
    blocks: list[Block] = [
        Paragraph(texts("hosts.method.how", count=int(stored.run.repeats or 1))),
        Paragraph(texts("hosts.method.definitions")),
        Paragraph(texts("hosts.method.report"), quiet=True),
    ]
    if command:
        blocks.append(Code(texts("compare.method.again"), shlex.join(command)))
    return Section("method", texts("section.method"), blocks)


def data(source: Source, lang: str) -> dict[str, object]:
    """A machine with its scores: `loadcell compare` takes it, as it takes the run."""
    return {
        "schema": 1,
        "host": source.machine.host,
        "findings": findings(source, Texts(lang)),
        "scores": source.machine.scores,
        "run": source.path.name,
    }


def findings(source: Source, texts: Texts) -> list[Finding]:
    """Settings of the machine that hurt measurements, and findings on the run that measured it."""
    host, scores = source.machine.host, source.machine.scores
    return [
        *_of_run(source, texts),
        *host_remarks.cache_findings(host, scores),
        *host_remarks.findings(host),
    ]


def _of_run(source: Source, texts: Texts) -> Iterator[Finding]:
    stored, machine = source.run, source.machine
    if stored is None:
        return
    if stored.missing:
        planned = len(stored.planned)
        yield _noticed(BASELINE_MISSING(count=len(stored.missing), of=planned, run=stored.id))
    bad = sum(trial.status is not Status.OK for trial in stored.trials)
    if bad:
        yield _noticed(BASELINE_INCOMPLETE(count=bad, of=len(stored.trials)))
        yield from _why(stored, texts)
    yield from validity.findings(trials.of_run(stored.run, stored.trials))
    scored = {score.id.partition("/")[0] for score in machine.scores}
    ended = {trial.treatment for trial in stored.trials if trial.status is Status.OK}
    without = [
        score_name(next(scoring.asked_for(treatment)))
        for treatment in stored.run.treatments
        if treatment.id in ended and scoring.name_of(treatment) not in scored
    ]
    if without:
        named = without[:MOST_NAMED]
        code = BASELINE_WITHOUT_SCORE if len(named) == len(without) else BASELINE_WITHOUT_SCORE_MANY
        yield _noticed(code(count=len(without), names=named))
    wide = sorted(
        (score for score in machine.distinct if (score.repeats.spread or 0) > WIDE),
        key=lambda score: -(score.repeats.spread or 0),
    )
    if wide:
        most = wide[0].repeats.spread or 0
        worst = score_name(wide[0])
        yield _noticed(BASELINE_WIDE(count=len(wide), wide_share=WIDE, worst=worst, most_share=most))


def _why(stored: StoredRun, texts: Texts) -> Iterator[Finding]:
    """Each reason once, with the probes that it affected, and the remedy."""
    named = {treatment.id: scoring.name_of(treatment) for treatment in stored.run.treatments}
    reasons: dict[tuple[str, str], dict[str, None]] = {}
    for trial in trials.of_run(stored.run, stored.trials):
        reason = texts.recorded(trial.why)
        if trial.status not in ("ok", "not-run") and reason:
            reasons.setdefault((reason, texts.recorded(trial.remedy)), {})[named.get(trial.treatment, "")] = (
                None
            )
    for (reason, advice), probes in list(reasons.items())[:MOST_REASONS]:
        names = (*list(probes)[:MOST_NAMED], *(("...",) if len(probes) > MOST_NAMED else ()))
        yield _noticed(
            (BASELINE_FAILED if advice else BASELINE_FAILED_BARE).pick(
                names=names, reason=reason.rstrip(".。"), advice=advice[:1].upper() + advice[1:]
            )
        )


def _noticed(message: Message) -> Finding:
    return Finding(Subject.HOSTS, message)
