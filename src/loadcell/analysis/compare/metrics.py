"""The figures of a trial that are compared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from loadcell.analysis.trials import QUANTILES, Trial

#: A percentile of a trial means something when at least this many transactions lie beyond it.
FEWEST_BEYOND = 5


@dataclass(frozen=True)
class Metric:
    """A figure by its name on the command line; `key` is where a trial's response times hold it, if it is one."""

    name: str
    key: str | None = None

    @property
    def higher_is_better(self) -> bool:
        """Throughput is to grow, response times are to shrink."""
        return self.key is None

    def of(self, trial: Trial) -> float | None:
        """The trial's figure; None when it has none, it is not a number, or too few transactions lie beyond it."""
        if self.key is None:
            value = trial.throughput_per_s
        else:
            response = trial.response or {}
            value = response.get(self.key)
            quantile = QUANTILES.get(self.key)
            if quantile is not None and response.get("count", 0) * (1 - quantile) < FEWEST_BEYOND - 1e-9:
                return None
        return value if value is not None and math.isfinite(value) else None


METRICS = {
    metric.name: metric
    for metric in (
        Metric("throughput"),
        Metric("mean", "mean_ms"),
        *(Metric(key.removesuffix("_ms"), key) for key in QUANTILES),
    )
}
#: What is compared when nobody says what: more of them would only cost certainty.
USUAL = tuple(METRICS[name] for name in ("throughput", "p50", "p95", "p99"))


def named(names: Sequence[str]) -> tuple[Metric, ...]:
    """Metrics by name, in the order given. Raises KeyError for an unknown one."""
    return tuple(METRICS[name] for name in dict.fromkeys(names))
