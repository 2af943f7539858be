"""Which factor goes across, which becomes lines, and when treatments are numbered instead."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from analysis.runs import analysis_of
from loadcell.analysis.layout import Layout, axis


def layout_of(factors: dict[str, list[Any]]) -> Layout:
    """The layout of a full factorial of these levels."""
    levels = {
        "|".join(map(str, combination)): dict(zip(factors, combination, strict=True))
        for combination in itertools.product(*factors.values())
    }
    return analysis_of({name: [100.0] for name in levels}, levels=levels).layout


@pytest.mark.parametrize(
    ("numbers", "scale"),
    [
        ([1, 2, 4, 8, 16], "geometric"),
        ([5, 10, 15, 20, 25], "linear"),
        (list(range(5, 161, 5)), "linear"),
        ([1, 10, 100, 1000], "geometric"),
        ([4, 16], "linear"),
        ([0, 1, 2, 4, 8], "linear"),
        ([16, 32, 64, 128, 256], "geometric"),
        ([10, 20, 30, 200], "linear"),
        ([500, 2000, 2_000_000], "geometric"),
        ([1, 2, 3, 4, 1000], "geometric"),
        ([*range(1, 101)], "linear"),
        ([1, 2, 3], "linear"),
    ],
)
def test_steps_that_multiply_make_a_logarithmic_axis(numbers: list[int], scale: str) -> None:
    assert axis("load.clients", "clients", [str(n) for n in numbers], numbers).scale == scale


def test_labels_that_are_no_bare_numbers_keep_the_plans_order() -> None:
    result = axis("s", "s", ["512MB", "128MB"], [2**29, 2**27])
    assert not result.numeric
    assert result.levels == ("512MB", "128MB")
    assert not axis("s", "s", ["true", "false"], [True, False]).numeric


def test_numbers_are_sorted_whatever_order_they_were_written_in() -> None:
    assert axis("n", "n", ["16", "4", "1"], [16, 4, 1]).levels == ("1", "4", "16")


def test_one_factor_goes_across() -> None:
    layout = layout_of({"load.clients": [1, 2, 4]})
    assert layout.x is not None
    assert layout.x.name == "clients"
    assert layout.series is None


def test_of_two_the_numeric_one_goes_across() -> None:
    layout = layout_of({"storage": ["a", "b", "c", "d"], "load.clients": [1, 2]})
    assert layout.x is not None
    assert layout.series is not None
    assert (layout.x.key, layout.series.key, layout.facet) == ("load.clients", "storage", False)


def test_too_many_lines_become_pictures() -> None:
    layout = layout_of({"load.clients": list(range(1, 13)), "work_mem": [f"{n}MB" for n in range(10)]})
    assert layout.facet


def test_a_factor_with_many_labels_goes_across_when_the_other_has_few() -> None:
    layout = layout_of({"load.clients": [1, 2], "index": [f"i{n}" for n in range(12)]})
    assert layout.x is not None
    assert layout.x.key == "index"


def test_a_factor_of_one_level_varies_nothing() -> None:
    layout = layout_of({"load.clients": [1, 2, 4], "storage": ["local"]})
    assert layout.x is not None
    assert (layout.x.key, layout.series) == ("load.clients", None)


def test_three_factors_are_numbered_treatments() -> None:
    assert layout_of({"a": [1, 2], "b": [1, 2], "c": [1, 2]}) == Layout()


def test_treatments_that_set_different_things_are_numbered() -> None:
    analysis = analysis_of({"x": [1.0], "y": [2.0]}, levels={"x": {"a": 1}, "y": {"b": 2}})
    assert analysis.layout == Layout()
    assert [treatment.brief for treatment in analysis.treatments] == ["a = 1", "b = 2"]


def test_names_are_short_where_that_is_clear() -> None:
    levels = {"x": {"a.size": 1, "b.size": 2, "load.clients": 3}}
    analysis = analysis_of({"x": [1.0]}, levels=levels)
    assert analysis.treatments[0].label == "a.size = 1, b.size = 2, clients = 3"
    assert analysis.treatments[0].brief == "1, 2, 3"
