"""The figures of a trial that are compared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from loadcell.analysis.quantiles import LEAST_BEYOND_TO_COMPARE, QUANTILES, carries
from loadcell.analysis.trials import Trial


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
            value = None if self.scarce(trial) else (trial.response or {}).get(self.key)
        return value if value is not None and math.isfinite(value) else None

    def scarce(self, trial: Trial) -> bool:
        """Whether too few of a trial's transactions lie beyond this percentile to compare it; of what is none, False."""
        return self.key is not None and not carries(trial.response or {}, self.key, LEAST_BEYOND_TO_COMPARE)


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
