"""Findings on factors: main effects, interactions, and what the design cannot show."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from loadcell.analysis.effects import LEAST_EFFECT, Change, Effects, Interaction, MainEffect, Ratio
from loadcell.analysis.finding import Concern, Evidence, Finding, FindingCode, Rank, Statement, Subject
from loadcell.analysis.layout import is_number
from loadcell.model.message import Argument, Count, Factor, Severity, Share

#: How many sentences on single factors, and on pairs of them, a summary has room for.
MOST_FACTORS, MOST_PAIRS, MOST_NAMES = 3, 1, 4
#: A level that loses less than this to the best one loses nothing that matters.
LEAST_LOSS = 0.005


def _code(
    name: str, severity: Severity = "info", rank: Rank = (Concern.ANSWER, 150), /, **arguments: type
) -> FindingCode:
    return FindingCode(f"found.effects.{name}", Subject.EFFECTS, severity, rank, **arguments)


_CHANGE: dict[str, type] = {"after": str, "before": str, "factor": str, "ratio_times": Factor}
_INTERVAL: dict[str, type] = {"high_times": Factor, "low_times": Factor}
MAIN = _code("main", explained_share=Share, **_CHANGE, **_INTERVAL)
MAIN_ONCE = _code("main.once", explained_share=Share, **_CHANGE)
ALONE = _code("alone", **_CHANGE, **_INTERVAL)
ALONE_ONCE = _code("alone.once", **_CHANGE)
ALONE_NOISE = _code("alone.noise", **_CHANGE, **_INTERVAL)
ALONE_SMALL = _code("alone.small", "info", (Concern.ANSWER, 170), **_CHANGE, **_INTERVAL)
ONE = _code("one", **_CHANGE, **_INTERVAL)
ONE_ONCE = _code("one.once", **_CHANGE)
ONE_NOISE = _code("one.noise", **_CHANGE, **_INTERVAL)
ONE_SMALL = _code("one.small", "info", (Concern.ANSWER, 170), **_CHANGE, **_INTERVAL)
for _single in (ONE, ONE_ONCE, ONE_NOISE, ONE_SMALL):
    _single.marked(evidence=Evidence.RESULTS, states=Statement.CHANGE)
INTERACTION = _code(
    "together", after=str, at=str, before=str, explained_share=Share,
    first=str, first_times=Factor, of=str, second=str, second_times=Factor,
).marked(evidence=Evidence.INTERACTION)  # fmt: skip
_SILENT: dict[str, type] = {"count": Count, "explained_share": Share, "factors": list}
NOISE = _code("noise", "info", (Concern.ANSWER, 160), **_SILENT, **_INTERVAL)
HARDLY = _code("hardly", "info", (Concern.ANSWER, 170), **_SILENT, **_INTERVAL)
HARDLY_ONCE = _code("hardly.once", "info", (Concern.ANSWER, 170), most_times=Factor, **_SILENT)
UNEVEN_ONCE = _code(
    "uneven.once", "info", (Concern.ANSWER, 165), at=list, explained_share=Share, most_times=Factor, **_CHANGE
)
_CHOICE: dict[str, type] = {"buys_times": Factor, "factor": str, "level": str}
CHOOSE = _code("choose", risks_times=Factor, **_CHOICE).marked(evidence=Evidence.CHOICES)
CHOOSE_ALWAYS = _code("choose.always", **_CHOICE).marked(evidence=Evidence.CHOICES)
CHOOSE_NEVER_BEHIND = _code("choose.never-behind", **_CHOICE).marked(evidence=Evidence.CHOICES)
CHOOSE_UNSURE = _code("choose.unsure", factor=str, level=str, others=list).marked(evidence=Evidence.CHOICES)
TWO_LEVELS = _code("two-levels", "caution", count=Count, factors=list)
MISSING = _code("missing", "caution", count=Count, treatments=list)
GAPS = _code("gaps", "caution")
ONCE = FindingCode("found.effects.once", Subject.EFFECTS, "caution", (Concern.TRUST, 160)).marked(
    implied_by=(Statement.NO_REPEATS,), imported=_code("once.imported", "caution", (Concern.TRUST, 160))
)
NO_SPREAD = _code("no-spread", "caution", (Concern.TRUST, 170))
INVISIBLE = _code("invisible", "caution", (Concern.TRUST, 180))


def summary(effects: Effects) -> Iterator[Finding]:
    """The terms that explain most, the factors that hardly matter, and how far to trust it."""
    if effects.reason == "missing":
        names = tuple(treatment.label for treatment in effects.missing)
        ids = tuple(treatment.id for treatment in effects.missing)
        yield (MISSING if names else GAPS).finding(ids, count=len(names), treatments=names[:MOST_NAMES])
    if effects.reason == "one-factor":
        yield from (_one(change, effects) for change in effects.changes)
    if effects.reason:
        return
    yield from _alone(effects) if effects.design == "one-at-a-time" else _factorial(effects)
    if not effects.repeated:
        yield (NO_SPREAD if effects.alike else ONCE).finding()


def _factorial(effects: Effects) -> Iterator[Finding]:
    pairs = [pair for pair in effects.interactions if pair.matters]
    mains = [main for main in effects.mains if main.matters]
    ranked: list[tuple[float, Finding]] = [
        *((main.share, _main(main, effects)) for main in mains[:MOST_FACTORS]),
        *((pair.share, _pair(pair, effects)) for pair in pairs[:MOST_PAIRS]),
    ]
    for _, finding in sorted(ranked, key=lambda item: -item[0]):
        yield finding
    speaking = {main.key for main in mains} | {key for pair in pairs for key in (pair.of, pair.at)}
    silent = [main for main in effects.mains if main.key not in speaking]
    if not effects.repeated:
        yield from (_uneven(main, effects) for main in silent if main.is_uneven)
        yield from _silent(HARDLY_ONCE, [main for main in silent if not main.is_uneven], effects)
        return
    small = [main for main in silent if main.real or _is_small(main.change.ratio)]
    yield from _silent(NOISE, [main for main in silent if main not in small], effects)
    yield from _silent(HARDLY, small, effects)


def _is_small(ratio: Ratio) -> bool:
    """True if the whole interval lies below the minimum practical effect."""
    low, high = ratio.ends
    return low > 1 / LEAST_EFFECT and high < LEAST_EFFECT


def _silent(code: FindingCode, mains: Sequence[MainEffect], effects: Effects) -> Iterator[Finding]:
    """One sentence on factors without an effect to speak of: with the ends of all their intervals."""
    if not mains:
        return
    ratios = [main.change.ratio for main in mains]
    yield code.finding(
        factors=tuple(effects.names[main.key] for main in mains),
        count=len(mains),
        explained_share=max(main.share for main in mains),
        most_times=max((ratio.value for ratio in ratios), key=lambda value: abs(math.log(value))),
        low_times=min(ratio.ends[0] for ratio in ratios),
        high_times=max(ratio.ends[1] for ratio in ratios),
    )


def _main(main: MainEffect, effects: Effects) -> Finding:
    arguments = _change_arguments(main.change, effects)
    code = MAIN if "low_times" in arguments else MAIN_ONCE
    return code.finding(explained_share=main.share, **arguments)


def _uneven(main: MainEffect, effects: Effects) -> Finding:
    """A factor with a small average effect, and its large one under a combination of other levels."""
    largest = main.largest
    return UNEVEN_ONCE.finding(
        at=tuple(f"{effects.names[key]} = {level}" for key, level in largest.at.items()),
        most_times=largest.ratio.value,
        explained_share=main.share,
        **_change_arguments(main.change, effects),
    )


def _change_arguments(change: Change, effects: Effects) -> dict[str, Argument]:
    """Arguments of a sentence on a change; with the ends of its interval where it has one."""
    ratio = change.ratio
    arguments: dict[str, Argument] = {
        "factor": effects.names[change.key], "before": change.before, "after": change.after,
        "ratio_times": ratio.value,
    }  # fmt: skip
    if ratio.low is not None and ratio.high is not None:
        arguments |= {"low_times": ratio.low, "high_times": ratio.high}
    return arguments


def _pair(pair: Interaction, effects: Effects) -> Finding:
    """The two levels of the one factor at which the other does the most different things."""
    levels = list(pair.changes)
    ratios = {level: change.ratio.value for level, change in pair.changes.items()}
    first, second = sorted(
        (min(levels, key=ratios.__getitem__), max(levels, key=ratios.__getitem__)), key=levels.index
    )
    change = pair.changes[first]
    return INTERACTION.finding(
        of=effects.names[pair.of], at=effects.names[pair.at], before=change.before, after=change.after,
        first=first, second=second, first_times=ratios[first], second_times=ratios[second],
        explained_share=pair.share,
    )  # fmt: skip


def _one(change: Change, effects: Effects) -> Finding:
    """The largest change by the only factor of a run."""
    code = _code_of(change.ratio, once=ONE_ONCE, small=ONE_SMALL, noise=ONE_NOISE, clear=ONE)
    return code.finding(**_change_arguments(change, effects))


def _code_of(
    ratio: Ratio, *, once: FindingCode, small: FindingCode, noise: FindingCode, clear: FindingCode
) -> FindingCode:
    """The statement on a change: without an interval, hardly any, neither shown nor excluded, or clear."""
    if ratio.is_significant is None:
        return once
    if ratio.size < LEAST_EFFECT if ratio.is_significant else _is_small(ratio):
        return small
    return clear if ratio.is_significant else noise


def _alone(effects: Effects) -> Iterator[Finding]:
    """Each factor's largest change from the baseline, largest first."""
    most: dict[str, Change] = {}
    for change in effects.changes:
        if change.key not in most or change.ratio.size > most[change.key].ratio.size:
            most[change.key] = change
    for change in sorted(most.values(), key=lambda change: -change.ratio.size)[:MOST_FACTORS]:
        code = _code_of(change.ratio, once=ALONE_ONCE, small=ALONE_SMALL, noise=ALONE_NOISE, clear=ALONE)
        evidence = (change.base.id,) if change.base is not None else ()
        yield code.finding(evidence, **_change_arguments(change, effects))
    yield INVISIBLE.finding()


def choices(effects: Effects) -> Iterator[Finding]:
    """For each factor that matters, the level that is never far behind; and what two levels cannot show."""
    for choice in effects.choices:
        if choice.alike:
            code = CHOOSE_UNSURE
        elif choice.risks > 1 - LEAST_LOSS:
            code = CHOOSE_ALWAYS if choice.surely else CHOOSE_NEVER_BEHIND
        else:
            code = CHOOSE
        yield code.finding(
            factor=effects.names[choice.key], level=choice.level, others=choice.alike,
            buys_times=choice.buys, risks_times=choice.risks,
        )  # fmt: skip
    two = [main for main in effects.mains if len(main.levels) == 2 and all(map(is_number, main.levels))]
    if two:
        names = tuple(effects.names[main.key] for main in two)
        yield TWO_LEVELS.finding(factors=names, count=len(names))
