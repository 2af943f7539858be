"""The metric `elapsed` of loads that end after a number of requests."""

from __future__ import annotations

from pathlib import Path

import pytest

from execution.world import PLAN, World


@pytest.mark.parametrize(("bound", "verdict", "status"), [("> 1ms", "met", 0), ("< 1ms", "missed", 1)])
def test_the_elapsed_time_of_a_number_of_requests_is_judged(
    tmp_path: Path, bound: str, verdict: str, status: int
) -> None:
    text = PLAN.replace("duration: 2s", "requests: 100").replace("errors == 0", f"elapsed {bound}")
    world = World()
    ended = world.run(tmp_path, text)
    (trial,) = world.stored(ended).trials
    assert trial.totals is not None
    assert trial.measure is not None
    assert trial.totals.figures["elapsed"] == pytest.approx(trial.measure.duration_s * 1e3)
    assert trial.totals.metrics is not None
    assert (trial.totals.metrics["elapsed"].kind, trial.totals.metrics["elapsed"].better) == ("time", "lower")
    assert (trial.expect[0].verdict, ended.exit_status) == (verdict, status)


@pytest.mark.parametrize("load", ["duration: 2s", "rate: 50/s, requests: 100"])
def test_other_loads_have_no_elapsed_time_as_a_result(tmp_path: Path, load: str) -> None:
    world = World()
    ended = world.run(tmp_path, PLAN.replace("duration: 2s", load))
    (trial,) = world.stored(ended).trials
    assert trial.totals is not None
    assert "elapsed" not in trial.totals.figures
