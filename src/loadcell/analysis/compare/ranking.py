"""Rankings with letters: two that share one are not distinguishable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


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
