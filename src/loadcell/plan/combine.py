"""Combination of factors into treatments: counted first, built one by one on demand."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property

from loadcell.plan.factors import Factor
from loadcell.plan.model import DesignName

#: index of the level each factor has, in the order of the factors
Combination = tuple[int, ...]


class Combinations(Sequence[Combination]):
    """Every combination of levels of a design.

    `full`: all of them, the first factor changing slowest. `one-at-a-time`: for each combination of the
    crossed factors the baseline, then each other level of each factor alone (Jain, The Art of Computer
    Systems Performance Analysis, 1991, ch. 16: a "simple design"; it shows no interactions).
    """

    def __init__(self, factors: Sequence[Factor], design: DesignName) -> None:
        self._sizes = [len(factor.levels) for factor in factors]
        self._crossed = [index for index, factor in enumerate(factors) if factor.crossed or design == "full"]
        self._baselines = [factor.baseline or 0 for factor in factors]

    @cached_property
    def _alone(self) -> list[tuple[int, int] | None]:
        """Difference from the baseline: nothing, or one factor's level."""
        steps: list[tuple[int, int] | None] = [None]
        for index, size in enumerate(self._sizes):
            if index not in self._crossed:
                steps += [(index, level) for level in range(size) if level != self._baselines[index]]
        return steps

    @cached_property
    def total(self) -> int:
        """Number of there are (not limited, as len() is, by a machine word)."""
        return math.prod(self._sizes[index] for index in self._crossed) * len(self._alone)

    def __len__(self) -> int:
        return self.total

    def __iter__(self) -> Iterator[Combination]:
        return (self[index] for index in range(self.total))

    def __getitem__(self, index: int) -> Combination:  # type: ignore[override]
        if not 0 <= index < self.total:
            raise IndexError(index)
        levels = list(self._baselines)
        remainder, step = divmod(index, len(self._alone))
        for factor in reversed(self._crossed):
            remainder, levels[factor] = divmod(remainder, self._sizes[factor])
        different = self._alone[step]
        if different is not None:
            levels[different[0]] = different[1]
        return tuple(levels)
