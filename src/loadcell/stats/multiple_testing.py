"""Many comparisons at once: of a hundred things that are alike, five would be called different by chance."""

from __future__ import annotations

from collections.abc import Sequence

#: The share of false discoveries that is accepted among those made.
FALSE_DISCOVERIES = 0.05


def benjamini_hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusted p-values, in the same order: those up to q hold a share of false ones of at most q.

    Benjamini and Hochberg (1995). Valid for independent tests and for those that vary together, as throughput
    and the percentiles of one trial do (Benjamini and Yekutieli 2001). What has no p-value is not counted.
    """
    ranked = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    least = 1.0
    for rank in range(len(ranked), 0, -1):
        p, index = ranked[rank - 1]
        least = min(least, p * len(ranked) / rank)
        adjusted[index] = least
    return adjusted
