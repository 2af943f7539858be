"""Criteria by which the best level of a factor is chosen: metrics of a trial of which less is better."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

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


def _geometric_mean(values: Sequence[float]) -> float:
    """That of positive values, 0 if one is 0."""
    if len(values) == 1:
        return values[0]
    return math.exp(fmean(math.log(value) for value in values)) if all(values) else 0.0


@dataclass(frozen=True)
class Criterion:
    """A metric of which less is better. `read` has its value in a trial (None without one), `shift` what is
    added before the logarithm, so that none is that of 0. Differences below `least_ratio` or
    `least_difference` do not matter. `average` is that over combinations of the other factors. A ratio has
    its `numerator`: a level is worse only if that is larger by `least_ratio`, too, since a ratio also grows
    by a smaller denominator. `counts_failures` is true for shares of all requests, those of unusable
    treatments included.
    """

    name: str
    read: Callable[[Trial], float | None]
    shift: Callable[[Trial], float] = lambda _: 0.0
    least_ratio: float = 1.0
    least_difference: float = 0.0
    average: Callable[[Sequence[float]], float] = _geometric_mean
    numerator: Callable[[Trial], float | None] | None = None
    counts_failures: bool = False

    def logarithm(self, trial: Trial) -> float | None:
        """Logarithm of a trial's value; None without a value above 0."""
        value = self.read(trial)
        if value is None or not math.isfinite(shifted := value + self.shift(trial)) or shifted <= 0:
            return None
        return math.log(shifted)

    def logarithm_of_numerator(self, trial: Trial) -> float | None:
        """Logarithm of the numerator; None without one above 0."""
        value = None if self.numerator is None else self.numerator(trial)
        return math.log(value) if value else None

    def matters(self, best: float, other: float) -> bool:
        """True if a difference between two levels is large enough."""
        return other - best >= self.least_difference and other >= best * self.least_ratio


def failed_share(trial: Trial) -> float | None:
    """Share of a trial's requests that failed; None without any."""
    return trial.failed / trial.attempted if trial.attempted else None


def failed_share_of(trials: Iterable[Trial]) -> float | None:
    """Share of the requests of all these trials that failed; None without any."""
    counted = [(trial.failed, trial.attempted) for trial in trials if trial.attempted]
    attempted = sum(count for _, count in counted)
    return sum(failed for failed, _ in counted) / attempted if attempted else None


def _half_a_failure(trial: Trial) -> float:
    return 0.5 / trial.attempted if trial.attempted else 0.0


def _response(key: str) -> Callable[[Trial], float | None]:
    return lambda trial: (trial.response or {}).get(key)


def _variation(trial: Trial) -> float | None:
    return coefficient_of_variation(trial.response)


def _pause_share(trial: Trial) -> float | None:
    return trial.figures.get(gc_pauses.SHARE)


_TAIL_RATIO = 1 + LEAST_TAIL_EFFECT
ERRORS = Criterion(
    "errors", failed_share, _half_a_failure, least_difference=LEAST_FAILED, counts_failures=True
)
TAIL = Criterion("p99", _response("p99_ms"), least_ratio=_TAIL_RATIO)
MAXIMUM = Criterion("max", _response("max_ms"), least_ratio=_TAIL_RATIO)
VARIATION = Criterion("variation", _variation, least_ratio=LEAST_VARIATION, numerator=_response("stdev_ms"))
GC = Criterion("gc", _pause_share, lambda _: SINGLE_PAUSE, least_difference=LEAST_GC, average=fmean)
#: All criteria, the foremost first.
CRITERIA = (
    ERRORS,
    TAIL,
    MAXIMUM,
    VARIATION,
    GC,
)
