"""Verdict on an effect (`faster`, `slower`, `same`, `ambiguous`, or `insufficient` where the design allows
none), with its reason.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from loadcell.analysis.compare.metrics import LEAST_EFFECT
from loadcell.stats.two_samples import FALSE_DISCOVERIES, Effect

Word = Literal["same", "faster", "slower", "ambiguous", "insufficient"]
#: What the design lacks for a verdict: treatments ran one after the other, not in shuffled blocks; one run on
#: a side; two runs on a side.
Lack = Literal["order", "one-run", "few-runs"]
#: Why a verdict is what it is. For `faster` and `slower`: the whole interval is beyond the least effect, or
#: only the estimate is. For `ambiguous`: nothing to compare; too few transactions beyond a percentile; the
#: interval holds "no difference" and more than the least effect that matters; one such interval in n is
#: expected by chance; the difference is there, but whether it matters is not clear; it is no larger than what
#: identical arms differ by.
Reason = Literal[
    "clear", "estimate", "alike", "no-figure", "scarce", "few", "order", "one-run", "few-runs", "wide",
    "chance", "small", "noise",
]  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """Verdict on B against A, with its reason."""

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
    lack: Lack | None = None,
) -> Verdict:
    """Judge B against A; without an effect, `scarce` is true if transactions were too few.

    `least_effect` is the smallest change that matters, as a fraction; `noise` what identical arms were seen
    to differ by; `lack` what the design lacks for any verdict. *Same* needs the whole interval within the
    least effect; *faster* and *slower* an interval without 1 that outlives the correction, and an estimate
    beyond both.
    """
    if effect is None:
        return Verdict("ambiguous", "scarce" if scarce else "no-figure")
    if lack is not None:
        return Verdict("insufficient", lack)
    if effect.low is None or effect.high is None or adjusted_p is None:
        return Verdict("insufficient", "few")
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
    surely = effect.low > least or effect.high < 1 / least
    word: Word = "faster" if (effect.ratio > 1) == higher_is_better else "slower"
    return Verdict(word, "clear" if surely else "estimate")
