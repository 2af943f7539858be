"""Looking for the highest level that meets every bound: a bracket from below, then bisection.

It takes a target to be worse the more is asked of it. Where trials contradict that, the lowest level that
misses counts: what lies above it is not looked at.
"""

from __future__ import annotations

from loadcell.design.search.maximum import climb
from loadcell.design.search.model import Probe, Question, Table


def probe(question: Question, table: Table) -> Probe | None:
    """The next level to look at; None when the highest that meets the bounds and the lowest that does not are
    neighbours.
    """
    step = climb(question, table)
    if step is not None:
        return step
    low, high = ends(table)
    if low is None or high is None or high - low < 2:
        return None
    middle = (question.position(low) + question.position(high)) / 2
    return Probe(question.nearest(middle, low + 1, high - 1), "refine", "section")


def ends(table: Table) -> tuple[int | None, int | None]:
    """The highest level that meets the bounds below the lowest that misses them, and that one; None for what
    there is not.
    """
    missed = [level for level in table.levels if not table.met(level)]
    high = missed[0] if missed else None
    met = [level for level in table.levels if table.met(level) and (high is None or level < high)]
    return (met[-1] if met else None), high


def candidate(table: Table) -> int | None:
    """The level to confirm."""
    return ends(table)[0]
