"""Events within spans of time, compared with those that chance would have there.

An event that is independent of the spans falls into them with the probability of their share of the time. The
number of events within spans then has a Poisson binomial distribution, whose tail is summed exactly (Hong
2013).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
#: Events whose probabilities are convolved one by one; of more an even selection.
_MOST: Final = 2_000


def share_covered(spans: Array, begin: float, end: float) -> float:
    """Share of the time from `begin` to `end` that spans cover; rows are begins and ends.

    Spans cover all of a time without a length, in which nothing can be improbable.
    """
    if not spans.size:
        return 0.0
    if end <= begin:
        return 1.0
    ordered = np.clip(spans[np.argsort(spans[:, 0])], begin, end)
    ends = np.maximum.accumulate(ordered[:, 1])
    before = np.concatenate(([begin], ends[:-1]))
    covered = np.maximum(0.0, ends - np.maximum(ordered[:, 0], before))
    return float(min(1.0, covered.sum() / (end - begin)))


def within(instants: Array, spans: Array) -> npt.NDArray[np.bool_]:
    """For each instant, whether it is within a span."""
    if not spans.size or not instants.size:
        return np.zeros(len(instants), dtype=np.bool_)
    ordered = spans[np.argsort(spans[:, 0])]
    ends = np.maximum.accumulate(ordered[:, 1])
    last = np.searchsorted(ordered[:, 0], instants, side="right") - 1
    inside: npt.NDArray[np.bool_] = (last >= 0) & (ends[np.maximum(last, 0)] >= instants)
    return inside


def tail(count: int, probabilities: Sequence[float]) -> float:
    """Probability that at least `count` of independent events with these probabilities occur."""
    values = np.asarray(probabilities, dtype=np.float64)
    if len(values) > _MOST:
        chosen = np.linspace(0, len(values) - 1, _MOST).round().astype(int)
        count, values = round(count * _MOST / len(values)), values[chosen]
    distribution = np.zeros(len(values) + 1)
    distribution[0] = 1.0
    for number, probability in enumerate(values, 1):
        distribution[1 : number + 1] = (
            distribution[1 : number + 1] * (1 - probability) + distribution[:number] * probability
        )
        distribution[0] *= 1 - probability
    return float(min(1.0, distribution[count:].sum()))
