"""Targets that are formulas, and a search over them: what would be hours of trials takes milliseconds."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import takewhile

from loadcell.design.search import Answer, Question, Seen, answer, decide

Curve = Callable[[float], float]

#: The grid of 5 to 160 clients that a report's author measured whole, twice.
GRID = tuple(float(clients) for clients in range(5, 161, 5))


def usl(serial: float, peak: float, alone: float = 100.0) -> Curve:
    """Gunther's Universal Scalability Law with its highest point at `peak`."""
    crosstalk = (1 - serial) / peak**2
    return lambda n: alone * n / (1 + serial * (n - 1) + crosstalk * n * (n - 1))


def steps(low: float, high: float, ratio: float) -> tuple[float, ...]:
    """Whole levels that grow by a ratio, the last one being `high`."""
    results = [low]
    while results[-1] < high:
        results.append(max(results[-1] + 1, round(results[-1] * ratio)))
    return (*takewhile(lambda level: level < high, results), high)


def question(values: Sequence[float] = GRID, kind: str = "maximum", **more: int) -> Question:
    settings = {"repeats": 3, "trials": 10 if kind == "maximum" else 20, "seed": 1, **more}
    return Question(kind, tuple(values), tolerance=0.02, **settings)


def search(
    question: Question,
    curve: Curve,
    *,
    meets: Callable[[float], bool] = lambda _: True,
    noise: float = 0.0,
    seed: int = 0,
    tell: Callable[[Sequence[Seen], Seen], Seen] = lambda _, seen: seen,
) -> tuple[Answer, list[Seen]]:
    """Search a curve to the end.

    `meets` is whether a level meets the bounds; `tell` may change what a trial gives.
    """
    generator = random.Random(seed)
    seen: list[Seen] = []
    while (probe := decide(question, seen)) is not None:
        at = question.values[probe.level]
        value = curve(at) * (1 + (generator.gauss(0, noise) if noise else 0.0))
        seen.append(tell(seen, Seen(probe.level, probe.stage, value, meets(at))))
        assert len(seen) < 100, "a search ends"
    return answer(question, seen), seen


def visited(question: Question, seen: Sequence[Seen], *stages: str) -> list[float]:
    """The levels of some stages, in order."""
    return [question.values[observation.level] for observation in seen if observation.stage in stages]
