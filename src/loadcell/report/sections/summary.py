"""The summary: a few headline values, the most important findings, each with the chart, table or section that
it rests on, and the other findings, folded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from statistics import median

from loadcell.analysis import import_findings, ranking, recommend
from loadcell.analysis.capacity import CapacityError, capacities
from loadcell.analysis.finding import Evidence, Finding, FindingCode, Subject
from loadcell.analysis.open_loop import fell_behind
from loadcell.analysis.treatments import DATA, Treatment, short_keys
from loadcell.model import numbers
from loadcell.model.json import JsonObject
from loadcell.model.message import Count, Message, Seconds
from loadcell.model.run_record import RunRecord, SearchRecord
from loadcell.report.blocks import (
    Block,
    Chart,
    Details,
    Link,
    Section,
    Sentences,
    Table,
    Tile,
    Tiles,
    unfolded,
)
from loadcell.report.context import ReportContext

DONE_FACTORS = FindingCode(
    "done.factors", Subject.DONE, "info", count=Count, factors=list, repeats=Count, trials=Count
)
DONE_FACTORS_ONCE = FindingCode("done.factors.once", Subject.DONE, "info", count=Count, factors=list)
DONE_ONE = FindingCode("done.one", Subject.DONE, "info", repeats=Count)
DONE_ONE_ONCE = FindingCode("done.one.once", Subject.DONE, "info")()
DONE_SEARCH = FindingCode(
    "done.search",
    Subject.DONE,
    "info",
    factor=str,
    low=str,
    high=str,
    levels=Count,
    objective=str,
    trials=Count,
)
DONE_COUNT = FindingCode("done.count", Subject.DONE, "info", count=Count)
DONE_COUNT_PER_CLIENT = FindingCode("done.count.per-client", Subject.DONE, "info", count=Count)
DONE_LENGTHS = FindingCode("done.lengths", Subject.DONE, "info", duration_s=Seconds, warmup_s=Seconds)
DONE_LENGTH = FindingCode("done.length", Subject.DONE, "info", duration_s=Seconds)
DONE_TOOK = FindingCode("done.took", Subject.DONE, "info", elapsed_s=Seconds)
DONE_IMPORTED_LASTED = FindingCode("done.imported.lasted", Subject.DONE, "info", duration_s=Seconds)

#: The response time of a tile: the most informative percentile available.
_TIMES = {"p99_ms": "tile.latency", "p95_ms": "tile.latency.p95", "mean_ms": "tile.latency.mean"}

#: The section that shows each kind of evidence, and what to look at in there, the best first.
PLACES: Mapping[Evidence, tuple[str, ...]] = {
    Evidence.RESULTS: ("results", "table-results"),
    Evidence.RESOURCES: ("resources", "table-limits"),
    Evidence.ERRORS: ("results", "table-errors", "table-results"),
    Evidence.EXPECTATIONS: ("results", "table-expectations", "table-results"),
    Evidence.GROUPS: ("results", "table-groups"),
    Evidence.SEARCH: ("search", "chart-search"),
    Evidence.SATURATION: ("saturation", "chart-saturation"),
    Evidence.EFFECTS: ("effects", "chart-effects"),
    Evidence.INTERACTION: ("effects", "chart-interaction", "chart-effects"),
    Evidence.CHOICES: ("effects",),
    Evidence.RECOMMENDATION: ("recommendation",),
    Evidence.PLANS: ("plans", "plans"),
    Evidence.MEMORY: ("memory", "table-memory"),
    Evidence.OPEN_LOOP: ("open-loop", "table-open-loop"),
    Evidence.WAITING: ("open-loop", "chart-waiting", "table-open-loop"),
    Evidence.TROUBLE: ("trouble",),
    Evidence.CHECKS: ("checks",),
    Evidence.SERIES: ("series", "chart-series"),
    Evidence.METHOD: ("method",),
    Evidence.SOURCES: ("sources", "table-sources"),
    Evidence.FAULTS: ("faults", "table-faults"),
    Evidence.WRITES: ("faults", "table-writes"),
}
#: The section of findings whose evidence no section shows.
SUMMARY = "summary"


def section(context: ReportContext, others: Sequence[Section]) -> Section:
    """Always there; `others` are the report's other sections, which its sentences link to.

    A finding stands in the report once: here, or in the section of its subject.
    """
    blocks: list[Block] = []
    if any(treatment.measured for treatment in context.analysis.treatments):
        blocks.append(Tiles(tiles(context)))
    blocks.append(linked(findings(context), others))
    shown = [
        finding
        for other in others
        for block in unfolded(other.blocks)
        if isinstance(block, Sentences)
        for finding in block.findings
    ]
    remaining = [finding for finding in further(context) if _unsaid(finding, shown)]
    if remaining:
        title = context.texts("summary.further", count=len(remaining))
        blocks.append(Details(title, [linked(remaining, others)]))
    return Section(SUMMARY, context.texts("section.summary"), blocks)


def findings(context: ReportContext) -> Sequence[Finding]:
    """Sentences of the summary, the most important first."""
    return ranking.summary(everything(context), context.analysis.trials)


def further(context: ReportContext) -> Sequence[Finding]:
    """Findings that the summary has no room for, in its order; the section on the method has how it was
    done.
    """
    candidates = ranking.ranked(ranking.condensed(everything(context)), context.analysis.trials)
    others = [item.finding for item in candidates if item.finding.subject is not Subject.DONE]
    return unsaid(context, others)


def unsaid(context: ReportContext, sentences: Iterable[Finding], *, implied: bool = False) -> list[Finding]:
    """These findings without those that stand in the summary or, but for `implied`, follow from another
    one.
    """
    summary = findings(context)
    remaining = sentences if implied else ranking.without_implied(sentences, everything(context))
    return [finding for finding in remaining if _unsaid(finding, summary)]


def _unsaid(finding: Finding, others: Sequence[Finding]) -> bool:
    """True if none of the others is this finding, and none combines statements on lines of load with it."""
    return not any(other == finding or _of_same_lines(finding, other) for other in others)


def _of_same_lines(finding: Finding, other: Finding) -> bool:
    """True if two findings state the same of lines of load, and one has all lines of the other."""
    if finding.code is not other.code or finding.subject is not Subject.SATURATION:
        return False
    lines, others = set(finding.evidence), set(other.evidence)
    return bool(lines) and (lines <= others or others <= lines)


def everything(context: ReportContext) -> Sequence[Finding]:
    """The method, then all findings of the analysis."""
    findings = [*what_was_done(context), *context.findings]
    return context.advised(findings)


def what_was_done(context: ReportContext) -> list[Finding]:
    """The experiment in two or three sentences."""
    run = context.stored.run
    if context.imported:
        return _what_was_read(context)
    messages = [_searched(run.search, context) if run.search is not None else _planned(run, context)]
    lengths = phrase_of_count(context) or phrase_of_lengths(context)
    if lengths is not None:
        messages.append(lengths)
    elapsed_s = _elapsed_s(run)
    if elapsed_s is not None:
        messages.append(DONE_TOOK(elapsed_s=elapsed_s))
    return [Finding(Subject.DONE, message) for message in messages]


def _planned(run: RunRecord, context: ReportContext) -> Message:
    """The method's sentence: a single measurement has no repeats."""
    keys = [factor.key for factor in run.factors]
    repeats, short = run.repeats or 1, short_keys(keys)
    if not keys:
        return DONE_ONE_ONCE if repeats == 1 else DONE_ONE(repeats=repeats)
    return (DONE_FACTORS_ONCE if repeats == 1 else DONE_FACTORS).pick(
        count=len(context.analysis.treatments),
        factors=[short[key] for key in keys],
        repeats=repeats,
        trials=len(context.analysis.trials),
    )


def _searched(search: SearchRecord, context: ReportContext) -> Message:
    return DONE_SEARCH(
        factor=search.factor,
        low=search.levels[0],
        high=search.levels[-1],
        levels=len(search.levels),
        objective=objective(search),
        trials=len(context.analysis.trials),
    )


def _what_was_read(context: ReportContext) -> list[Finding]:
    """The method of an imported run: nothing of it was planned."""
    findings = [import_findings.done(context.stored.run)]
    lengths = phrase_of_lengths(context)
    if lengths is not None:
        lasted = DONE_IMPORTED_LASTED(duration_s=lengths.arguments["duration_s"])
        findings.append(Finding(Subject.DONE, lasted))
    return findings


def objective(search: SearchRecord) -> str:
    """Goal of a search, as its plan has it."""
    return ", ".join([search.objective, *search.subject_to])


#: Settings of a load that ends by a number of requests, and their codes.
COUNTS = {"requests": DONE_COUNT, "requests_per_client": DONE_COUNT_PER_CLIENT}


def loads(context: ReportContext) -> list[JsonObject]:
    """The settings of the treatments' loads; none where groups of clients have loads of their own."""
    settings = [treatment.settings for treatment in context.stored.run.treatments]
    if any("workloads" in setting for setting in settings):
        return []
    return [setting.get("load") or {} for setting in settings]


def phrase_of_count(context: ReportContext) -> Message | None:
    """With how many requests trials ended; None where time ended them, or the number differs between them."""
    for key, code in COUNTS.items():
        counts = {load.get(key) for load in loads(context)}
        if len(counts) == 1 and (count := counts.pop()) is not None:
            return code(count=count)
    return None


def phrase_of_lengths(context: ReportContext) -> Message | None:
    """Warm-up and duration of the trials; None if they differ between trials."""
    measured = [record for record in context.stored.trials if record.measure]
    durations = [record.measure.duration_s for record in measured if record.measure]
    warmups = [
        phase.duration_s or 0.0 for record in measured for phase in record.phases if phase.name == "warmup"
    ]
    if not durations or max(durations) > 1.05 * min(durations):
        return None
    if not warmups or max(warmups) < 0.05:
        return DONE_LENGTH(duration_s=_round(median(durations)))
    if max(warmups) > 1.05 * min(warmups):
        return None
    return DONE_LENGTHS(duration_s=_round(median(durations)), warmup_s=_round(median(warmups)))


def _round(value: float) -> float:
    """Seconds as planned: 30.0004 were 30."""
    return round(value, 1) if value >= 1 else value


def _elapsed_s(run: RunRecord) -> float | None:
    """Time from start to end of a run that was executed once; None of others."""
    if not run.ended_utc or not run.started_utc or len(run.executions) > 1:
        return None
    return (datetime.fromisoformat(run.ended_utc) - datetime.fromisoformat(run.started_utc)).total_seconds()


def _within_bounds(context: ReportContext) -> Treatment | None:
    """The treatment with the highest throughput within the bounds of the plan, where the best one of all
    misses them.
    """
    best = context.best
    if best is None or context.analysis.searches:
        return None
    try:
        within = [item.treatment for item in capacities(context.analysis) if item.treatment is not None]
    except CapacityError:
        return None
    highest = max(within, key=lambda treatment: treatment.throughput.median or 0.0, default=None)
    return None if highest is best else highest


def _best(context: ReportContext) -> list[Tile]:
    """The highest throughput, within the bounds if there are any, and its response time; nothing where none
    is the highest, or where treatments differ by their faults.
    """
    if not recommend.is_choice(context.analysis.treatments):
        return []
    texts, within = context.texts, _within_bounds(context)
    best = within or context.best
    if best is None:
        return []
    several = sum(treatment.measured for treatment in context.analysis.treatments) > 1
    searches = context.analysis.searches
    bounded = within is not None or (len(searches) == 1 and bool(searches[0].bounds))
    parts = [
        Tile(
            texts("tile.within-bound" if bounded else "tile.highest" if several else "tile.throughput"),
            numbers.rate(best.throughput.median or 0.0),
            texts("unit.per-second"),
            best.label if several else "",
        )
    ]
    shown_key = next((key for key in _TIMES if best.latency_ms(key) is not None), None)
    if shown_key is not None and not fell_behind(best):
        parts.append(Tile(texts(_TIMES[shown_key]), texts.duration(best.latency_ms(shown_key) or 0.0)))
    return parts


def tiles(context: ReportContext) -> list[Tile]:
    """Headline values of the run."""
    texts = context.texts
    items = _best(context)
    spreads = [
        item.throughput.spread for item in context.analysis.treatments if item.throughput.spread is not None
    ]
    if spreads:
        note = "" if context.has_intervals else texts("table.descriptive")
        items.append(Tile(texts("tile.spread"), numbers.share(median(spreads)), note=note))
    trials = context.analysis.trials
    well = sum(trial.status == "ok" for trial in trials)
    items.append(
        Tile(
            texts("tile.trials"),
            texts("mark.of", part=well, whole=len(trials)),
            tone="" if well == len(trials) else "problem",
        )
    )
    failed = sum(trial.failed for trial in trials)
    if failed or texts.unit != DATA:  # what moves data has no pieces of it that fail
        items.append(Tile(texts("tile.failed"), numbers.whole(failed), tone="problem" if failed else ""))
    return items


def places_of(finding: Finding) -> tuple[str, ...]:
    """The section that a finding rests on, and anchors in it, the best first."""
    return PLACES.get(finding.code.evidence, (SUMMARY,)) if finding.code else (SUMMARY,)


def section_of(finding: Finding) -> str:
    """The section alone."""
    return places_of(finding)[0]


def linked(findings: Sequence[Finding], sections: Sequence[Section]) -> Sentences:
    """Findings with links into these sections, as far as they are there; to the trial of an incident."""
    titles = {section.id: section.title for section in sections}
    there = {section.id: set(_anchors(section)) for section in sections}
    choices = {
        block.id: {name for name, _ in block.choices}
        for section in sections
        for block in section.blocks
        if isinstance(block, Chart) and block.chooser == "trial"
    }

    def link(finding: Finding) -> Link | None:
        home, *anchors = places_of(finding)
        if home not in titles:
            return None
        anchor = next((anchor for anchor in anchors if anchor in there[home]), home)
        trials = (name for name in finding.evidence if name in choices.get(anchor, ()))
        trial = next(trials, "") if finding.subject is Subject.INCIDENTS else ""
        return Link(anchor, titles[home], trial)

    return Sentences(findings, [link(finding) for finding in findings])


def _anchors(section: Section) -> Iterator[str]:
    """Link targets of a section besides itself: whatever is not folded away."""
    return (block.id for block in section.blocks if isinstance(block, Chart | Table))
