"""Groups of equal things."""

from __future__ import annotations

from loadcell.analysis.treatments import alike_groups


def test_groups_keep_the_order_and_all_in_one_are_alike() -> None:
    assert alike_groups([3, 1, 5, 2, 4], lambda item, other: item % 2 == other % 2) == [[3, 1, 5], [2, 4]]
    assert alike_groups([], lambda *_: True) == []


def test_what_is_alike_to_some_of_a_group_only_begins_its_own() -> None:
    assert alike_groups([1, 2, 3], lambda item, other: abs(item - other) < 2) == [[1, 2], [3]]
