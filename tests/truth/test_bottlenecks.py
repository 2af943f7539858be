"""Runs against bottlenecks made on purpose name them; tests/truth/bottlenecks/driver.py repeats each."""

from __future__ import annotations

import random

import pytest

from truth import assertions
from truth.bottlenecks.case import Bottleneck, outcome
from truth.bottlenecks.cases import ALL
from truth.bottlenecks.driver import matrix
from truth.loads import FULL_STRENGTH

#: Those that neighbours on a busy machine do not turn into another one.
QUICK = {"lock that everybody takes", "pool of k workers", "slow device"}


@pytest.mark.parametrize(
    "bottleneck", [item for item in ALL if FULL_STRENGTH or item.name in QUICK], ids=lambda item: item.limit
)
def test_a_bottleneck_is_named(bottleneck: Bottleneck) -> None:
    """Right on a quiet machine; elsewhere it may be unknown, or the neighbours."""
    with bottleneck.build(random.Random(f"{bottleneck.name} test")) as case:
        result = outcome(case)
    allowed = {bottleneck.limit} if FULL_STRENGTH else {bottleneck.limit, None, "others"}
    assert result.limit in allowed, (case.size, result.document)
    assertions.at_least(f"named: {bottleneck.name}", float(result.limit == bottleneck.limit), FULL_STRENGTH)


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
