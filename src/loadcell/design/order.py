"""The order in which trials are run: randomised blocks, so that whatever drifts on a machine hits all
treatments alike.

A block is one repeat of every treatment. Within each block the treatments are shuffled (a randomised complete
block design; Box, Hunter and Hunter, Statistics for Experimenters, 2005, ch. 4). Two treatments, or two arms,
run in either order in half of the blocks: drift from trial to trial then moves neither more than the other.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:  # reports shuffle, too, and need no plan for it
    from loadcell.plan.load import LoadedPlan
    from loadcell.plan.model import OrderName
    from loadcell.plan.treatment import Treatment

T = TypeVar("T")

#: How many digits a trial's number has in its name, at least.
DIGITS_AT_LEAST = 3
#: The names of the arms of an A/A run.
ARMS = ("a", "b")


@dataclass(frozen=True)
class Trial:
    """One treatment in one repeat.

    `number` counts from 1 in the order of the run; `block` is the pass it belongs to.

    `arm` distinguishes the two trials of a treatment in each block of an A/A test.
    `role` is the purpose of a trial that is excluded from all metrics (`profile`); None of an ordinary one.
    """

    number: int
    treatment: Treatment
    repeat: int
    block: int
    name: str
    arm: str | None = None
    role: str | None = None


def draw_seed() -> int:
    """A seed from the operating system's randomness: 32 bits, short enough to be typed again."""
    return int.from_bytes(os.urandom(4), "big")


def trials(plan: LoadedPlan, seed: int, *, aa: bool = False) -> tuple[Trial, ...]:
    """Every trial of the plan in the order it is run.

    The same plan and seed give the same order, everywhere, always.

    `aa` makes every treatment two identical arms, shuffled within each block like treatments of their own.
    """
    arms: tuple[str | None, ...] = ARMS if aa else (None,)
    items = [(treatment, arm) for treatment in plan.treatments for arm in arms]
    digits = max(DIGITS_AT_LEAST, len(str(len(items) * plan.repeats)))
    planned: list[Trial] = []
    for block, ordered in enumerate(balanced(items, plan.repeats, plan.order, seed), start=1):
        for treatment, arm in ordered:
            number = len(planned) + 1
            name = f"{number:0{digits}d}-{treatment.id}{f'-{arm}' if arm else ''}-r{block}"
            planned.append(Trial(number, treatment, repeat=block, block=block, name=name, arm=arm))
    return tuple(planned)


def blocks(items: Sequence[T], repeats: int, order: OrderName, seed: int) -> Iterator[list[T]]:
    """One list for each repeat, shuffled unless the order is `as-written`; one generator runs through all of
    them.
    """
    generator = random.Random(seed)  # noqa: S311 - an order that can be repeated is the point
    for _ in range(repeats):
        yield list(items) if order == "as-written" else shuffled(items, generator)


def balanced(items: Sequence[T], repeats: int, order: OrderName, seed: int) -> Iterator[list[T]]:
    """The same as `blocks`, but of two items either comes first in half of the blocks, chosen at random."""
    if order == "as-written" or len(items) != 2:
        yield from blocks(items, repeats, order, seed)
        return
    generator = random.Random(seed)  # noqa: S311 - an order that can be repeated is the point
    odd = repeats % 2 * [generator.random() < 0.5]
    turns = shuffled([*(repeats // 2 * [False, True]), *odd], generator)
    yield from (list(reversed(items)) if turned else list(items) for turned in turns)


def shuffled(items: Sequence[T], generator: random.Random) -> list[T]:
    """A random permutation (Fisher and Yates, in Durstenfeld's form, CACM 7(7), 1964).

    Written out because `random.shuffle` may change between Python versions; `Random(seed).random()` is
    documented not to.
    """
    result = list(items)
    for last in range(len(result) - 1, 0, -1):
        other = int(generator.random() * (last + 1))
        result[last], result[other] = result[other], result[last]
    return result
