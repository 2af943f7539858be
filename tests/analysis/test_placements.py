"""Levels of a placement that are one place on this machine."""

from __future__ import annotations

from itertools import product
from typing import Any

from documents import placements
from loadcell.report.texts import Texts

CPUS = {"one node": "0-1", "half the cores": "0", "all": "0-1"}


def run(**more: list[str]) -> dict[str, Any]:
    """A run with placements of the target, and whatever else is varied beside them."""
    levels = {"affinity.target": list(CPUS), **more}
    each = [dict(zip(levels, one, strict=True)) for one in product(*levels.values())]
    return {
        "factors": [
            {"key": key, "levels": [{"label": one} for one in labels]} for key, labels in levels.items()
        ],
        "treatments": [{"id": ",".join(one.values()), "levels": one} for one in each],
    }


def records(of: dict[str, Any], **memory: str) -> list[dict[str, Any]]:
    """What trials recorded of where they ran, with memory by the level of `affinity.memory`."""
    found = []
    for one in of["treatments"]:
        own = memory.get(one["levels"].get("affinity.memory", ""))
        side = {"cpus": CPUS[one["levels"]["affinity.target"]], "memory": own}
        found.append({"treatment": one["id"], "affinity": {"asked": {}, "client": side}})
    return found


def said(of: dict[str, Any], found: list[dict[str, Any]], language: str = "en") -> list[str]:
    return [Texts(language).message(one.message) for one in placements.findings(of, found)]


def test_levels_that_are_the_same_processors_are_named() -> None:
    of = run(threads=["1", "2"])
    assert said(of, records(of)) == [
        "On this machine the levels one node, all of affinity.target are one and the same: CPUs 0-1. "
        "What differs between them is chance."
    ]
    assert "one node、all" in said(of, records(of), "zh")[0]


def test_what_is_placed_elsewhere_by_another_factor_is_still_told_apart_by_it() -> None:
    of = run(**{"affinity.memory": ["near", "far"]})
    apart = records(of, near="bind:0", far="bind:1")
    assert [one.message.arguments["factor"] for one in placements.findings(of, apart)] == ["affinity.target"]
    together = records(of, near="bind:0", far="bind:0")
    memory = [
        one
        for one in placements.findings(of, together)
        if one.message.arguments["factor"] == "affinity.memory"
    ]
    assert [one.message.code for one in memory] == ["found.same-place.memory"]


def test_levels_of_which_nothing_ran_and_other_factors_are_not_judged() -> None:
    of = run(threads=["1", "2"])
    ran = [one for one in records(of) if not one["treatment"].startswith("all")]
    assert said(of, ran) == []
    assert said({"factors": [{"key": "threads", "levels": [{"label": "1"}]}]}, []) == []
