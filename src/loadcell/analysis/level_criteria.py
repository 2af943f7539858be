"""Criteria by which the best level of a factor is chosen: metrics of a trial of which less is better."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from loadcell.analysis.compare.metrics import LEAST_TAIL_EFFECT
from loadcell.analysis.trials import Trial, coefficient_of_variation
from loadcell.model import gc_pauses
from loadcell.model.message import Labels

#: Shares of failed requests that differ by less do not matter.
LEAST_FAILED = 0.001
#: Shares of time in pauses of the garbage collector that differ by less do not matter; smaller ones are
#: those of single pauses.
LEAST_GC, SINGLE_PAUSE = 0.005, 0.001
#: Coefficients of variation that differ by a smaller ratio do not matter.
LEAST_VARIATION = 1.1
CRITERION_NAMES = Labels("best-level.criterion", ("errors", "p99", "max", "variation", "gc"))


@dataclass(frozen=True)
class Criterion:
    """A metric of which less is better. `read` has its value in a trial (None without one), `shift` what is
    added before the logarithm, so that none is that of 0. Differences below `least_ratio` or
    `least_difference` do not matter. A ratio has its `numerator`: a level with a smaller numerator than the
    best one is not worse, since its ratio is larger by a smaller denominator.
    """

    name: str
    read: Callable[[Trial], float | None]
    shift: Callable[[Trial], float] = lambda _: 0.0
    least_ratio: float = 1.0
    least_difference: float = 0.0
    numerator: Callable[[Trial], float | None] | None = None

    def logarithm(self, trial: Trial) -> float | None:
        """Logarithm of a trial's value; None without a value above 0."""
        value = self.read(trial)
        if value is None or not math.isfinite(shifted := value + self.shift(trial)) or shifted <= 0:
            return None
        return math.log(shifted)

    def matters(self, best: float, other: float) -> bool:
        """True if a difference between two levels is large enough."""
        return other - best >= self.least_difference and other >= best * self.least_ratio


def failed_share(trial: Trial) -> float | None:
    """Share of a trial's requests that failed; None without any."""
    return trial.failed / trial.attempted if trial.attempted else None


def _half_a_failure(trial: Trial) -> float:
    return 0.5 / trial.attempted if trial.attempted else 0.0


def _response(key: str) -> Callable[[Trial], float | None]:
    return lambda trial: (trial.response or {}).get(key)


def _variation(trial: Trial) -> float | None:
    return coefficient_of_variation(trial.response)


def _pause_share(trial: Trial) -> float | None:
    return trial.figures.get(gc_pauses.SHARE)


_TAIL_RATIO = 1 + LEAST_TAIL_EFFECT
ERRORS = Criterion("errors", failed_share, _half_a_failure, least_difference=LEAST_FAILED)
TAIL = Criterion("p99", _response("p99_ms"), least_ratio=_TAIL_RATIO)
MAXIMUM = Criterion("max", _response("max_ms"), least_ratio=_TAIL_RATIO)
VARIATION = Criterion("variation", _variation, least_ratio=LEAST_VARIATION, numerator=_response("stdev_ms"))
GC = Criterion("gc", _pause_share, lambda _: SINGLE_PAUSE, least_difference=LEAST_GC)
#: All criteria, the foremost first.
CRITERIA = (
    ERRORS,
    TAIL,
    MAXIMUM,
    VARIATION,
    GC,
)
