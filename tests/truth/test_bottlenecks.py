"""Runs against bottlenecks made on purpose name them; tests/truth/bottlenecks/driver.py repeats each."""

from __future__ import annotations

import random

import pytest

from truth import assertions
from truth.bottlenecks.case import Bottleneck, Outcome, outcome
from truth.bottlenecks.cases import ALL
from truth.bottlenecks.driver import matrix
from truth.loads import FULL_STRENGTH

#: Those that need neither root nor a quiet machine: their signs are waits, no CPU time.
QUICK = {"lock that everybody takes", "pool of k workers"}
_ATTEMPTS = 3


def shows_others(result: Outcome) -> bool:
    """True if other processes on the machine are named, or speak against what is named."""
    contradicting = [item["limit"] for item in result.document["contradicting"]]
    return "others" in (result.limit, *contradicting)


@pytest.mark.parametrize(
    "bottleneck", [item for item in ALL if FULL_STRENGTH or item.name in QUICK], ids=lambda item: item.limit
)
def test_a_bottleneck_is_named(bottleneck: Bottleneck) -> None:
    """Named at the first trial on a quiet machine, elsewhere at one of three.

    If other processes kept the machine busy in each of them, they limit the load, and have to be named.
    """
    results = []
    for number in range(1 if FULL_STRENGTH else _ATTEMPTS):
        with bottleneck.build(random.Random(f"{bottleneck.name} test {number}")) as case:
            results.append(outcome(case))
        if results[-1].limit == bottleneck.limit:
            break
    busy = not FULL_STRENGTH and all(map(shows_others, results))
    named = bottleneck.limit in [result.limit for result in results]
    assertions.at_least(f"named: {bottleneck.name}", float(named or busy), 1)


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
