"""Finding the highest level that meets every bound."""

from __future__ import annotations

import random
from statistics import mean

import pytest

from design.search.curves import question, search, steps, visited
from loadcell.design.search import Seen, halving, most, usual

RATES = steps(100, 50_000, 1.02)


def rate(level: int | None) -> float:
    assert level is not None
    return RATES[level]


@pytest.mark.parametrize("capacity", [100, 130, 999, 3_000, 20_000, 49_000])
def test_it_is_the_last_level_that_meets_the_bound(capacity: float) -> None:
    asked = question(RATES, "bound")
    answer, seen = search(asked, lambda n: n, meets=lambda n: n <= capacity)
    assert rate(answer.level) <= capacity < rate(answer.missed)
    assert answer.missed == (answer.level or 0) + 1
    assert len(visited(asked, seen, "bracket", "refine")) <= halving(asked) <= 15
    assert (answer.met, answer.tried, answer.settled, answer.recovered) == (5, 5, True, True)


def test_a_bound_never_met_is_reported_after_one_trial() -> None:
    answer, seen = search(question(RATES, "bound"), lambda n: n, meets=lambda _: False)
    assert (answer.level, answer.nothing, len(seen)) == (None, "never-met", 1)


def test_a_bound_always_met_ends_at_the_upper_end_and_says_so() -> None:
    answer, _ = search(question(RATES, "bound"), lambda n: n)
    assert (rate(answer.level), answer.edge, answer.missed, answer.recovered) == (
        50_000,
        "highest",
        None,
        None,
    )


def test_with_noise_the_bound_is_met_within_a_few_percent() -> None:
    """Each trial meets the bound by chance where it is near: by 1 % here, half a level."""
    off = []
    for seed in range(100):
        generator = random.Random(seed)
        answer, _ = search(
            question(RATES, "bound"),
            lambda n: n,
            meets=lambda n, generator=generator: n * (1 + generator.gauss(0, 0.01)) <= 5_000,
        )
        off.append(abs(rate(answer.level) / 5_000 - 1) <= 0.03)
    assert mean(off) >= 0.9


def test_repeats_that_miss_the_bound_bring_the_answer_down() -> None:
    """One lucky trial at 4,000/s, where the target manages 3,000/s: the answer goes down as far as it was
    allowed to.
    """

    def lucky(before: list[Seen], seen: Seen) -> Seen:
        first = rate(seen.level) <= 4_000 and seen.stage in ("bracket", "refine")
        return Seen(seen.level, seen.stage, seen.value, first or rate(seen.level) <= 3_900)

    answer, _ = search(question(RATES, "bound"), lambda n: n, tell=lucky)
    assert rate(answer.level) <= 3_900
    assert answer.settled


def test_repeats_that_go_on_contradicting_are_reported() -> None:
    def lucky(_: list[Seen], seen: Seen) -> Seen:
        return Seen(seen.level, seen.stage, seen.value, seen.stage in ("bracket", "refine"))

    answer, seen = search(
        question(RATES, "bound"), lambda n: n, tell=lucky, meets=lambda n: n <= 4_000
    )  # fmt: skip
    assert not answer.settled
    assert answer.edge == "highest" or answer.level is not None
    assert len(seen) <= most(question(RATES, "bound"))


def test_the_most_trials_are_never_exceeded() -> None:
    for seed in range(40):
        generator = random.Random(seed)
        for kind in ("maximum", "bound"):
            asked = question(RATES, kind)
            _, seen = search(
                asked,
                lambda n: n,
                noise=0.3,
                seed=seed,
                meets=lambda n, generator=generator: generator.random() < 1 / (1 + n / 2_000),
            )
            assert len(seen) <= most(asked)
    assert usual(question()) < most(question())


def test_the_passes_of_repeats_are_shuffled_by_the_seed_alone() -> None:
    def order(seed: int, shuffle: bool = True) -> list[float]:
        asked = question(RATES, "bound", seed=seed, repeats=8, shuffle=shuffle)
        return visited(asked, search(asked, lambda n: n, meets=lambda n: n <= 3_000)[1], "confirm")

    assert order(1) == order(1)
    assert order(1) != order(2)
    plain = order(1, shuffle=False)
    assert plain == plain[:2] * 8
