"""The metrics of a trial that are compared."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from loadcell.analysis.compare.messages import REFUSED, REFUSED_DIFFERENCES, REFUSED_METRIC
from loadcell.analysis.quantiles import LEAST_BEYOND_TO_COMPARE, QUANTILES, carries
from loadcell.analysis.trials import Trial
from loadcell.model.message import Message, MessageError
from loadcell.model.metrics import MetricFacts
from loadcell.plan.problems import Writer, in_english


class CannotCompareError(MessageError):
    """Why things cannot be compared, with a remedy; `differences` where that is what they are."""

    def __init__(self, message: Message, differences: Sequence[Message] = ()) -> None:
        super().__init__(message)
        self.differences = tuple(differences)

    def written(self, write: Writer) -> str:
        """The reason, the differences and the remedy in lines for people."""
        remedy = self.message.remedy or ""
        if not self.differences:
            return write(REFUSED(finding=self.message, remedy=remedy))
        lines = "".join(f"\n  {write(difference)}" for difference in self.differences)
        return write(REFUSED_DIFFERENCES(finding=self.message, differences=lines, remedy=remedy))

    def __str__(self) -> str:
        return self.written(in_english)


@dataclass(frozen=True)
class Metric:
    """A metric by its name on the command line.

    `key`: that of a response time in a trial's record; `figure`: that of a metric of workload, tool or
    monitor. Without both it is throughput.
    """

    name: str
    key: str | None = None
    figure: str | None = None
    higher_is_better: bool = True

    def of(self, trial: Trial) -> float | None:
        """The value of a trial; None when it has none, it is not a number, or too few transactions lie beyond
        a percentile.
        """
        if self.figure is not None:
            value = trial.figures.get(self.figure)
        elif self.key is None:
            value = trial.throughput_per_s
        else:
            value = None if self.scarce(trial) else (trial.response or {}).get(self.key)
        return value if value is not None and math.isfinite(value) else None

    def scarce(self, trial: Trial) -> bool:
        """True if too few of a trial's transactions lie beyond this percentile to compare it; False for other
        metrics.
        """
        return self.key is not None and not carries(trial.response or {}, self.key, LEAST_BEYOND_TO_COMPARE)


METRICS = {
    metric.name: metric
    for metric in (
        Metric("throughput"),
        Metric("mean", "mean_ms", higher_is_better=False),
        *(Metric(key.removesuffix("_ms"), key, higher_is_better=False) for key in QUANTILES),
    )
}
#: What is compared when nobody says what: more of them would only cost certainty.
USUAL = tuple(METRICS[name] for name in ("throughput", "p50", "p95", "p99"))


def named(names: Sequence[str], trials: Iterable[Trial] = ()) -> tuple[Metric, ...]:
    """Metrics by name, in the order given; beside `METRICS` those that any of the trials has.

    Raises CannotCompareError.
    """
    facts: dict[str, MetricFacts | None] = {}
    for trial in trials:
        facts |= {key: trial.metrics.get(key) for key in trial.figures}
    return tuple(METRICS.get(name) or _of_workload(name, facts) for name in dict.fromkeys(names))


def _of_workload(name: str, facts: Mapping[str, MetricFacts | None]) -> Metric:
    if name not in facts:
        raise CannotCompareError(REFUSED_METRIC(metric=repr(name), metrics=[*METRICS, *facts]))
    fact = facts[name]
    return Metric(name, figure=name, higher_is_better=fact is None or fact.better != "lower")
