"""Sanity checks of the values that a tool reports of itself."""

from __future__ import annotations

from typing import Any

from loadcell.execution import checks
from loadcell.model.load_result import Distribution, LoadResult, OperationResult, ToolResult


def held(response: Distribution | None = None, **tool: Any) -> dict[str, Any]:
    operation = OperationResult("transaction", response=response)
    result = LoadResult(outcome="completed", tool=ToolResult("x", **tool), operations=(operation,))
    return {check.name: (check.verdict, check.detail) for check in checks.of_tool(result)}


def test_lines_that_were_not_understood_are_counted_and_shown() -> None:
    assert held()["tool-output"] == ("ok", {})
    assert held(unread=3, unread_examples=("a", "b"))["tool-output"] == (
        "noticed",
        {"lines": 3, "first": "a"},
    )


def test_percentiles_that_do_not_rise_are_remarked_on_and_no_more() -> None:
    assert held(Distribution(9, p95_ns=5.0, max_ns=4.0))["percentiles"][0] == "noticed"
    assert held(Distribution(9, p95_ns=3.0, max_ns=4.0, mean_ns=2.0))["percentiles"][0] == "ok"
    assert held()["percentiles"][0] == "unknown"


def test_a_percentile_may_lie_above_the_greatest_value_by_a_bucket() -> None:
    assert held(Distribution(132, p999_ns=12517376.0, max_ns=12516359.0))["percentiles"][0] == "ok"


def test_printed_totals_that_disagree_with_what_was_read_are_remarked_on() -> None:
    assert "printed-totals" not in held()
    assert held(disagreements={})["printed-totals"] == ("ok", {})
    values = {"rate": {"printed": 2.0, "stored": 1.0}}
    assert held(disagreements=values)["printed-totals"] == ("noticed", values)


def test_jobs_in_groups_that_are_not_all_counted_are_remarked_on() -> None:
    assert "tool-groups" not in held()
    assert held(groups=2, counted=("a read",))["tool-groups"] == (
        "noticed",
        {"groups": 2, "counted": ["a read"]},
    )
