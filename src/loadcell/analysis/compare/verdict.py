"""From an effect to a word: `faster`, `slower`, `same` or `ambiguous`, and for the last one why; and from
words to ranks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from loadcell.stats.hodges_lehmann import FALSE_DISCOVERIES, Effect

Word = Literal["same", "faster", "slower", "ambiguous"]
#: Why a verdict is what it is. For `ambiguous`: nothing to compare; too few transactions beyond a percentile;
#: too few blocks; the interval holds "no difference" and more than the least effect that matters; one such
#: interval in n is expected by chance; the difference is there, but whether it matters is not clear; it
#: is no larger than what identical arms differ by.
Reason = Literal["clear", "alike", "no-figure", "scarce", "few", "wide", "chance", "small", "noise"]

#: Below 2 % a change is seldom worth having, and layout, ASLR and the like alone move values by as much
#: (Mytkowicz 2009).
LEAST_EFFECT = 0.02


@dataclass(frozen=True)
class Verdict:
    """The word for B against A, and the reason for it."""

    word: Word
    reason: Reason


def judge(
    effect: Effect | None,
    adjusted_p: float | None,
    *,
    higher_is_better: bool,
    least_effect: float = LEAST_EFFECT,
    noise: float | None = None,
    scarce: bool = False,
) -> Verdict:
    """Judge B against A; where there is no effect, `scarce` says that it is for want of transactions.

    `least_effect` is the smallest change that matters, as a fraction; `noise` what identical arms were seen
    to differ by. *Same* needs the whole interval within the least effect; *faster* and *slower* an interval
    without 1 that outlives the correction, and an estimate beyond both.
    """
    if effect is None:
        return Verdict("ambiguous", "scarce" if scarce else "no-figure")
    if effect.low is None or effect.high is None or adjusted_p is None:
        return Verdict("ambiguous", "few")
    least = 1 + least_effect
    if 1 / least <= effect.low and effect.high <= least:
        return Verdict("same", "alike")
    if effect.low <= 1 <= effect.high:
        return Verdict("ambiguous", "wide")
    if adjusted_p > FALSE_DISCOVERIES:
        return Verdict("ambiguous", "chance")
    size = math.exp(abs(math.log(effect.ratio)))
    if size < least:
        return Verdict("ambiguous", "small")
    if noise is not None and size < 1 + noise:
        return Verdict("ambiguous", "noise")
    return Verdict("faster" if (effect.ratio > 1) == higher_is_better else "slower", "clear")


@dataclass(frozen=True)
class Ranked:
    """One position of a ranking. `groups` are letters: two that share one are not distinguishable."""

    index: int
    value: float
    groups: str


def rank(values: list[float | None], is_significant: Callable[[int, int], bool]) -> list[Ranked]:
    """The items with a value, largest first, with their groups.

    A group is a longest stretch of the ranking of which no two are distinguishable (the underlines of Tukey
    1949, as letters; Piepho 2004). What has no value has no place.
    """
    order = sorted(
        (index for index, value in enumerate(values) if value is not None),
        key=lambda index: (-(values[index] or 0.0), index),
    )
    stretches: list[tuple[int, int]] = []
    for first in range(len(order)):
        last = first
        while last + 1 < len(order) and not any(
            is_significant(order[position], order[last + 1]) for position in range(first, last + 1)
        ):
            last += 1
        if not stretches or last > stretches[-1][1]:
            stretches.append((first, last))
    return [
        Ranked(
            index,
            values[index] or 0.0,
            "".join(
                letter(number) for number, (first, last) in enumerate(stretches) if first <= position <= last
            ),
        )
        for position, index in enumerate(order)
    ]


def letter(number: int) -> str:
    """a ... z, then a1 ... z1, and so on."""
    turn, position = divmod(number, 26)
    return chr(ord("a") + position) + (str(turn) if turn else "")
