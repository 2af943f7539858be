"""Findings on factors: main effects, interactions, and what the design cannot show."""

from __future__ import annotations

import math
from collections.abc import Iterator

from loadcell.analysis.effects import Change, Effects, Interaction, MainEffect, Ratio
from loadcell.analysis.finding import Finding
from loadcell.analysis.layout import is_number
from loadcell.model.message import Argument, Message

#: How many sentences on single factors, and on pairs of them, a summary has room for.
MOST_FACTORS, MOST_PAIRS, MOST_NAMES = 3, 1, 4
#: A level that loses less than this to the best one loses nothing that matters.
LEAST_LOSS = 0.005


def summary(effects: Effects) -> Iterator[Finding]:
    """The terms that explain most, the factors that hardly matter, and how far to trust it."""
    if effects.reason == "missing":
        names = tuple(treatment.label for treatment in effects.missing)
        params: dict[str, Argument] = {"count": len(names), "treatments": names[:MOST_NAMES]}
        key = "found.effects.missing" if names else "found.effects.gaps"
        ids = tuple(treatment.id for treatment in effects.missing)
        yield Finding("effects", Message(key, params if names else {}).rated("caution"), ids)
    if effects.reason:
        return
    yield from _alone(effects) if effects.design == "one-at-a-time" else _factorial(effects)
    if not effects.repeated:
        key = "found.effects.no-spread" if effects.alike else "found.effects.once"
        yield Finding("effects", Message(key).rated("caution"))


def _factorial(effects: Effects) -> Iterator[Finding]:
    pairs = [pair for pair in effects.together if pair.matters]
    mains = [main for main in effects.mains if main.matters]
    ranked: list[tuple[float, Finding]] = [
        *((main.share, _main(main, effects)) for main in mains[:MOST_FACTORS]),
        *((pair.share, _pair(pair, effects)) for pair in pairs[:MOST_PAIRS]),
    ]
    for _, finding in sorted(ranked, key=lambda item: -item[0]):
        yield finding
    speaking = {main.key for main in mains} | {key for pair in pairs for key in (pair.of, pair.at)}
    silent = [main for main in effects.mains if main.key not in speaking]
    if silent:
        names = tuple(effects.names[main.key] for main in silent)
        params: dict[str, Argument] = {
            "factors": names, "count": len(names), "explained_share": max(main.share for main in silent),
            "most_times": max((main.change.ratio.value for main in silent), key=lambda ratio: abs(math.log(ratio))),
        }  # fmt: skip
        key = "found.effects.noise" if effects.repeated else "found.effects.hardly"
        yield Finding("effects", Message(key, params).rated("info"))


def _main(main: MainEffect, effects: Effects) -> Finding:
    return Finding(
        "effects", Message(*_with_interval("found.effects.main", main.change, effects, {"explained_share": main.share})).rated("info"),
    )  # fmt: skip


def _with_interval(
    key: str, change: Change, effects: Effects, more: dict[str, Argument]
) -> tuple[str, dict[str, Argument]]:
    ratio = change.ratio
    params: dict[str, Argument] = {
        "factor": effects.names[change.key], "before": change.before, "after": change.after,
        "ratio_times": ratio.value, **more,
    }  # fmt: skip
    if ratio.low is None or ratio.high is None:
        return key + ".once", params
    return key, {**params, "low_times": ratio.low, "high_times": ratio.high}


def _pair(pair: Interaction, effects: Effects) -> Finding:
    """The two levels of the one factor at which the other does the most different things."""
    levels = list(pair.changes)
    ratios = {level: change.ratio.value for level, change in pair.changes.items()}
    first, second = sorted(
        (min(levels, key=ratios.__getitem__), max(levels, key=ratios.__getitem__)), key=levels.index
    )
    change = pair.changes[first]
    params: dict[str, Argument] = {
        "of": effects.names[pair.of], "at": effects.names[pair.at], "before": change.before, "after": change.after,
        "first": first, "second": second, "first_times": ratios[first], "second_times": ratios[second],
        "explained_share": pair.share,
    }  # fmt: skip
    return Finding("effects", Message("found.effects.together", params).rated("info"))


def _alone(effects: Effects) -> Iterator[Finding]:
    """Each factor's largest change from the baseline, largest first."""
    most: dict[str, Change] = {}
    for change in effects.changes:
        if change.key not in most or _size(change.ratio) > _size(most[change.key].ratio):
            most[change.key] = change
    for change in sorted(most.values(), key=lambda change: -_size(change.ratio))[:MOST_FACTORS]:
        is_significant = change.ratio.is_significant
        key = "found.effects.alone.noise" if is_significant is False else "found.effects.alone"
        ids = (change.base.id,) if change.base is not None else ()
        yield Finding("effects", Message(*_with_interval(key, change, effects, {})).rated("info"), ids)
    yield Finding("effects", Message("found.effects.invisible").rated("caution"))


def _size(ratio: Ratio) -> float:
    return max(ratio.value, 1 / ratio.value)


def choices(effects: Effects) -> Iterator[Finding]:
    """For each factor that matters, the level that is never far behind; and what two levels cannot show."""
    for choice in effects.choices:
        if choice.alike:
            unsure: dict[str, Argument] = {
                "factor": effects.names[choice.key], "level": choice.level, "others": choice.alike,
            }  # fmt: skip
            yield Finding("effects", Message("found.effects.choose.unsure", unsure).rated("info"))
            continue
        params: dict[str, Argument] = {
            "factor": effects.names[choice.key], "level": choice.level, "buys_times": choice.buys,
            "risks_times": choice.risks,
        }  # fmt: skip
        key = "found.effects.choose"
        if choice.risks > 1 - LEAST_LOSS:
            key += ".always" if choice.surely else ".never-behind"
        yield Finding("effects", Message(key, params).rated("info"))
    two = [main for main in effects.mains if len(main.levels) == 2 and all(map(is_number, main.levels))]
    if two:
        names = tuple(effects.names[main.key] for main in two)
        phrase = Message("found.effects.two-levels", {"factors": names, "count": len(names)})
        yield Finding("effects", phrase.rated("caution"))
