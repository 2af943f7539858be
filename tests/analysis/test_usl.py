"""The Universal Scalability Law: what a fit recovers, and every way in which it is not identified."""

from __future__ import annotations

import numpy as np
import pytest

from loadcell.analysis import usl as law
from loadcell.analysis.sweep import sweeps
from loadcell.analysis.usl import Usl
from stats.simulated import sweep, usl

POWERS = [1, 2, 4, 8, 16, 32, 64, 128]


def judged(truth: dict[float, float], repeats: int = 4, **more: float) -> Usl:
    (line,) = sweeps(sweep(truth, repeats, **more))  # type: ignore[arg-type]
    return law.judge(line)


def test_without_noise_the_parameters_come_back_exactly() -> None:
    loads = np.array(POWERS, dtype=float)
    truth = np.array(list(usl(POWERS, 180, 0.03, 0.0004).values()))
    p, q, c = law.fit(loads, truth[None], np.ones(8))[0]
    assert (1 / (p + q), q / (p + q), c / (p + q)) == pytest.approx((180, 0.03, 0.0004))


def test_many_fits_at_once_are_the_same_as_one_by_one() -> None:
    chance = np.random.default_rng(3)
    loads = np.array(POWERS, dtype=float)
    truth = np.array(list(usl(POWERS, 180, 0.03, 0.0004).values()))
    many = truth * np.exp(chance.normal(0, 0.05, (20, 8)))
    fitted = law.fit(loads, many, np.ones(8))
    alone = np.concatenate([law.fit(loads, entry[None], np.ones(8)) for entry in many])
    assert fitted == pytest.approx(alone, rel=1e-5, abs=1e-12)


def test_parameters_stay_within_their_bounds_whatever_the_points_are() -> None:
    chance = np.random.default_rng(4)
    fitted = law.fit(np.array(POWERS, dtype=float), np.exp(chance.normal(0, 2, (500, 8))), np.ones(8))
    assert np.isfinite(fitted).all()
    assert (fitted >= 0).all()
    assert (fitted[:, :2].sum(axis=1) > 0).all()


def test_a_peak_is_identified_with_everything_that_belongs_to_it() -> None:
    judgement = judged(usl(POWERS, 180, 0.02, 0.0002))
    assert judgement.identified
    assert judgement.peak_load is not None
    assert judgement.peak_load.low is not None
    assert judgement.peak_load.high is not None
    assert judgement.peak_load.low < judgement.peak_load.value < judgement.peak_load.high
    assert judgement.peak_load.value == pytest.approx(70, rel=0.1)
    assert judgement.peak_throughput is not None
    assert judgement.peak_throughput.value == pytest.approx(usl([70], 180, 0.02, 0.0002)[70], rel=0.05)
    assert judgement.curve is not None
    load, at, low, high = judgement.curve.T
    assert (load[0], load[-1]) == (1, 128)
    assert ((low <= at * 1.001) & (at <= high * 1.001)).all()


def test_drift_of_the_machine_does_not_bend_the_curve() -> None:
    judgement = judged(usl(POWERS, 180, 0.02, 0.0002), repeats=3, noise=0.001, drift=0.2)
    assert judgement.peak_load is not None
    assert judgement.peak_load.value == pytest.approx(70, rel=0.01)


@pytest.mark.parametrize(
    ("reason", "truth", "more"),
    [
        ("few-loads", usl(POWERS[:5], 180, 0.02, 0.002), {}),
        ("one-repeat", usl(POWERS, 180, 0.02, 0.002), {"repeats": 1}),
        ("no-spread", usl(POWERS, 180, 0.02, 0.002), {"noise": 0.0}),
        ("straight", usl(POWERS, 180, 0.0, 0.0), {}),
        ("no-peak", usl(POWERS, 180, 0.05, 0.0), {}),
        ("beyond", usl(POWERS[:7], 180, 0.01, 0.00008), {"noise": 0.002}),
        ("falling", usl([20, 24, 32, 64, 128, 256], 180, 0.9, 0.01), {"noise": 0.005}),
        ("misfit", {n: 100.0 + 60 * (i % 2) for i, n in enumerate(POWERS)}, {}),
    ],
)  # fmt: skip
def test_what_is_not_identified_says_why_and_gives_no_peak(
    reason: str, truth: dict[float, float], more: dict[str, float]
) -> None:
    judgement = judged(truth, **more)  # type: ignore[arg-type]
    assert judgement.reason == reason
    assert not judgement.identified
    assert (judgement.peak_load, judgement.peak_throughput) == (None, None)


def test_where_kappa_is_nought_there_is_a_ceiling_instead() -> None:
    judgement = judged(usl(POWERS, 180, 0.05, 0.0), noise=0.01)
    assert judgement.ceiling is not None
    assert judgement.ceiling.low is not None
    assert judgement.ceiling.low < 180 / 0.05
    assert judgement.ceiling.high is None or judgement.ceiling.high > 180 / 0.05


def test_one_repeat_gives_a_curve_for_the_eye_and_no_figure() -> None:
    judgement = judged(usl(POWERS, 180, 0.02, 0.002), repeats=1)
    assert judgement.curve is not None
    assert np.isnan(judgement.curve[:, 2:]).all()
    assert (judgement.rate, judgement.sigma, judgement.kappa) == (None, None, None)


def test_the_same_trials_give_the_same_intervals() -> None:
    truth = usl(POWERS, 180, 0.02, 0.0002)
    assert judged(truth).peak_load == judged(truth).peak_load
