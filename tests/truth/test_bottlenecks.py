"""Runs against bottlenecks made on purpose name them; tests/truth/bottlenecks/driver.py repeats each."""

from __future__ import annotations

import itertools
import random

import pytest

from truth import assertions
from truth.bottlenecks.case import Bottleneck, outcome
from truth.bottlenecks.cases import ALL
from truth.bottlenecks.driver import matrix
from truth.loads import FULL_STRENGTH, undisturbed

#: Those that need neither root nor a quiet machine: their signs are waits, no CPU time.
QUICK = {"lock that everybody takes", "pool of k workers"}
#: A trial next to busy neighbours may show these; further ones decide. Trials in which the machine stalled do
#: not count.
_ATTEMPTS, _PATIENCE_S = 3, 150.0


@pytest.mark.parametrize(
    "bottleneck", [item for item in ALL if FULL_STRENGTH or item.name in QUICK], ids=lambda item: item.limit
)
def test_a_bottleneck_is_named(bottleneck: Bottleneck) -> None:
    """Named at the first trial on a quiet machine, elsewhere at one of three."""
    numbers = itertools.count()

    def check() -> None:
        with bottleneck.build(random.Random(f"{bottleneck.name} test {next(numbers)}")) as case:
            named = outcome(case).limit
        assertions.at_least(f"named: {bottleneck.name}", float(named == bottleneck.limit), 1)

    if FULL_STRENGTH:
        check()
    else:
        undisturbed(check, attempts=_ATTEMPTS, patience_s=_PATIENCE_S)


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
