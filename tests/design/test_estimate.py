"""Estimated duration of a run."""

from __future__ import annotations

from pathlib import Path

from loadcell.design.estimate import OVERHEAD_S, estimate
from plan.fake_parts import PLAN, read


def test_each_trial_counts_with_its_own_warm_up_and_duration(tmp_path: Path) -> None:
    text = (
        PLAN.replace("{clients: 1}", "{clients: 1, warmup: 2s}")
        + "repeats: 3\nfactors: {load.duration: [10s, 1min]}"
    )
    expected = estimate(read(tmp_path, text))
    assert expected.trials == 6
    assert expected.load_s == 3 * ((2 + 10) + (2 + 60))
    assert expected.total_s == expected.load_s + 6 * OVERHEAD_S


def test_trials_that_only_profile_take_their_time_and_are_not_counted(tmp_path: Path) -> None:
    text = (
        PLAN.replace("{clients: 1}", "{clients: 1, warmup: 2s}")
        + "repeats: 3\nfactors: {load.duration: [10s, 1min]}\n"
    )
    plain = estimate(read(tmp_path, text))
    assert (plain.profiled, plain.profile_s) == (0, 0)
    best = estimate(read(tmp_path, text + "profile: cpu"))
    assert (best.trials, best.load_s, best.profiled) == (plain.trials, plain.load_s, 1)
    assert best.profile_s == 2 + 60 + OVERHEAD_S, "which one is the best is not known: the longest"
    assert best.total_s == plain.total_s + best.profile_s
    every = estimate(read(tmp_path, text + "profile: {cpu: {treatments: all}}"))
    assert (every.profiled, every.profile_s) == (2, (2 + 10) + (2 + 60) + 2 * OVERHEAD_S)
