"""Findings of a comparison in reading order: other differences, the winner, exceptions, how far
to trust it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import median

from loadcell.analysis.compare.compare import OVERALL, Comparison, Row
from loadcell.analysis.compare.differences import Difference, disturbance_findings
from loadcell.analysis.compare.metrics import DIFFERENT, Lack, Metric, Reason, Word
from loadcell.analysis.compare.sides import FEWEST_RUNS, Side, Sides, name
from loadcell.analysis.error_codes import figure_name
from loadcell.analysis.finding import Finding, FindingCode, Subject
from loadcell.analysis.trials import Trial
from loadcell.model.message import Change, Count, Message, MessageCode, Severity, Share
from loadcell.stats.repeats import FEWEST_FOR_INTERVAL

#: How many things a sentence names before it only counts.
MOST_NAMED = 4
#: Up to this correlation of neighbouring blocks, and from this number on, independence is taken as shown:
#: where differences are a first-order process, 93 % of the intervals then cover the truth or have no tick.
MOST_ALIKE, FEWEST_TO_SEE = 0.15, 15
#: A correlation of more than this many standard errors is reported as one (5 % of independent blocks).
SURELY_ALIKE = 1.7


def _differs(kind: str, severity: Severity) -> tuple[FindingCode, FindingCode]:
    return (
        FindingCode(f"compare.differs.{kind}", Subject.DIFFERENCES, severity, count=Count, paths=list),
        FindingCode(f"compare.differs.{kind}.many", Subject.DIFFERENCES, severity, count=Count, paths=list),
    )


#: Differences between runs by kind: few (all are named) and many.
DIFFERS = {
    "labels": _differs("labels", "info"),
    "about": _differs("about", "caution"),
    "source": _differs("source", "info"),
    "files": _differs("files", "caution"),
    "plan": _differs("plan", "problem"),
    "host": _differs("host", "problem"),
    "target": _differs("target", "caution"),
    "tools": _differs("tools", "caution"),
    "design": _differs("design", "info"),
}
#: Kinds whose values are short, and say at once what is compared.
WITH_VALUES = ("labels", "about", "source")
APART = FindingCode("compare.apart", Subject.DIFFERENCES, "caution")
METRIC_THROUGHPUT = MessageCode("compare.metric.throughput")
METRIC_MEAN = MessageCode("compare.metric.mean")
METRIC_PERCENTILE = MessageCode("compare.metric.percentile", percentile=str)
OVERALL_NAME = MessageCode("compare.overall")
PLACE = MessageCode("compare.place", change=Change, context=str, metric=Message)
PLACE_BARE = MessageCode("compare.place.bare", change=Change, metric=Message)
VALUES_PAIRED = MessageCode("compare.values.paired", n=Count)
VALUES_UNPAIRED = MessageCode("compare.values.unpaired", n=Count)
VALUES_RUNS = MessageCode("compare.values.runs", n=Count)
_SIZES: dict[str, type] = {"first": str, "first_count": Count, "other": str, "other_count": Count}
VALUES_UNEQUAL = MessageCode("compare.values.unequal", **_SIZES)
VALUES_RUNS_UNEQUAL = MessageCode("compare.values.unequal.runs", **_SIZES)
_VERDICT: dict[str, type] = {"first": str, "metric": Message, "other": str}
_EFFECT: dict[str, type] = {**_VERDICT, "change": Change, "high_change": Change, "low_change": Change}


def _verdict(name: str, severity: Severity, /, **arguments: type) -> FindingCode:
    return FindingCode(f"compare.{name}", Subject.VERDICT, severity, **arguments)


#: `other_count` is the number of runs that the other side names.
_DECIDED = {**_EFFECT, "values": Message, "other_count": Count}
VERDICTS: dict[Word, FindingCode] = {
    "faster": _verdict("faster", "good", **_DECIDED),
    "slower": _verdict("slower", "problem", **_DECIDED),
    "higher": _verdict("higher", "info", **_EFFECT, values=Message),
    "lower": _verdict("lower", "info", **_EFFECT, values=Message),
    "same": _verdict("same", "good", least_share=Share, **_DECIDED),
}
#: The difference is there; that it matters rests on the estimate alone.
ESTIMATED: dict[Word, FindingCode] = {
    "faster": _verdict("faster.estimate", "good", least_share=Share, **_DECIDED),
    "slower": _verdict("slower.estimate", "problem", least_share=Share, **_DECIDED),
}
AMBIGUOUS: dict[Reason, FindingCode] = {
    "wide": _verdict("ambiguous.wide", "caution", least_share=Share, **_EFFECT),
    "chance": _verdict("ambiguous.chance", "caution", count=Count, **_EFFECT),
    "small": _verdict("ambiguous.small", "caution", least_share=Share, **_EFFECT),
    "noise": _verdict("ambiguous.noise", "caution", noise_share=Share, **_EFFECT),
}
#: The same where the run is the unit, so that a side is several.
AMBIGUOUS_RUNS: dict[Reason, FindingCode] = {
    "wide": _verdict("ambiguous.wide.runs", "caution", least_share=Share, **_EFFECT),
    "chance": _verdict("ambiguous.chance.runs", "caution", count=Count, **_EFFECT),
    "small": _verdict("ambiguous.small.runs", "caution", least_share=Share, **_EFFECT),
    "noise": _verdict("ambiguous.noise.runs", "caution", noise_share=Share, **_EFFECT),
}
FEW = _verdict("few", "caution", change=Change, values=Message, **_VERDICT)
SIDE_CHANGE = MessageCode("compare.side-change", change=Change, other=str)
_FEW_SIDES: dict[str, type] = {"count": Count, "first": str, "metric": Message, "places": list}
FEW_SEVERAL = _verdict("few.several", "caution", **_FEW_SIDES)
FEW_MANY = _verdict("few.many", "caution", **_FEW_SIDES)
_LACKING = {**_EFFECT, "values": Message}
INSUFFICIENT: dict[Lack, FindingCode] = {
    "order": _verdict("insufficient.order", "caution", **_LACKING),
    "one-run": _verdict("insufficient.one-run", "caution", needed=Count, **_LACKING),
}
FEW_RUNS = _verdict(
    "insufficient.few-runs", "caution", change=Change, needed=Count, values=Message, **_VERDICT
)
NONE = _verdict("none", "problem", **_VERDICT)
RANKED_ALONE = FindingCode("compare.ranked.alone", Subject.RANKING, "info", best=str, metric=Message)
RANKED_TIED = FindingCode(
    "compare.ranked.tied", Subject.RANKING, "info", best=str, count=Count, metric=Message, names=list
)
_ONLY: dict[str, type] = {"other": str, "other_count": Count, "places": list}
_EXCEPTION: dict[str, type] = {**_ONLY, "count": Count, "of": Count}


def _exceptions(word: Word, severity: Severity) -> tuple[FindingCode, FindingCode, FindingCode]:
    return (
        FindingCode(f"compare.places.{word}.only", Subject.FIGURES, severity, **_ONLY),
        FindingCode(f"compare.places.{word}", Subject.FIGURES, severity, **_EXCEPTION),
        FindingCode(f"compare.places.{word}.many", Subject.FIGURES, severity, **_EXCEPTION),
    )


#: Exceptions to the headline: by verdict, of one other value, few (all are named) and many.
EXCEPTIONS: dict[Word, tuple[FindingCode, FindingCode, FindingCode]] = {
    "slower": _exceptions("slower", "problem"),
    "faster": _exceptions("faster", "good"),
}
TRIALS = FindingCode(
    "compare.trials", Subject.TRIALS, "problem", count=Count, of=Count, side=str, reasons=list
)
#: Why a trial does not count, by its status; `examined`: its times are not representative.
LEFT_OUT = {
    status: MessageCode(f"compare.left-out.{status}", trials=list, **arguments)
    for arguments, kinds in (
        ({"reason": Message}, ("failed", "timed-out", "aborted", "invalid")),
        ({}, ("not-run", "examined")),
    )
    for status in kinds
}
LEFT_OUT_MORE = MessageCode("compare.left-out.more", count=Count)
NO_REASON = MessageCode("compare.left-out.no-reason")
ERRORS = FindingCode("compare.errors", Subject.ERRORS, "problem", count=Count, failed_share=Share, side=str)
UNUSABLE = FindingCode("compare.unusable", Subject.FIGURES, "problem", count=Count, side=str)
NO_VALUE = FindingCode("compare.no-value", Subject.FIGURES, "problem", count=Count, places=list)
ABSENT = FindingCode("compare.absent", Subject.FIGURES, "info", metrics=list)
PLACE_WITHOUT = MessageCode("compare.place.without", context=str, metric=Message, side=str)
PLACE_WITHOUT_BARE = MessageCode("compare.place.without.bare", metric=Message, side=str)
LOST_PAIRS = FindingCode("compare.lost-pairs", Subject.TRIALS, "caution", count=Count)
ARMS = FindingCode("compare.arms", Subject.NOISE, "info", metric=Message, noise_share=Share)
ARMS_DIFFER = FindingCode("compare.arms-differ", Subject.NOISE, "problem", count=Count)
NOISE = FindingCode("compare.noise", Subject.NOISE, "info", metric=Message, noise_share=Share, run=str)
NOISE_UNKNOWN = FindingCode("compare.noise.unknown", Subject.NOISE, "info")
UNSURE = FindingCode("compare.unsure", Subject.TRUST, "caution", count=Count, places=list)
CONSTANT = FindingCode("compare.constant", Subject.TRUST, "caution", count=Count)
DESCRIPTIVE = FindingCode("compare.descriptive", Subject.TRUST, "caution", count=Count, needed=Count)
DESCRIPTIVE_RUNS = FindingCode(
    "compare.descriptive.runs", Subject.TRUST, "caution", count=Count, needed=Count
)
PARTLY_DESCRIPTIVE = FindingCode(
    "compare.partly-descriptive", Subject.TRUST, "caution", count=Count, needed=Count, of=Count
)
_CONTRARY: dict[str, type] = {"count": Count, "places": list}
#: Rows whose two medians do not agree with the change, by the unit of values. Of single trials there is no
#: verdict that claims a change.
CONTRARY = {
    "block": FindingCode("compare.contrary.paired", Subject.FIGURES, "caution", **_CONTRARY),
    "run": FindingCode("compare.contrary.runs", Subject.FIGURES, "caution", **_CONTRARY),
}
PLACE_CONTRARY = MessageCode("compare.place.contrary", location=Message, medians_change=Change)
_TRUST: dict[str, type] = {"blocks": Count, "count": Count}
TRUST_PAIRED = FindingCode("compare.trust.paired", Subject.TRUST, "good", **_TRUST)
TRUST_PAIRED_UNSEEN = FindingCode("compare.trust.paired.unseen", Subject.TRUST, "info", r=str, **_TRUST)
TRUST_PAIRED_ALIKE = FindingCode("compare.trust.paired.alike", Subject.TRUST, "caution", r=str, **_TRUST)
TRUST_RUNS = FindingCode("compare.trust.runs", Subject.TRUST, "good", count=Count, runs=Count)
TRUST_TRIALS = FindingCode("compare.trust.trials", Subject.TRUST, "caution", blocks=Count)
ONE_SERVER = FindingCode("compare.one-server", Subject.TRUST, "info")
IN_CLIENT = FindingCode("compare.in-client", Subject.FIGURES, "caution", sides=list)


def differing(sides: Sides, differences: Sequence[Difference]) -> Iterator[Finding]:
    """Differences besides the compared one: they precede everything else."""
    if sides.kind != "runs":
        return
    for kind, (few, many) in DIFFERS.items():
        of_kind = {difference.path: difference for difference in differences if difference.kind == kind}
        if of_kind:
            paths = list(of_kind)
            code = many if len(paths) > MOST_NAMED else few
            named = [of_kind[path].message for path in paths] if kind in WITH_VALUES else paths
            yield code.finding(tuple(paths), count=len(paths), paths=named[:MOST_NAMED])
    yield APART.finding()


def find(comparison: Comparison, noise_from: str | None) -> tuple[Finding, ...]:
    """Every finding but the differences, in reading order."""
    return (
        *headlines(comparison),
        *disturbance_findings(comparison.sides),
        *others(comparison),
        *contradictions(comparison),
        *losses(comparison),
        *noise(comparison, noise_from),
        *doubts(comparison),
        *trust(comparison),
        *_one_server(comparison.sides),
        *_in_client(comparison),
    )


def metric_name(metric: Metric) -> Message:
    """A metric as it is called in a sentence."""
    if metric.figure is not None:
        return figure_name(metric.figure)
    if metric.name == "throughput":
        return METRIC_THROUGHPUT()
    return METRIC_MEAN() if metric.name == "mean" else METRIC_PERCENTILE(percentile=metric.name)


def headlines(comparison: Comparison) -> Iterator[Finding]:
    """The verdict on the first metric, for each side; or, for several, the ranking in a sentence."""
    first = comparison.sides.sides[0]
    few = [row for row in comparison.headline if _has_few_blocks(comparison, row)]
    if len(few) == len(comparison.headline) > 1:
        yield _of_few(comparison, few)
        return
    for row in comparison.headline:
        side = comparison.sides.sides[row.side]
        lack = comparison.sides.lack(row.side)
        if row.effect is None:
            code = NONE
        elif lack == "few-runs" or (lack == "one-run" and row.effect.low is None):
            code = FEW_RUNS
        elif _has_few_blocks(comparison, row):
            code = FEW
        elif lack is not None:
            code = INSUFFICIENT[lack]
        elif row.verdict.reason == "estimate" and row.verdict.word in ESTIMATED:
            code = ESTIMATED[row.verdict.word]
        elif row.verdict.word == "ambiguous":
            codes = AMBIGUOUS_RUNS if comparison.sides.unit == "run" else AMBIGUOUS
            code = codes[row.verdict.reason]
        else:
            code = VERDICTS[row.verdict.word]
        yield code.finding(
            (row.context,),
            other=name(comparison.sides, side),
            first=name(comparison.sides, first),
            other_count=_run_count(side),
            metric=metric_name(row.metric),
            least_share=row.least_effect,
            needed=FEWEST_RUNS,
            noise_share=row.noise,
            count=sum(
                ranked.effect is not None and ranked.effect.p is not None for ranked in comparison.rows
            ),
            **_effect(comparison.sides, row),
        )
    if comparison.ranking:
        top = comparison.ranking[0]
        share = [ranked for ranked in comparison.ranking if set(ranked.groups) & set(top.groups)]
        names = tuple(name(comparison.sides, comparison.sides.sides[ranked.index]) for ranked in share)
        yield (RANKED_ALONE if len(names) == 1 else RANKED_TIED).finding(
            best=names[0],
            count=len(names),
            names=names[1 : MOST_NAMED + 1],
            metric=metric_name(comparison.metrics[0]),
        )


def _has_few_blocks(comparison: Comparison, row: Row) -> bool:
    """True if the blocks of a row are too few for an interval, and so for a verdict."""
    lack = comparison.sides.lack(row.side)
    return row.effect is not None and row.effect.low is None and lack not in {"few-runs", "one-run"}


def _of_few(comparison: Comparison, rows: Sequence[Row]) -> Finding:
    """One sentence for all sides without a verdict, those with the largest changes named."""
    largest = sorted(rows, key=size, reverse=True)[:MOST_NAMED]
    places = tuple(
        SIDE_CHANGE(
            other=name(comparison.sides, comparison.sides.sides[row.side]), change=row.effect.ratio - 1
        )
        for row in largest
        if row.effect is not None
    )
    return (FEW_SEVERAL if len(rows) <= MOST_NAMED else FEW_MANY).finding(
        tuple(row.context for row in rows),
        count=len(rows),
        first=name(comparison.sides, comparison.sides.sides[0]),
        metric=metric_name(comparison.metrics[0]),
        places=places,
    )


def _run_count(side: Side) -> int:
    """Number of runs that the side's name lists; 1 of a level."""
    return max(len(side.runs), 1)


def others(comparison: Comparison) -> Iterator[Finding]:
    """Contexts or metrics whose result differs from the headline."""
    headline = comparison.headline
    for side in range(1, len(comparison.sides.sides)):
        rows = [row for row in comparison.rows if row.side == side and row not in headline]
        for word, (only, few, many) in EXCEPTIONS.items():
            rows_of_word = [row for row in rows if row.verdict.word == word and row.context != OVERALL] or [
                row for row in rows if row.verdict.word == word
            ]
            if not rows_of_word:
                continue
            rows_of_word.sort(key=size, reverse=True)
            code = many if len(rows_of_word) > MOST_NAMED else few
            yield (only if len(rows) == 1 else code).finding(
                tuple(row.context for row in rows_of_word),
                other=name(comparison.sides, comparison.sides.sides[side]),
                other_count=_run_count(comparison.sides.sides[side]),
                count=len(rows_of_word),
                of=len(rows),
                places=tuple(_place(comparison.sides, row) for row in rows_of_word[:MOST_NAMED]),
            )


def contradictions(comparison: Comparison) -> Iterator[Finding]:
    """Rows whose two medians suggest another change than the one that their verdict claims."""
    places = [
        (row, PLACE_CONTRARY(location=_place(comparison.sides, row), medians_change=change))
        for row in comparison.rows
        if (change := row.contrary_medians) is not None
    ]
    if places:
        yield CONTRARY[comparison.sides.unit].finding(
            tuple(row.context for row, _ in places),
            count=len(places),
            places=tuple(location for _, location in places[:MOST_NAMED]),
        )


def losses(comparison: Comparison) -> Iterator[Finding]:
    """Trials that do not count, failed transactions, and missing values of a side."""
    for side in comparison.sides.sides:
        trials = [trial for context in comparison.sides.contexts for trial in side.trials.get(context, ())]
        label = name(comparison.sides, side)
        bad = [trial for trial in trials if trial.status != "ok" or trial.examined]
        if bad:
            names = tuple(trial.name for trial in bad)
            yield TRIALS.finding(
                names, side=label, count=len(bad), of=len(trials), reasons=tuple(_reasons(bad))
            )
        failed = sum(trial.failed for trial in trials)
        ended = failed + sum(trial.succeeded for trial in trials)
        if failed and ended:
            yield ERRORS.finding(side=label, count=failed, failed_share=failed / ended)
    for position, side in enumerate(comparison.sides.sides):
        unusable = max(
            (row.unusable[1 if position else 0] for row in comparison.rows if position in {0, row.side}),
            default=0,
        )
        if unusable:
            yield UNUSABLE.finding(side=name(comparison.sides, side), count=unusable)
    without = comparison.one_sided
    if without:
        places = tuple(_place_without(comparison.sides, row) for row in without[:MOST_NAMED])
        yield NO_VALUE.finding(tuple(row.context for row in without), count=len(without), places=places)
    if comparison.absent:
        metrics = tuple(metric_name(metric) for metric in comparison.absent)
        yield ABSENT.finding(metrics=metrics)
    if comparison.sides.paired:
        yield from _lost_pairs(comparison)


def _reasons(trials: Sequence[Trial]) -> Iterator[Message]:
    """Why trials do not count, each reason with their names."""
    groups: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        status = "examined" if trial.status == "ok" else trial.status
        groups.setdefault((status, trial.reason or ""), []).append(trial)
    for (status, _), alike in list(groups.items())[:MOST_NAMED]:
        names = [trial.name for trial in alike[:MOST_NAMED]]
        names += ["…"] if len(alike) > MOST_NAMED else []
        code = LEFT_OUT.get(status, LEFT_OUT["failed"])
        yield code.pick(trials=names, reason=alike[0].why or NO_REASON())
    if len(groups) > MOST_NAMED:
        yield LEFT_OUT_MORE(count=sum(len(alike) for alike in list(groups.values())[MOST_NAMED:]))


def _place_without(sides: Sides, row: Row) -> Message:
    """A metric with the side that has no value of it."""
    side = name(sides, sides.sides[0 if row.medians[0] is None else row.side])
    metric, context = metric_name(row.metric), context_name(sides, row.context)
    if context:
        return PLACE_WITHOUT(metric=metric, side=side, context=context)
    return PLACE_WITHOUT_BARE(metric=metric, side=side)


def _lost_pairs(comparison: Comparison) -> Iterator[Finding]:
    first = comparison.sides.sides[0]
    lost: dict[str, int] = {}
    for row in comparison.rows:
        if row.context == OVERALL or row.metric != comparison.metrics[0]:
            continue
        counting = [
            {trial.block for trial in side.trials.get(row.context, ()) if trial.counts}
            for side in (first, comparison.sides.sides[row.side])
        ]
        lost[row.context] = max(lost.get(row.context, 0), len(counting[0] ^ counting[1]))
    total = sum(lost.values())
    if total:
        where = tuple(context for context, count in lost.items() if count)
        yield LOST_PAIRS.finding(where, count=total)


def noise(comparison: Comparison, noise_from: str | None) -> Iterator[Finding]:
    """The difference of identical arms, or that it is unknown."""
    if comparison.sides.kind == "arms":
        different = [row for row in comparison.rows if row.verdict.word in DIFFERENT]
        if different:
            yield ARMS_DIFFER.finding(count=len(different))
        floors = [_reach(row) for row in comparison.headline]
        measured_floors = [floor for floor in floors if floor is not None]
        if measured_floors:
            metric = metric_name(comparison.metrics[0])
            yield ARMS.finding(noise_share=max(measured_floors), metric=metric)
        return
    floors = [row.noise for row in comparison.headline]
    measured_floors = [floor for floor in floors if floor is not None]
    if measured_floors and noise_from:
        metric = metric_name(comparison.metrics[0])
        yield NOISE.finding(noise_share=max(measured_floors), run=noise_from, metric=metric)
    elif comparison.sides.kind != "runs" or any(
        comparison.sides.lack(row.side) is None for row in comparison.headline
    ):
        yield NOISE_UNKNOWN.finding()


def doubts(comparison: Comparison) -> Iterator[Finding]:
    """Where other methods are not as sure, and data that no measurement gives."""
    unsure = [
        row
        for row in comparison.rows
        if row.verdict.word in DIFFERENT
        and row.checked is not None
        and (
            row.checked.medians[1] <= 1 <= row.checked.medians[2]
            or (row.checked.means is not None and row.checked.means[1] <= 1 <= row.checked.means[2])
        )
    ]
    if unsure:
        places = tuple(_place(comparison.sides, row) for row in unsure[:MOST_NAMED])
        yield UNSURE.finding(tuple(row.context for row in unsure), count=len(unsure), places=places)
    constant = [
        row
        for row in comparison.rows
        if row.effect is not None and row.effect.low == row.effect.high is not None
    ]
    if constant:
        yield CONSTANT.finding(count=len(constant))


def trust(comparison: Comparison) -> Iterator[Finding]:
    """Number of blocks there are, and how the whole was corrected."""
    effects = [row.effect for row in comparison.rows if row.effect is not None]
    if not effects:
        return
    few = [effect for effect in effects if effect.descriptive_only]
    blocks = int(median(effect.n for effect in effects))
    if len(few) == len(effects):
        of_runs = comparison.sides.kind == "runs"
        yield (DESCRIPTIVE_RUNS if of_runs else DESCRIPTIVE).finding(
            count=min(effect.n for effect in effects), needed=FEWEST_RUNS if of_runs else FEWEST_FOR_INTERVAL
        )
        return
    if few:
        yield PARTLY_DESCRIPTIVE.finding(count=len(few), of=len(effects), needed=FEWEST_FOR_INTERVAL)
    count = len(effects) - len(few)
    if comparison.sides.unit == "trial":
        yield TRUST_TRIALS.finding(blocks=blocks)
    elif comparison.sides.unit == "run":
        yield TRUST_RUNS.finding(count=count, runs=blocks)
    else:
        yield _trust_of_pairs(comparison, blocks, count)


def _trust_of_pairs(comparison: Comparison, blocks: int, count: int) -> Finding:
    """Findings on dependent blocks, whose intervals cover less than their nominal level."""
    headline = [row.effect for row in comparison.headline if row.effect is not None]
    alike = max((effect.alike for effect in headline if effect.alike is not None), default=0.0)
    code = trust_of_pairs(blocks, alike)
    return code.finding(blocks=blocks, count=count, r=f"{alike:.2f}")


def trust_of_pairs(blocks: int, alike: float) -> FindingCode:
    """Judge the independence of blocks by their number and the correlation of neighbours."""
    if alike > SURELY_ALIKE / math.sqrt(blocks):
        return TRUST_PAIRED_ALIKE
    seen = blocks >= FEWEST_TO_SEE and alike <= MOST_ALIKE
    return TRUST_PAIRED if seen else TRUST_PAIRED_UNSEEN


def _one_server(sides: Sides) -> Iterator[Finding]:
    """Finding on a server that is started once, so that all trials share its memory layout."""
    if sides.one_server:
        yield ONE_SERVER.finding()


def _in_client(comparison: Comparison) -> Iterator[Finding]:
    """Finding on resources of targets that work within the client's process."""
    if not any(metric.resource and metric.resource.path[0] == "target" for metric in comparison.metrics):
        return
    sides = tuple(
        name(comparison.sides, side)
        for side in comparison.sides.sides
        for trials in [[trial for of_context in side.trials.values() for trial in of_context]]
        if any(trial.resources is not None and trial.resources.in_client for trial in trials)
    )
    if sides:
        yield IN_CLIENT.finding(sides=sides)


def context_name(sides: Sides, context: str) -> Message | str:
    """A context as it is called; empty where there is only one."""
    return OVERALL_NAME() if context == OVERALL else sides.contexts.get(context, context)


def _place(sides: Sides, row: Row) -> Message:
    assert row.effect is not None  # a row with a verdict has one
    metric, change = metric_name(row.metric), row.effect.ratio - 1
    context = context_name(sides, row.context)
    return (
        PLACE(metric=metric, change=change, context=context)
        if context
        else PLACE_BARE(metric=metric, change=change)
    )


#: Names of the values that an effect rests on, by what one is from.
VALUES = {"block": VALUES_PAIRED, "trial": VALUES_UNPAIRED, "run": VALUES_RUNS}


def values(sides: Sides, row: Row) -> Message:
    """Number of the values that a row with an effect rests on; of each side where they differ."""
    effect = row.effect
    assert effect is not None
    first_count, other_count = effect.sizes or (effect.n, effect.n)
    if first_count == other_count:
        return VALUES[sides.unit](n=effect.n)
    code = VALUES_RUNS_UNEQUAL if sides.unit == "run" else VALUES_UNEQUAL
    return code(
        first=name(sides, sides.sides[0]),
        first_count=first_count,
        other=name(sides, sides.sides[row.side]),
        other_count=other_count,
    )


def _effect(sides: Sides, row: Row) -> dict[str, object]:
    effect = row.effect
    if effect is None:
        return {}
    arguments: dict[str, object] = {"change": effect.ratio - 1, "values": values(sides, row)}
    if effect.low is not None and effect.high is not None:
        arguments |= {"low_change": effect.low - 1, "high_change": effect.high - 1}
    return arguments


def size(row: Row) -> float:
    """Size of a change, in either direction, as a factor of at least 1."""
    ratio = row.effect.ratio if row.effect is not None else 1.0
    return max(ratio, 1 / ratio)


def _reach(row: Row) -> float | None:
    """The far end of an interval, as a fraction."""
    if row.effect is None or row.effect.low is None or row.effect.high is None:
        return None
    return max(row.effect.high, 1 / row.effect.low) - 1
