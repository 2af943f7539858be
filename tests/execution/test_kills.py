"""A small campaign of kills at random instants; `tests/campaigns/kills.py` has the large one."""

from __future__ import annotations

import pytest

from campaigns import kills


# PostgreSQL killed together with its runner still leaves a segment in some cases of the large campaign.
@pytest.mark.parametrize(("system", "count", "seed"), [("redis", 5, 20261123), ("postgres", 3, 20)])
def test_nothing_is_lost_and_nothing_remains(system: str, count: int, seed: int) -> None:
    outcome = kills.case_apart(1, seed=seed, kills=count, system=system)
    assert outcome.problems == [], outcome.kills
