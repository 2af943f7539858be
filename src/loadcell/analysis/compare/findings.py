"""Findings of a comparison in reading order: other differences, the winner, exceptions, how far
to trust it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadcell.analysis.compare.compare import OVERALL, Comparison, Row
from loadcell.analysis.compare.differences import Difference, disturbance_findings
from loadcell.analysis.compare.exclusions import losses
from loadcell.analysis.compare.locations import (
    MOST_NAMED,
    metric_name,
    row_location,
    values,
)
from loadcell.analysis.compare.metrics import DIFFERENT, Lack, Reason, Word
from loadcell.analysis.compare.sides import FEWEST_RUNS, Side, Sides, name
from loadcell.analysis.compare.trust import trust
from loadcell.analysis.finding import Finding, FindingCode, Subject
from loadcell.model.message import Change, Count, Message, MessageCode, Severity, Share
from loadcell.stats.repeats import FEWEST_FOR_INTERVAL


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
FEW = _verdict("few", "caution", change=Change, needed=Count, values=Message, **_VERDICT)
SIDE_CHANGE = MessageCode("compare.side-change", change=Change, other=str)
_FEW_SIDES: dict[str, type] = {
    "count": Count, "first": str, "metric": Message, "needed": Count, "places": list,
}  # fmt: skip
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
ARMS = FindingCode("compare.arms", Subject.NOISE, "info", metric=Message, noise_share=Share)
ARMS_DIFFER = FindingCode("compare.arms-differ", Subject.NOISE, "problem", count=Count)
NOISE = FindingCode("compare.noise", Subject.NOISE, "info", metric=Message, noise_share=Share, run=str)
NOISE_UNKNOWN = FindingCode("compare.noise.unknown", Subject.NOISE, "info")
UNSURE = FindingCode("compare.unsure", Subject.TRUST, "caution", count=Count, places=list)
CONSTANT = FindingCode("compare.constant", Subject.TRUST, "caution", count=Count)
_CONTRARY: dict[str, type] = {"count": Count, "places": list}
#: Rows whose two medians do not agree with the change, by the unit of values. Of single trials there is no
#: verdict that claims a change.
CONTRARY = {
    "block": FindingCode("compare.contrary.paired", Subject.FIGURES, "caution", **_CONTRARY),
    "run": FindingCode("compare.contrary.runs", Subject.FIGURES, "caution", **_CONTRARY),
}
PLACE_CONTRARY = MessageCode("compare.place.contrary", location=Message, medians_change=Change)
ONE_SERVER = FindingCode("compare.one-server", Subject.TRUST, "info")
IN_CLIENT = FindingCode("compare.in-client", Subject.FIGURES, "caution", sides=list)


def differing(sides: Sides, differences: Sequence[Difference]) -> Iterator[Finding]:
    """Differences besides the compared one."""
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
            needed=FEWEST_FOR_INTERVAL if code is FEW else FEWEST_RUNS,
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
        needed=FEWEST_FOR_INTERVAL,
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
                places=tuple(row_location(comparison.sides, row) for row in rows_of_word[:MOST_NAMED]),
            )


def contradictions(comparison: Comparison) -> Iterator[Finding]:
    """Rows whose two medians suggest another change than the one that their verdict claims."""
    places = [
        (row, PLACE_CONTRARY(location=row_location(comparison.sides, row), medians_change=change))
        for row in comparison.rows
        if (change := row.contrary_medians) is not None
    ]
    if places:
        yield CONTRARY[comparison.sides.unit].finding(
            tuple(row.context for row, _ in places),
            count=len(places),
            places=tuple(location for _, location in places[:MOST_NAMED]),
        )


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
        places = tuple(row_location(comparison.sides, row) for row in unsure[:MOST_NAMED])
        yield UNSURE.finding(tuple(row.context for row in unsure), count=len(unsure), places=places)
    constant = [
        row
        for row in comparison.rows
        if row.effect is not None and row.effect.low == row.effect.high is not None
    ]
    if constant:
        yield CONSTANT.finding(count=len(constant))


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
