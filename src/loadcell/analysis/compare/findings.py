"""Findings of a comparison in reading order: other differences, the winner, exceptions, how far to trust it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from loadcell.analysis.compare.compare import OVERALL, Comparison, Row
from loadcell.analysis.compare.differences import Difference
from loadcell.analysis.compare.metrics import Metric
from loadcell.analysis.compare.sides import Side, Sides
from loadcell.analysis.figure_names import figure_name
from loadcell.analysis.finding import Finding
from loadcell.model.message import Argument, Message, Severity
from loadcell.stats.hodges_lehmann import Effect
from loadcell.stats.repeats import FEWEST_FOR_INTERVAL

#: How many things a sentence names before it only counts.
MOST_NAMED = 4
#: How each kind of difference between runs is to be taken.
GRAVE: dict[str, Severity] = {
    "plan": "problem",
    "host": "problem",
    "target": "caution",
    "tools": "caution",
    "design": "info",
}


def differing(sides: Sides, differences: Sequence[Difference]) -> Iterator[Finding]:
    """Differences besides the compared one: they precede everything else."""
    if sides.what != "runs":
        return
    for kind, severity in GRAVE.items():
        paths = list(dict.fromkeys(difference.path for difference in differences if difference.kind == kind))
        if paths:
            params: dict[str, Argument] = {"count": len(paths), "paths": tuple(paths[:MOST_NAMED])}
            key = f"compare.differs.{kind}" + (".many" if len(paths) > MOST_NAMED else "")
            yield Finding("differences", Message(key, params).rated(severity), tuple(paths))
    yield Finding("differences", Message("compare.apart").rated("caution"))


def find(comparison: Comparison, noise_from: str | None) -> tuple[Finding, ...]:
    """Every finding but the differences, in reading order."""
    return (
        *headlines(comparison),
        *others(comparison),
        *losses(comparison),
        *noise(comparison, noise_from),
        *doubts(comparison),
        *trust(comparison),
    )


def metric_name(metric: Metric) -> Message:
    """A metric as it is called in a sentence."""
    if metric.figure is not None:
        return figure_name(metric.figure)
    if metric.name in {"throughput", "mean"}:
        return Message(f"compare.metric.{metric.name}")
    return Message("compare.metric.percentile", {"percentile": metric.name})


def headlines(comparison: Comparison) -> Iterator[Finding]:
    """The verdict on the first metric, for each side; or, for several, the ranking in a sentence."""
    first = comparison.sides.sides[0]
    for row in comparison.headline:
        side = comparison.sides.sides[row.side]
        params: dict[str, Argument] = {
            "other": name(comparison.sides, side),
            "first": name(comparison.sides, first),
            "metric": metric_name(row.metric),
            "least_share": comparison.least_effect,
        }
        if row.effect is None:
            yield Finding("verdict", Message("compare.none", params).rated("problem"), (row.context,))
            continue
        params |= _effect(row.effect)
        if row.effect.low is None:
            yield Finding("verdict", Message("compare.few", params).rated("caution"), (row.context,))
            continue
        if row.noise is not None:
            params["noise_share"] = row.noise
        count = sum(
            1 for ranked in comparison.rows if ranked.effect is not None and ranked.effect.p is not None
        )
        key = f"compare.{row.verdict.word}"
        if row.verdict.word == "ambiguous":
            key = f"compare.ambiguous.{row.verdict.reason}"
            params["count"] = count
        tone: dict[str, Severity] = {"faster": "good", "slower": "problem", "same": "good"}
        yield Finding(
            "verdict", Message(key, params).rated(tone.get(row.verdict.word, "caution")), (row.context,)
        )
    if comparison.ranking:
        top = comparison.ranking[0]
        share = [ranked for ranked in comparison.ranking if set(ranked.groups) & set(top.groups)]
        names = tuple(name(comparison.sides, comparison.sides.sides[ranked.index]) for ranked in share)
        params = {"best": names[0], "count": len(names), "names": names[1 : MOST_NAMED + 1]}
        params["metric"] = metric_name(comparison.metrics[0])
        key = "compare.ranked.alone" if len(names) == 1 else "compare.ranked.tied"
        yield Finding("ranking", Message(key, params).rated("info"))


def others(comparison: Comparison) -> Iterator[Finding]:
    """Contexts or metrics whose result differs from the headline."""
    headline = comparison.headline
    for side in range(1, len(comparison.sides.sides)):
        rows = [row for row in comparison.rows if row.side == side and row not in headline]
        for word, severity in (("slower", "problem"), ("faster", "good")):
            rows_of_word = [row for row in rows if row.verdict.word == word and row.context != OVERALL] or [
                row for row in rows if row.verdict.word == word
            ]
            if not rows_of_word:
                continue
            rows_of_word.sort(key=lambda row: -_size(row))
            params: dict[str, Argument] = {
                "other": name(comparison.sides, comparison.sides.sides[side]),
                "count": len(rows_of_word),
                "of": len(rows),
                "places": tuple(_place(comparison.sides, row) for row in rows_of_word[:MOST_NAMED]),
            }
            key = f"compare.places.{word}" + (".many" if len(rows_of_word) > MOST_NAMED else "")
            evidence = tuple(row.context for row in rows_of_word)
            yield Finding("figures", Message(key, params).rated(severity), evidence)  # type: ignore[arg-type]


def losses(comparison: Comparison) -> Iterator[Finding]:
    """Trials that do not count, failed transactions, and missing values of a side."""
    for side in comparison.sides.sides:
        trials = [trial for context in comparison.sides.contexts for trial in side.trials.get(context, ())]
        label = name(comparison.sides, side)
        bad = [trial for trial in trials if trial.status != "ok"]
        if bad:
            params: dict[str, Argument] = {"side": label, "count": len(bad), "of": len(trials)}
            names = tuple(trial.name for trial in bad)
            yield Finding("trials", Message("compare.trials", params).rated("problem"), names)
        failed = sum(trial.failed for trial in trials)
        ended = failed + sum(trial.succeeded for trial in trials)
        if failed and ended:
            params = {"side": label, "count": failed, "failed_share": failed / ended}
            yield Finding("errors", Message("compare.errors", params).rated("problem"))
    for position, side in enumerate(comparison.sides.sides):
        unusable = max(
            (row.unusable[1 if position else 0] for row in comparison.rows if position in {0, row.side}),
            default=0,
        )
        if unusable:
            params = {"side": name(comparison.sides, side), "count": unusable}
            yield Finding("figures", Message("compare.unusable", params).rated("problem"))
    if comparison.sides.paired:
        yield from _lost_pairs(comparison)


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
        yield Finding("trials", Message("compare.lost-pairs", {"count": total}).rated("caution"), where)


def noise(comparison: Comparison, noise_from: str | None) -> Iterator[Finding]:
    """The difference of identical arms, or that it is unknown."""
    if comparison.sides.what == "arms":
        different = [row for row in comparison.rows if row.verdict.word in {"faster", "slower"}]
        if different:
            yield Finding("noise", Message("compare.arms-differ", {"count": len(different)}).rated("problem"))
        floors = [_reach(row) for row in comparison.headline]
        measured_floors = [floor for floor in floors if floor is not None]
        if measured_floors:
            params: dict[str, Argument] = {
                "noise_share": max(measured_floors),
                "metric": metric_name(comparison.metrics[0]),
            }
            yield Finding("noise", Message("compare.arms", params).rated("info"))
        return
    floors = [row.noise for row in comparison.headline]
    measured_floors = [floor for floor in floors if floor is not None]
    if measured_floors and noise_from:
        params = {
            "noise_share": max(measured_floors),
            "run": noise_from,
            "metric": metric_name(comparison.metrics[0]),
        }
        yield Finding("noise", Message("compare.noise", params).rated("info"))
    else:
        yield Finding("noise", Message("compare.noise.unknown").rated("info"))


def doubts(comparison: Comparison) -> Iterator[Finding]:
    """Where other methods are not as sure, and data that no measurement gives."""
    unsure = [
        row
        for row in comparison.rows
        if row.verdict.word in {"faster", "slower"}
        and row.checked is not None
        and (
            row.checked.medians[1] <= 1 <= row.checked.medians[2]
            or (row.checked.means is not None and row.checked.means[1] <= 1 <= row.checked.means[2])
        )
    ]
    if unsure:
        places = tuple(_place(comparison.sides, row) for row in unsure[:MOST_NAMED])
        params: dict[str, Argument] = {"count": len(unsure), "places": places}
        evidence = tuple(row.context for row in unsure)
        yield Finding("trust", Message("compare.unsure", params).rated("caution"), evidence)
    constant = [
        row
        for row in comparison.rows
        if row.effect is not None and row.effect.low == row.effect.high is not None
    ]
    if constant:
        yield Finding("trust", Message("compare.constant", {"count": len(constant)}).rated("caution"))


def trust(comparison: Comparison) -> Iterator[Finding]:
    """Number of blocks there are, and how the whole was corrected."""
    effects = [row.effect for row in comparison.rows if row.effect is not None]
    if not effects:
        return
    few = [effect for effect in effects if effect.descriptive_only]
    blocks = int(median(effect.n for effect in effects))
    params: dict[str, Argument] = {
        "count": min(effect.n for effect in effects),
        "needed": FEWEST_FOR_INTERVAL,
    }
    if len(few) == len(effects):
        yield Finding("trust", Message("compare.descriptive", params).rated("caution"))
        return
    if few:
        params |= {"count": len(few), "of": len(effects)}
        yield Finding("trust", Message("compare.partly-descriptive", params).rated("caution"))
    tests = len(effects) - len(few)
    key = "compare.trust.paired" if comparison.sides.paired else "compare.trust.unpaired"
    yield Finding("trust", Message(key, {"blocks": blocks, "count": tests}).rated("good"))


def name(sides: Sides, side: Side) -> str:
    """A side as sentences call it: `fsync = off` for a level."""
    if sides.what == "levels" and sides.factor:
        return f"{sides.factor.rsplit('.', 1)[-1]} = {side.label}"
    return side.label


def context_name(sides: Sides, context: str) -> Message | str:
    """A context as it is called; empty where there is only one."""
    return Message("compare.overall") if context == OVERALL else sides.contexts.get(context, context)


def _place(sides: Sides, row: Row) -> Message:
    change = {"change": row.effect.ratio - 1} if row.effect is not None else {}
    params: dict[str, Argument] = {"metric": metric_name(row.metric), **change}
    context = context_name(sides, row.context)
    return (
        Message("compare.place.bare", params)
        if not context
        else Message("compare.place", {**params, "context": context})
    )


def _effect(effect: Effect) -> dict[str, Argument]:
    values = Message("compare.values.paired" if effect.paired else "compare.values.unpaired", {"n": effect.n})
    arguments: dict[str, Argument] = {"change": effect.ratio - 1, "values": values}
    if effect.low is not None and effect.high is not None:
        arguments |= {"low_change": effect.low - 1, "high_change": effect.high - 1}
    return arguments


def _size(row: Row) -> float:
    ratio = row.effect.ratio if row.effect is not None else 1.0
    return max(ratio, 1 / ratio)


def _reach(row: Row) -> float | None:
    """The far end of an interval, as a fraction."""
    if row.effect is None or row.effect.low is None or row.effect.high is None:
        return None
    return max(row.effect.high, 1 / row.effect.low) - 1
