"""Test against a monotonic trend (Mann 1945, Kendall 1975) and its slope (Sen 1968), without assumptions on
the distribution of the values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

#: Values that are compared in pairs; of more an even selection is.
_MOST: Final = 600


@dataclass(frozen=True)
class Trend:
    """`z` is the statistic of Mann and Kendall, standard normal without a trend; `slope` is that of Sen, in
    values per unit of time.
    """

    z: float
    slope: float

    def rises(self, level: float) -> bool:
        """True if values rise more than they do by chance at this level (one-sided)."""
        return self.z > 0 and 0.5 * math.erfc(self.z / math.sqrt(2)) < level


def trend(values: Sequence[float], times: Sequence[float] | None = None) -> Trend:
    """The trend of values in the order of time; without `times` they are at equal distances.

    The variance has the correction for ties. Fewer than three values have none.
    """
    if len(values) < 3:
        return Trend(0.0, 0.0)
    selected = np.unique(np.linspace(0, len(values) - 1, min(len(values), _MOST)).round().astype(int))
    y = np.asarray(values, dtype=np.float64)[selected]
    t = np.asarray(range(len(values)) if times is None else times, dtype=np.float64)[selected]
    count = len(y)
    earlier, later = np.triu_indices(count, 1)
    rises, elapsed = y[later] - y[earlier], t[later] - t[earlier]
    score = float(np.sign(rises).sum())
    _, ties = np.unique(y, return_counts=True)
    variance = (_term(count) - float(sum(_term(int(tie)) for tie in ties))) / 18
    z = (score - math.copysign(1, score)) / math.sqrt(variance) if variance > 0 and score else 0.0
    is_later = elapsed > 0
    slope = float(np.median(rises[is_later] / elapsed[is_later])) if is_later.any() else 0.0
    return Trend(z, slope)


def _term(count: int) -> float:
    return count * (count - 1) * (2 * count + 5)
