"""Runs against bottlenecks made on purpose name them; tests/truth/bottlenecks/driver.py repeats each."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from truth import assertions
from truth.bottlenecks.case import Bottleneck, Outcome, outcome
from truth.bottlenecks.cases import ALL
from truth.bottlenecks.driver import judged_again, matrix, results
from truth.loads import FULL_STRENGTH

#: Those that need neither root nor a quiet machine: their signs are waits, no CPU time.
QUICK = {"lock that everybody takes", "pool of k workers"}
_ATTEMPTS = 3
_ROOT = Path(__file__).parents[2]


def shows_others(result: Outcome) -> bool:
    """True if other processes on the machine are named, or speak against what is named."""
    contradicting = [item["limit"] for item in result.document["contradicting"]]
    return "others" in (result.limit, *contradicting)


@pytest.mark.parametrize(
    "bottleneck", [item for item in ALL if FULL_STRENGTH or item.name in QUICK], ids=lambda item: item.name
)
def test_a_bottleneck_is_named(bottleneck: Bottleneck) -> None:
    """Named at the first trial on a quiet machine, elsewhere at one of three, and never a wrong one.

    If other processes kept the machine busy, they limit the load, and have to be named.
    """
    outcomes = []
    for number in range(1 if FULL_STRENGTH else _ATTEMPTS):
        with bottleneck.build(random.Random(f"{bottleneck.name} test {number}")) as case:
            outcomes.append(outcome(case))
        if is_right(outcomes[-1], bottleneck):
            break
    busy = not FULL_STRENGTH and all(map(shows_others, outcomes))
    assertions.at_least(f"named: {bottleneck.name}", float(is_right(outcomes[-1], bottleneck) or busy), 1)
    wrong = [item.document for item in outcomes if item.limit and not is_right(item, bottleneck)]
    assert FULL_STRENGTH or not [item for item in wrong if "others" not in str(item)]


def is_right(result: Outcome, bottleneck: Bottleneck) -> bool:
    """True if the limit is named, or none is where there is none."""
    return (result.limit or "not known") == bottleneck.limit


def test_recorded_cases_are_judged_as_published() -> None:
    """The judge of today names the same for the evidence of each case, and the page has the matrix."""
    rows = results(_ROOT / "bench/results/bottlenecks.jsonl")
    assert len(rows) == 10 * len(ALL)
    changed = [
        (row["bottleneck"], row["number"], row["named"], again)
        for row in rows
        if (again := judged_again(row)) != row["named"]
    ]
    assert not changed, "repeat the cases, or put the matrix of the new judgement on the page"
    page = (_ROOT / "docs/reference/bottlenecks.md").read_text()
    assert matrix(rows).split("\n\n")[0] in page


def test_the_matrix_counts_what_was_named() -> None:
    rows = [
        {"bottleneck": "small load", "limit": "load", "named": "load"},
        {"bottleneck": "small load", "limit": "load", "named": "not known"},
        {"bottleneck": "CPU quota", "limit": "quota", "named": "others"},
    ]
    text = matrix(rows)
    assert "1 of 3 right, 1 not known, 1 wrong" in text
    [quota] = [line for line in text.splitlines() if line.startswith("| CPU quota")]
    header = text.splitlines()[0]
    assert [cell.strip() for cell in quota.split("|")][header.split("|").index(" others ")] == "1"
