"""Runs against bottlenecks made on purpose name them; tests/truth/bottlenecks/driver.py repeats each."""

from __future__ import annotations

import random

import pytest

from truth import assertions
from truth.bottlenecks.case import Bottleneck, outcome
from truth.bottlenecks.cases import ALL
from truth.bottlenecks.driver import matrix
from truth.loads import FULL_STRENGTH

#: Those that need neither root nor a quiet machine: their signs are waits, no CPU time.
QUICK = {"lock that everybody takes", "pool of k workers"}
#: A trial next to busy neighbours may show these; another trial decides.
_ATTEMPTS = 3


@pytest.mark.parametrize(
    "bottleneck", [item for item in ALL if FULL_STRENGTH or item.name in QUICK], ids=lambda item: item.limit
)
def test_a_bottleneck_is_named(bottleneck: Bottleneck) -> None:
    """Named at the first trial on a quiet machine, elsewhere at one of three."""
    named = []
    for number in range(1 if FULL_STRENGTH else _ATTEMPTS):
        with bottleneck.build(random.Random(f"{bottleneck.name} test {number}")) as case:
            named.append(outcome(case).limit)
        if named[-1] == bottleneck.limit:
            break
    assertions.at_least(f"named: {bottleneck.name}", float(bottleneck.limit in named), 1)


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
