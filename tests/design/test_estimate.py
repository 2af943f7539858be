"""How long a run will take."""

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
