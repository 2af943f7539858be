"""Differences between JSON documents."""

from __future__ import annotations

import pytest

from loadcell.model.json import JsonValue
from loadcell.model.run_record import ValueDifference, differences


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": 1, "b": {"c": [1]}}, {"b": {"c": [1]}, "a": 1}, []),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, [("a.b", 1, 2)]),
        ({"a": 1, "z": 2}, {"b": 3, "z": 2}, [("a", 1, None), ("b", None, 3)]),
        ({"a": {"b": 1}}, {"a": 1}, [("a", {"b": 1}, 1)]),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}, [("a", [1, {"b": 2}], [1, {"b": 3}])]),
        ({"a": None}, {}, []),
        (1, 2, [("", 1, 2)]),
    ],
)
def test_each_path_that_differs_has_both_values(
    before: JsonValue, after: JsonValue, expected: list[tuple[str, JsonValue, JsonValue]]
) -> None:
    assert list(differences(before, after)) == [ValueDifference(*values) for values in expected]


def test_paths_continue_the_given_one() -> None:
    assert [item.path for item in differences({"a": 1}, {"a": 2}, "search")] == ["search.a"]
    assert [item.path for item in differences(1, 2, "seed")] == ["seed"]
