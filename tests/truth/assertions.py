"""Assertions of tests/truth, and their record, which `make truth` turns into docs/reference/accuracy.md."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

from truth.loads import FULL_STRENGTH, bound

#: Record of values at full strength: one JSON object per line; the last of a test and title counts.
VALUES = Path(os.environ.get("LOADCELL_TRUTH_VALUES", "truth.jsonl"))


def agrees(title: str, value: float, expected: float, *, full: float, loose: float) -> None:
    """`value` lies within a share of `expected`: `full` on a quiet machine, `loose` elsewhere."""
    holds = abs(value / expected - 1) <= full
    _note(title, f"{expected:.4g}", value, holds, within=f"within {100 * full:g}%")
    assert abs(value - expected) <= bound(full, loose) * abs(expected), (
        f"{title}: {value}, expected {expected}"
    )


def at_most(title: str, value: float, limit: float, runs: int | None = None) -> None:
    """`value` does not exceed `limit`, at any strength: for simulations with fixed seeds.

    A share of fewer `runs` than at full strength may exceed it by two standard errors.
    """
    limit += _chance(limit, runs)
    _note(title, f"at most {limit:.4g}", value, value <= limit)
    assert value <= limit, f"{title}: {value}, at most {limit} expected"


def at_least(title: str, value: float, limit: float, runs: int | None = None) -> None:
    """`value` does not fall short of `limit`, at any strength: for simulations with fixed seeds.

    A share of fewer `runs` than at full strength may fall short of it by two standard errors.
    """
    limit -= _chance(limit, runs)
    _note(title, f"at least {limit:.4g}", value, value >= limit)
    assert value >= limit, f"{title}: {value}, at least {limit} expected"


def seldom(title: str, count: int, share: float, runs: int) -> None:
    """Allow a `share` of `runs` simulations, and two standard errors more of fewer than at full strength."""
    at_most(f"{title}, of {runs}", count, runs * (share + _chance(share, runs)))


def often(title: str, count: int, share: float, runs: int) -> None:
    """Expect a `share` of `runs` simulations, or two standard errors less of fewer than at full strength."""
    at_least(f"{title}, of {runs}", count, runs * (share - _chance(share, runs)))


def below(title: str, value: float, *, full: float, loose: float) -> None:
    """`value` stays below a limit: `full` on a quiet machine, `loose` elsewhere."""
    _note(title, f"below {full:,g}", value, value < full)
    assert value < bound(full, loose), f"{title}: {value}, below {bound(full, loose)} expected"


def between(title: str, value: float, low: float, high: float, runs: int | None = None) -> None:
    """`value` lies in a range, at any strength: for simulations with fixed seeds.

    A share of fewer `runs` than at full strength may miss it by two standard errors.
    """
    low, high = low - _chance(low, runs), high + _chance(high, runs)
    _note(title, f"{low:.4g} to {high:.4g}", value, low <= value <= high)
    assert low <= value <= high, f"{title}: {value}, {low} to {high} expected"


def _chance(share: float, runs: int | None) -> float:
    """Two standard errors of a share of `runs` (binomial); none at full strength, whose limits are for it."""
    return 0.0 if FULL_STRENGTH or runs is None else 2 * math.sqrt(share * (1 - share) / runs)


def _note(title: str, expected: str, value: float, holds: bool, within: str = "") -> None:
    if not FULL_STRENGTH:
        return
    test = os.environ["PYTEST_CURRENT_TEST"].partition(" ")[0]
    row = {
        "test": test, "title": title, "expected": expected, "value": f"{value:.4g}", "within": within,
        "holds": holds,
    }  # fmt: skip
    with VALUES.open("a") as lines:
        lines.write(json.dumps(row) + "\n")
