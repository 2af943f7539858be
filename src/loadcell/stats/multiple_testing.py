"""Corrections of many comparisons that are made together: of their p-values, and of the intervals that are
shown because of them.
"""

from __future__ import annotations

from collections.abc import Sequence

#: The accepted share of false discoveries among those made; of a gate, the probability of any false alarm.
FALSE_DISCOVERIES = 0.05


def benjamini_hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusted p-values, in the same order: those up to q hold a share of false ones of at most q.

    Benjamini and Hochberg (1995). Valid for independent tests and for those that vary together, as throughput
    and the percentiles of one trial do (Benjamini and Yekutieli 2001). What has no p-value is not counted.
    """
    ranked = _ranked(p_values)
    adjusted: list[float | None] = [None] * len(p_values)
    least = 1.0
    for rank in range(len(ranked), 0, -1):
        p, index = ranked[rank - 1]
        least = min(least, p * len(ranked) / rank)
        adjusted[index] = least
    return adjusted


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusted p-values, in the same order: with those up to q, the probability of any false one is at
    most q, whatever the tests have in common.

    Holm (1979). What has no p-value is not counted.
    """
    ranked = _ranked(p_values)
    adjusted: list[float | None] = [None] * len(p_values)
    most = 0.0
    for rank, (p, index) in enumerate(ranked):
        most = max(most, min(1.0, p * (len(ranked) - rank)))
        adjusted[index] = most
    return adjusted


def miss_rate_of_chosen(adjusted: Sequence[float | None], q: float = FALSE_DISCOVERIES) -> float:
    """Probability outside an interval shown because its row was chosen: R q / m for R of m tests that outlive
    the correction, so that of the intervals chosen at most a share q misses the truth.

    The false coverage-statement rate of Benjamini and Yekutieli (2005). `q` where none or all are chosen.
    """
    counted = [p for p in adjusted if p is not None]
    chosen = sum(p <= q for p in counted)
    return q * chosen / len(counted) if chosen else q


def _ranked(p_values: Sequence[float | None]) -> list[tuple[float, int]]:
    return sorted((p, index) for index, p in enumerate(p_values) if p is not None)
