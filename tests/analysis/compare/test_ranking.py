"""A ranking with letters: who shares one is not distinguishable."""

from __future__ import annotations

from loadcell.analysis.compare.figures import letter, rank


def groups(values: list[float | None], apart: set[tuple[int, int]]) -> list[tuple[int, str]]:
    ranks = rank(values, lambda item, other: (min(item, other), max(item, other)) in apart)
    return [(item.index, item.groups) for item in ranks]


def test_all_distinguished() -> None:
    assert groups([1.0, 3.0, 2.0], {(0, 1), (0, 2), (1, 2)}) == [(1, "a"), (2, "b"), (0, "c")]


def test_none_distinguished() -> None:
    assert groups([1.0, 3.0, 2.0], set()) == [(1, "a"), (2, "a"), (0, "a")]


def test_the_middle_one_may_belong_to_both() -> None:
    """First and last differ, neither differs from the middle: groups overlap."""
    assert groups([3.0, 2.0, 1.0], {(0, 2)}) == [(0, "a"), (1, "ab"), (2, "b")]


def test_two_pairs() -> None:
    apart = {(0, 2), (0, 3), (1, 2), (1, 3)}
    assert groups([4.0, 3.0, 2.0, 1.0], apart) == [(0, "a"), (1, "a"), (2, "b"), (3, "b")]


def test_what_has_no_figure_has_no_place() -> None:
    assert groups([1.0, None, 2.0], {(0, 2)}) == [(2, "a"), (0, "b")]
    assert groups([None], set()) == []


def test_letters_do_not_run_out() -> None:
    assert [letter(0), letter(25), letter(26), letter(53)] == ["a", "z", "a1", "b2"]
