"""Is it so? The candidate is repeated beside its neighbours, moved when they contradict it, and measured once
more after an overload.

A single trial found the candidate, among others; the best of several noisy values is too good on average.
Hence the repeats, in shuffled passes as everywhere. A candidate that the repeats themselves chose is repeated
once more, for the same reason. The answer's value is that of the trials that did not choose its level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from loadcell.design.order import blocks
from loadcell.design.search import maximum
from loadcell.design.search.model import SEARCHING, Probe, Question, Seen, Table

#: How often a candidate may be left for a better neighbour. Each time costs repeats; a search that is still
#: undecided says so.
MOST_MOVES = 3
#: How often the descent from an overload is tried when the first one gave less than before.
DESCENTS = 2
#: An overload is at least so much more than the answer, where such a level was measured.
OVERLOAD = 1.5


@dataclass(frozen=True)
class Confirmed:
    """Where confirming stands: the present `candidate`, the next `probe` if one is due, and whether repeats
    agree with it. `verified` are the trials of a maximum that repeats chose, after they did.
    """

    candidate: int | None
    probe: Probe | None
    settled: bool = True
    verified: tuple[Seen, ...] = ()


def confirm(question: Question, seen: Sequence[Seen]) -> Confirmed:
    """Replays the confirming trials: what they are of follows from what was searched before."""
    searched = [observation for observation in seen if observation.stage in SEARCHING]
    repeats = [observation for observation in seen if observation.stage == "confirm"]
    levels = list(searched)
    candidate = first(question, Table(question, levels))
    done: dict[int, int] = {}
    block = 2
    for move in range(MOST_MOVES + 1):
        if candidate is None:
            return Confirmed(None, None)
        wanted = [level for level in adjacent(question, candidate) if not done.get(level)]
        for one_pass in range(question.repeats):
            for level in _order(question, wanted, move, one_pass):
                if not repeats:
                    return Confirmed(candidate, Probe(level, "confirm", "confirm", block))
                levels.append(repeats.pop(0))
                done[level] = done.get(level, 0) + 1
            block += bool(wanted)
        better = moved(question, Table(question, levels), candidate, move)
        if better == candidate:
            if question.kind == "maximum" and move:
                return _verify(question, seen, candidate, repeats, block)
            return Confirmed(candidate, None)
        if move == MOST_MOVES:
            break
        candidate = better
    return Confirmed(candidate, None, settled=False)


def _verify(
    question: Question, seen: Sequence[Seen], candidate: int, repeats: Sequence[Seen], block: int
) -> Confirmed:
    """Repeat a candidate that was chosen by its repeats; what was overloaded after it has ended."""
    verified = tuple(repeats[: question.repeats])
    ended = any(observation.stage == "overload" for observation in seen)
    if len(verified) == question.repeats or ended:
        return Confirmed(candidate, None, verified=verified)
    return Confirmed(candidate, Probe(candidate, "confirm", "confirm", block + len(verified)))


def first(question: Question, table: Table) -> int | None:
    """The candidate that the search alone gives."""
    return (
        maximum.candidate(question, table) if question.kind == "maximum" else maximum.bound_candidate(table)
    )


def adjacent(question: Question, candidate: int) -> list[int]:
    """The levels that are repeated: one step either side of a maximum, one step above a bound."""
    below = [candidate - 1] if question.kind == "maximum" else []
    return [level for level in (*below, candidate, candidate + 1) if 0 <= level <= question.top]


def moved(question: Question, table: Table, candidate: int, move: int) -> int | None:
    """The candidate after its repeats: itself, or a level they speak for; None when none meets the bounds."""
    if question.kind == "maximum":
        here = table.value(candidate)
        if here is None:
            return table.best()
        better = [
            level for level in adjacent(question, candidate) if _better(question, table, level, candidate)
        ]
        return max(better, key=lambda level: table.value(level) or 0.0, default=candidate)
    stride = 1 << move
    if table.met(candidate):
        if candidate == question.top or not table.met(candidate + 1):
            return candidate
        missed = [level for level in table.levels if level > candidate and not table.met(level)]
        return min(candidate + stride, missed[0] - 1 if missed else question.top)
    met = [level for level in table.levels if level < candidate and table.met(level)]
    if candidate == 0:
        return None
    return max(candidate - stride, met[-1] if met else 0)


def _better(question: Question, table: Table, level: int, candidate: int) -> bool:
    """True if a level is better than the candidate beyond the noise of repeats: by more than the tolerance,
    or each trial there than each one here.
    """
    there, here = table.value(level), table.value(candidate)
    if there is None or here is None or there <= here:
        return False
    if there * (1 - question.tolerance) > here:
        return True
    return min(table.values(level)) > max(table.values(candidate))


def overload(question: Question, seen: Sequence[Seen], candidate: int, block: int) -> Probe | None:
    """The next trial of the descent: once above the answer, then at it again; None when it is done, or cannot
    be.
    """
    above = overload_level(question, seen, candidate)
    if above is None:
        return None
    pairs = [observation for observation in seen if observation.stage in ("overload", "after")]
    if len(pairs) % 2:
        return Probe(candidate, "after", "after", block)
    if len(pairs) // 2 < DESCENTS and (not pairs or not came_back(question, seen, candidate, pairs[-1])):
        return Probe(above, "overload", "overload", block)
    return None


def overload_level(question: Question, seen: Sequence[Seen], candidate: int) -> int | None:
    """A level that was measured, clearly above the answer where there is one; not the next step, and never
    one nobody tried.
    """
    over = sorted(
        {
            observation.level
            for observation in seen
            if observation.stage in (*SEARCHING, "confirm") and observation.level > candidate
        }
    )
    far = [level for level in over if question.values[level] >= OVERLOAD * question.values[candidate]]
    return far[0] if far else over[-1] if over else None


def descents(question: Question, seen: Sequence[Seen]) -> tuple[Seen, ...]:
    """The trials after an overload, from the first one that was any: in a bound's search, a trial that met
    every bound overloaded nothing.
    """
    pairs = [observation for observation in seen if observation.stage in ("overload", "after")]
    first_overload = next(
        (
            index
            for index, observation in enumerate(pairs)
            if observation.stage == "overload" and not (question.kind == "bound" and observation.met)
        ),
        len(pairs),
    )
    return tuple(observation for observation in pairs[first_overload:] if observation.stage == "after")


def came_back(question: Question, seen: Sequence[Seen], candidate: int, after: Seen) -> bool:
    """True if a trial after an overload gave what the level gave before: no less than its lowest trial, a
    tolerance allowed.
    """
    before = [
        observation
        for observation in seen
        if observation.level == candidate and observation.stage in (*SEARCHING, "confirm")
    ]
    if question.kind == "bound":
        return bool(after.met)
    values = [observation.value for observation in before if observation.value is not None]
    return (
        after.value is not None and bool(after.met) and after.value >= (1 - question.tolerance) * min(values)
    )


def _order(question: Question, levels: list[int], move: int, one_pass: int) -> list[int]:
    """The levels of one pass, shuffled by the seed as blocks are."""
    if not question.shuffle:
        return levels
    passes = move * question.repeats + one_pass
    return next(islice(blocks(levels, passes + 1, "blocks", question.seed), passes, None))
