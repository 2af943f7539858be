"""Classes of durations for distributions in bounded memory: each is 2 % wide, and quantiles are as exact."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

#: Classes between a duration and its double.
_PER_DOUBLE: Final = 35


def of(duration_ns: int) -> int:
    """The class of a duration."""
    return round(math.log2(max(1, duration_ns)) * _PER_DOUBLE)


def middle_ns(number: int) -> int:
    """The duration in the middle of a class."""
    return round(2 ** (number / _PER_DOUBLE))


def quantile_ns(classes: Mapping[int, int], quantile: float) -> int | None:
    """A quantile (nearest rank) of durations that were counted by class; None of none."""
    total = sum(classes.values())
    rank = max(1, math.ceil(quantile * total))
    for number in sorted(classes):
        rank -= classes[number]
        if rank <= 0:
            return middle_ns(number)
    return None
